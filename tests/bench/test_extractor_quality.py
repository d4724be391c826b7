"""`halldetect bench extract`: what it counts, and what it says when something is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from halldetect.claims.extraction import Draft
from halldetect.claims.extractors.by_rule import ClauseExtractor, SentenceExtractor
from halldetect.cli import main
from halldetect.report import Probabilities
from halldetect_bench.datasets.decompositions import Gold, in_held_out_part, load_gold
from halldetect_bench.extractor_quality import (
    RecordedAnswers,
    figures,
    judge,
    responses,
    sample,
    stands_alone,
)
from tests.support.paths import DATASETS_FOLDER

SENTENCE = "Ann Cole was born in Leeds on 5 June 1952."
FACTS = ("Ann Cole was born in Leeds.", "Ann Cole was born on 5 June 1952.")
GOLD = Gold("a/0", "factscore", "a", SENTENCE, FACTS)


class Saying:
    """An extractor that says what it is told."""

    description: ClassVar[dict[str, Any]] = {"name": "saying"}

    def __init__(self, *claims: str) -> None:
        self.claims = claims

    def draft(self, block: str, limit: int) -> Draft:
        return Draft(self.claims, 1, 30, 10)


class WordVerifier:
    """Entailment where the hypothesis has no word that the premise lacks."""

    description: ClassVar[dict[str, Any]] = {"name": "words"}

    def judge(self, pairs: list[tuple[str, str]]) -> list[Probabilities]:
        def split(text: str) -> set[str]:
            return set(text.strip(".").split())

        return [
            Probabilities(1.0, 0.0, 0.0) if split(b) <= split(a) else Probabilities(0.0, 1.0, 0.0)
            for a, b in pairs
        ]


def test_a_whole_sentence_covers_everything_and_is_not_atomic() -> None:
    found = judge(GOLD, SentenceExtractor(), WordVerifier())  # type: ignore[arg-type]
    assert (found.covered, found.facts, found.claims) == (2, 2, 1)
    assert (found.said, found.saying) == (2, 1)
    assert (found.covered_by_verifier, found.faithful_by_verifier) == (2, 1)
    assert not found.guarded


def test_clauses_cover_one_fact_each() -> None:
    found = judge(GOLD, ClauseExtractor(), WordVerifier())  # type: ignore[arg-type]
    assert (found.covered, found.claims, found.said, found.saying) == (2, 2, 2, 2)
    assert (found.covered_by_verifier, found.faithful_by_verifier) == (2, 2)


def test_the_guard_is_counted() -> None:
    inventing = judge(GOLD, Saying("Ann Cole was born in Paris."), None)
    assert inventing.guarded
    assert inventing.faithful == inventing.claims
    assert inventing.covered_by_verifier is None
    alone = judge(GOLD, Saying("Ann Cole was born in Paris."), None, guard=False)
    assert (alone.faithful, alone.claims, alone.covered, alone.guarded) == (0, 1, 0, False)
    shown = figures([inventing, judge(GOLD, ClauseExtractor(), None)])
    assert shown["guard_interventions"][0] == 0.5
    assert shown["coverage"][0] == 1.0
    assert shown["tokens_out_per_sentence"][0] == 5.0
    assert "coverage_by_verifier" not in shown
    low, high = shown["guard_interventions"][1:]
    assert low <= 0.5 <= high


@pytest.mark.parametrize(
    ("claim", "alone"),
    [("Ann was here", True), ("He was here", False), ("and was here", False), ("Ann", False)],
)
def test_standing_alone(claim: str, alone: bool) -> None:
    assert stands_alone(claim) is alone


def test_samples_are_held_out_and_mixed() -> None:
    golds = [
        Gold(f"{s}/{n}", s, str(n), SENTENCE, FACTS)
        for s in ("rose", "factscore")
        for n in range(99)
    ]
    found = sample(golds, 6, seed=1)
    assert [gold.source for gold in found] == ["rose", "factscore"] * 3
    assert all(in_held_out_part(gold.document) for gold in found)
    assert sample(golds, 6, seed=1) == found
    assert 0 < len(sample(golds, None, seed=1)) < len(golds) / 4


def test_answers_made_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    row = {"text": SENTENCE, "claims": list(FACTS), "tokens_in": 90, "tokens_out": 20}
    path.write_text(json.dumps(row) + "\n")
    found = judge(GOLD, RecordedAnswers(path), None)
    assert (found.claims, found.covered, found.tokens_out) == (2, 2, 20)


def write_gold(folder: Path) -> None:
    names = [n for n in range(200) if in_held_out_part(f"Topic {n}")]
    for part in ("factscore", "rose", "factcheckgpt", "propsegment"):
        (folder / "decomposition" / part).mkdir(parents=True)
    row = {"text": SENTENCE, "human-atomic-facts": [{"text": fact} for fact in FACTS]}
    lines = [json.dumps({"topic": f"Topic {n}", "annotations": [row] * 7}) for n in names]
    for name in ("ChatGPT", "InstructGPT", "PerplexityAI"):
        (folder / f"decomposition/factscore/{name}.jsonl").write_text("\n".join(lines) + "\n")
    for name in ("factcheck-GPT-benchmark", "Factbench"):
        (folder / f"decomposition/factcheckgpt/{name}.jsonl").write_text("")
    (folder / "decomposition/rose/acu-cnndm-test.json").write_text("[]")
    for part in ("dev", "test"):
        for name in ("document_clusters", "propositions"):
            (folder / f"decomposition/propsegment/{name}.{part}.json").write_text("[]")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_gold(tmp_path)
    out = tmp_path / "extract.json"
    words = ["bench", "extract", "--data", str(tmp_path), "--verifier", "none", "--quiet"]
    words += ["--limit", "5", "--responses", "2", "--out", str(out)]
    assert main([*words, "--extractor", "sentences"]) == 0
    assert main([*words, "--extractor", "clauses"]) == 0
    assert main([*words, "--extractor", "clauses", "--no-guard"]) == 0
    said = json.loads(out.read_text())["extractors"]
    assert set(said) == {"sentences", "clauses", "clauses, no guard"}
    assert said["sentences"]["all"]["atomicity"][0] == 2.0
    assert said["clauses"]["all"]["atomicity"][0] == 1.0
    assert said["clauses"]["seconds_for_60_words"]["responses"] == 2
    assert "clauses, 5 sentences" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--extractor", "sentences", "--data", "/nowhere"], "there is no folder"),
        (["--extractor", "sentence", "--data", "HERE"], "did you mean sentences"),
        (["--data", "HERE"], "name what to compare"),
        (["--answers", "/nowhere/x.jsonl", "--data", "HERE"], "is no file of answers"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    write_gold(tmp_path)
    words = [str(tmp_path) if word == "HERE" else word for word in words]
    assert main(["bench", "extract", "--verifier", "none", "--quiet", *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.skipif(not DATASETS_FOLDER.is_dir(), reason="the datasets are not on this machine")
def test_the_published_sets() -> None:
    golds = load_gold(DATASETS_FOLDER)
    counts: dict[str, int] = {}
    for gold in golds:
        counts[gold.source] = counts.get(gold.source, 0) + 1
    assert counts["factscore"] == 3754
    assert counts["propsegment"] == 921
    assert counts["rose"] > 1500
    assert counts["factcheckgpt"] > 700
    parts = {(gold.source, gold.document): gold.held_out for gold in golds}
    assert all(parts[gold.source, gold.document] == gold.held_out for gold in golds)
    assert 0.07 < sum(g.held_out for g in golds if g.source == "factscore") / 3754 < 0.13
    texts = responses(golds, 60, 10, seed=0)
    assert len(texts) == 10
    assert all(60 <= len(text.split()) <= 90 for text in texts)
