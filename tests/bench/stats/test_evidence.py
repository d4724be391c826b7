"""Which results enter the tables, on which rows methods are compared, and what the answers say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from halldetect.errors import ConfigurationError, InputError
from halldetect_bench.predictions import Header, Results
from halldetect_bench.stats.answers import answers
from halldetect_bench.stats.cost import timed
from halldetect_bench.stats.evidence import Evidence
from halldetect_bench.stats.growth import growth
from halldetect_bench.stats.method_labels import method_labels
from halldetect_bench.stats.selection import Settings, read_settings, select
from halldetect_bench.stats.tables import Tables
from tests.support.bench_fakes import COST, make_results

GOLD: list[bool | None] = [True, False] * 20
GOOD: list[float | None] = [
    0.9 - 0.01 * (n // 2) if n % 2 == 0 else 0.1 + 0.01 * (n // 2) for n in range(40)
]
BAD: list[float | None] = [None if score is None else 1 - score for score in GOOD]
NOISE: list[float | None] = [(n * 37 % 40) / 40 for n in range(40)]


def base(digest: str = "a" * 64, name: str = "base") -> dict[str, str]:
    return {"name": name, "digest": digest}


def test_files_with_other_weights_are_excluded_and_named() -> None:
    ours = make_results("d", "halldetect", GOOD, GOLD, verifier=base())
    old = make_results("d", "nli-only", BAD, GOLD, verifier=base("b" * 64))
    other = make_results("d", "minicheck-style", BAD, GOLD, verifier=base(name="tiny"))
    plain = make_results("d", "rouge-l", NOISE, GOLD)
    found = select([ours, old, other, plain], Settings(weights={"base": ["a" * 64]}))
    assert found.kept == (ours, plain)
    assert found.left_out == (
        (str(old.header.path), "other weights of base"),
        (str(other.header.path), "the verifier tiny, which is not what this report is about"),
    )


def test_two_sets_of_weights_are_refused_when_ambiguous() -> None:
    ours = make_results("d", "halldetect", GOOD, GOLD, verifier=base())
    old = make_results("d", "nli-only", BAD, GOLD, verifier=base("b" * 64))
    with pytest.raises(InputError, match="different weights of 'base'"):
        select([ours, old], Settings())


def test_two_versions_of_a_row_are_refused() -> None:
    first = make_results("d", "a", GOOD, GOLD)
    second = make_results("d", "b", GOOD, GOLD)
    changed = (replace(second.predictions[0], row="other"), *second.predictions[1:])
    with pytest.raises(InputError, match="different data: row r0"):
        select([first, replace(second, predictions=changed)], Settings())


def test_files_with_few_rows_or_answers_are_excluded() -> None:
    whole = make_results("d", "a", GOOD, GOLD)
    few = make_results("d", "b", GOOD[:10], GOLD[:10])
    silent = make_results("d", "c", [*GOOD[:20], *[None] * 20], GOLD)
    small = make_results("e", "a", GOOD[:10], GOLD[:10])
    stopped = make_results("d", "e", GOOD[:35], GOLD[:35])
    stopped = replace(stopped, header=replace(stopped.header, sample={"rows": 40, "of": 40}))
    found = select([whole, few, silent, small, stopped], Settings(min_rows=30))
    assert found.kept == (whole, small)
    assert [reason for _, reason in found.left_out] == [
        "fewer than 30 rows (10)",
        "too few rows answered (20 of 40)",
        "incomplete (35 of 40 rows)",
    ]


def test_settings_are_read_and_checked(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == Settings()
    path = tmp_path / "settings.toml"
    path.write_text('min_rows = 7\nnotes = ["one"]\n[weights]\nbase = ["x"]\n', encoding="utf-8")
    found = read_settings(tmp_path)
    assert (found.min_rows, found.notes, found.weights) == (7, ("one",), {"base": ["x"]})
    path.write_text("rows = 7\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"settings\.toml cannot be used"):
        read_settings(tmp_path)


def test_methods_are_compared_on_rows_all_scored() -> None:
    found = Evidence(
        [
            make_results("d", "a", GOOD, GOLD),
            make_results("d", "b", [*GOOD[:38], None, None], GOLD),
            make_results("d", "c", GOOD[:30], GOLD[:30]),
        ],
        samples=10,
    )
    assert len(found.on_shared_rows.rows["d"].ids) == 30
    assert found.on_shared_rows.count == 30
    # `b` has all rows, but no answer to two of them.
    assert found.on_all_rows.methods == ("a", "b")
    assert found.on_all_rows.count == 38
    assert found.on_shared_rows.cell("d", "a", "AUROC").value == 1.0
    assert found.on_shared_rows.cell("e", "a", "AUROC").value is None


def test_means_cover_reference_datasets() -> None:
    sets = ("one", "two", "three", "four")
    found = Evidence(
        [
            *(make_results(name, "a", GOOD, GOLD) for name in sets),
            *(make_results(name, "b", BAD, GOLD) for name in sets if name != "two"),
            make_results("one", "rare", GOOD, GOLD),
        ],
        samples=10,
    )
    assert found.on_shared_rows.shared == ("four", "one", "three", "two")
    assert found.on_shared_rows.mean("a", "AUROC").value == 1.0
    # A mean over fewer datasets is another mean.
    assert found.on_shared_rows.mean("b", "AUROC").value is None
    assert found.on_shared_rows.cell("one", "rare", "AUROC").value == 1.0
    assert found.on_all_rows.methods == ("a",)
    compared = found.compare(found.scores["b"], found.scores["a"])
    assert compared is not None
    assert (compared.rows, compared.means["AUROC"].value) == (120, 1.0)
    assert set(compared.by_dataset) == {*sets} - {"two"}


def test_the_reference_is_the_default_configuration() -> None:
    results = [
        make_results("d", "halldetect", GOOD, GOLD, verifier=base(name="large"), configuration={}),
        make_results("d", "halldetect", BAD, GOLD, verifier=base(), configuration={"seed": 5}),
        make_results("d", "halldetect", NOISE, GOLD, verifier=base(),
                     configuration={"seed": 0}),
        make_results("d", "a", GOOD, GOLD),
    ]  # fmt: skip
    found = Evidence(results, samples=10)
    header = found.headers[found.reference]
    assert (header.method["verifier"]["name"], header.method["configuration"]["seed"]) == (
        "base",
        0,
    )
    assert Evidence(results, reference="a", samples=10).reference == "a"
    with pytest.raises(ConfigurationError, match="no method 'zzz'"):
        Evidence(results, reference="zzz", samples=10)
    with pytest.raises(ConfigurationError, match="samples"):
        Evidence(results, samples=0)


def test_configurations_of_one_method_are_told_apart() -> None:
    def made(scoring: str, model: str, digest: str = "0", name: str = "h") -> Header:
        settings = {"configuration": {"scoring": scoring, "verifier": model}}
        return Header(
            "d", {"name": name, **settings, "verifier": {"name": model, "digest": digest}}
        )

    def told(*headers: Header) -> list[str]:
        found = method_labels(headers)
        return [found[header.digest] for header in headers]

    assert told(made("fed", "x"), made("fed", "x", name="g")) == ["h", "g"]
    assert told(made("fed", "x"), made("ours", "x")) == ["h (scoring fed)", "h (scoring ours)"]
    # Names of models are enough where they differ, whatever else does.
    assert told(made("fed", "x", "1"), made("ours", "y", "2")) == [
        "h (verifier x)",
        "h (verifier y)",
    ]
    assert told(made("fed", "x", "1"), made("fed", "x", "2")) == ["h (digest 1)", "h (digest 2)"]
    assert told(made("fed", "x", "0a" * 32), made("fed", "x", "0b" * 32)) == [
        "h (digest 0a0a0a0a)",
        "h (digest 0b0b0b0b)",
    ]
    assert told(made("fed", "x"), made("ours", "y"), made("fed", "y")) == [
        "h (scoring fed, verifier x)",
        "h (scoring ours, verifier y)",
        "h (scoring fed, verifier y)",
    ]


def asked(results: list[Results], **options: object) -> dict[str, str]:
    evidence = Evidence(results, samples=50, **options)  # type: ignore[arg-type]
    return {one.question: one.text for one in answers(evidence)}


def test_what_decomposition_is_worth(tmp_path: Path) -> None:
    found = asked(
        [
            make_results("d", "halldetect", GOOD, GOLD, verifier=base()),
            make_results("d", "nli-only", BAD, GOLD, verifier=base()),
            make_results("e", "halldetect", BAD, GOLD, verifier=base()),
            make_results("e", "nli-only", GOOD, GOLD, verifier=base()),
        ],
    )
    assert found["What is decomposition worth?"].startswith(
        "With `base`, splitting the texts gains +0.000 (+0.000 to +0.000) AUROC"
    )
    assert "AUROC gained, beyond chance: d +1.000" in found["Where does splitting pay?"]
    assert "Lost: e -1.000" in found["Where does splitting pay?"]


def test_one_prompt_names_its_tokens() -> None:
    large = {"name": "large"}
    one, other = (
        make_results("d", name, GOOD, GOLD, {"verifier_tokens": tokens}, verifier=large)
        for name, tokens in (("halldetect", 500), ("one-prompt", 400))
    )
    # Tokens are of the rows that both have scored.
    costly = replace(one.predictions[0], id="more", cost={"verifier_tokens": 90_000})
    found = asked([replace(one, predictions=(*one.predictions, costly)), other])
    text = found["Can all claims be judged in one prompt?"]
    assert text.endswith("on 40 rows. It reads 400 tokens for a response instead of 500.")


def test_seconds_come_from_rows_scored_alone(tmp_path: Path) -> None:
    def alone(name: str, seconds: float, **settings: object) -> Results:
        cost = {**COST, "seconds": {"verify": seconds}}
        return make_results("d", name, GOOD[:4], GOLD[:4], cost, **settings)

    drafting = {"name": "gguf:big.gguf", "prompt_digest": "1"}
    machine = [
        alone("long-context", 2.0, llm={"name": "gguf:big.gguf"}),
        alone("halldetect", 0.2, verifier=base(), explanations=False),
        alone("halldetect", 3.0, verifier=base(), explanations=False, extractor=drafting),
        alone("halldetect", 0.5, verifier=base(), explanations=True),
        alone("minicheck-style", 0.1, verifier=base()),
    ]
    evidence = Evidence(
        [make_results("d", "halldetect", GOOD, GOLD, verifier=base())],
        latency={"latency-cpu": machine},
        samples=10,
    )
    ours, *others = timed(evidence)
    assert (ours.method, ours.cost.seconds) == ("halldetect base", 0.5)
    assert [(one.method, one.cost.seconds) for one in others] == [
        ("halldetect base, claims of big", 3.0),
        ("halldetect base, scores only", 0.2),
        ("long-context big", 2.0),
        ("minicheck-style base", 0.1),
    ]


def test_growth_with_the_source_and_the_claims() -> None:
    made = make_results("d", "halldetect", GOOD, GOLD, {**COST, "verifier_tokens": 7})
    sized = tuple(
        replace(
            item,
            details={
                "source_words": 100 if n < 20 else 900,
                "response_sentences": 1 + n // 20 * 5,
            },
        )
        for n, item in enumerate(made.predictions)
    )
    few = make_results("e", "halldetect", GOOD[:4], GOLD[:4], {"verifier_tokens": 9})
    small = tuple(replace(item, details={"source_words": 300}) for item in few.predictions)
    evidence = Evidence(
        [replace(made, predictions=sized), replace(few, predictions=small)], samples=10
    )
    *found, last = sorted(growth(evidence), key=lambda one: one.dataset)
    assert [(one.by, one.range, one.rows) for one in found] == [
        ("words of the source", "0 to 199", 20),
        ("words of the source", "800 to 1599", 20),
        ("sentences of the response", "1", 20),
        ("sentences of the response", "5 to 8", 20),
    ]
    assert {one.auroc.value for one in found} == {1.0}
    assert {one.tokens for one in found} == {7}
    assert (last.dataset, last.range, last.auroc.value, last.tokens) == ("e", "200 to 399", None, 9)
    (told,) = [one.text for one in answers(evidence) if one.question.startswith("How do accuracy")]
    assert told.startswith(
        "By words of the source, AUROC is lower in the longest range than in the shortest in 0 of "
        "1 datasets, with 1.0 times the tokens (median): d 1.000 and 1.000."
    )


def test_losses_and_kinds(tmp_path: Path) -> None:
    made = make_results("d", "halldetect", BAD, GOLD)
    kinds = tuple(
        replace(item, kind="number" if n < 20 else None) for n, item in enumerate(made.predictions)
    )
    tables = Tables(
        Evidence(
            [replace(made, predictions=kinds), make_results("d", "minicheck-style", GOOD, GOLD)],
            samples=50,
        ),
    )
    ((dataset, method, gained),) = tables.losses
    assert (dataset, method, gained.value) == ("d", "minicheck-style", 1.0)
    assert tables.kinds == [["d", "number", 10, 0.0]]


def test_sets_that_were_trained_on_are_in_no_mean() -> None:
    results = [
        make_results(dataset, method, scores, GOLD, verifier=base())
        for dataset, ours in (("ragtruth", GOOD), ("ragtruth-train", BAD))
        for method, scores in (("halldetect", ours), ("nli-only", NOISE))
    ]
    evidence = Evidence(results, samples=20)
    assert evidence.on_shared_rows.shared == ("ragtruth",)
    assert evidence.on_shared_rows.mean("halldetect", "AUROC").value == 1.0
    assert evidence.on_shared_rows.cell("ragtruth-train", "halldetect", "AUROC").value == 0.0
    compared = evidence.compare(evidence.scores["nli-only"], evidence.scores["halldetect"])
    assert compared is not None
    assert (compared.rows, set(compared.by_dataset)) == (40, {"ragtruth"})
