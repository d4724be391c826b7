"""Records and long answers: every label follows from how the claim was made."""

from __future__ import annotations

import json
import random
import zlib
from collections import Counter
from pathlib import Path

import pytest

from training.large import answers, records
from training.large.sources import Claim
from training.large.voice import dressed, merged, merged_label, named

KINDS = records.kinds()[0]


def test_every_kind_makes_records_with_all_labels() -> None:
    assert len(KINDS) >= 25
    for kind in KINDS.values():
        made = [records.record(kind, random.Random(seed)) for seed in range(4)]
        found = Counter(
            claim.label for one in made for claim in records.statements(one, random.Random(1))
        )
        assert set(found) == {"E", "N", "C"}, kind.name


def test_null_is_neither_yes_nor_no() -> None:
    kind = KINDS["hotel"]
    made = records.record(kind, random.Random(1))
    pets = next(item for item in kind.fields if item.path == "pets_allowed")
    for value, right, wrong in ((True, "E", "C"), (False, "C", "E"), (None, "N", "N")):
        made.values["pets_allowed"] = value
        labels = {
            claim.label
            for seed in range(6)
            for claim in records.statements(made, random.Random(seed))
            if claim.text.rstrip(".") in {text for text in pets.says if "{S}" not in text}
        }
        assert labels == {right}
        denied = {
            claim.label
            for seed in range(6)
            for claim in records.statements(made, random.Random(seed))
            if claim.text.rstrip(".") in {text for text in pets.denials if "{S}" not in text}
        }
        assert denied == {wrong}


def test_another_rows_value_is_contradicted() -> None:
    rng = random.Random(2)
    first, second = (records.record(KINDS["product"], rng) for _ in range(2))
    first.values["price"], second.values["price"] = 81, 91
    claims = [
        claim
        for seed in range(20)
        for claim in records.statements(first, random.Random(seed), [second], many=True)
        if "91" in claim.text and "$" in claim.text
    ]
    assert claims
    assert {claim.label for claim in claims} == {"C"}


@pytest.mark.parametrize("seed", range(6))
def test_written_records_hold_their_values(seed: int) -> None:
    rng = random.Random(seed)
    made = [records.record(KINDS["team"], rng) for _ in range(2)]
    text = records.written(made, rng)
    for one in made:
        assert one.name in text
        assert str(one.values["points"] if one.values["points"] is not None else "") in text


def test_lines_name_the_path_of_a_value() -> None:
    data = {"hours": {"Monday": "9-17"}, "tags": ["a", "b"], "rows": [{"x": None}, {"x": True}]}
    expected = ["hours, Monday: 9-17", "tags: a, b", "rows 1, x: null", "rows 2, x: yes"]
    assert records.path_lines(data) == expected


def test_a_merged_claim_is_as_wrong_as_its_worst_part() -> None:
    assert merged_label(["E", "E"]) == "E"
    assert merged_label(["E", "N"]) == "N"
    assert merged_label(["N", "C", "E"]) == "C"
    assert merged_label(["E", "notE"]) == "notE"
    true = [Claim(f"The mill number {n} was built in 18{n}0.", "E", "k") for n in range(2, 6)]
    wrong = Claim("The mill number nine was never built.", "C", "k")
    found = merged([*true, wrong], 40, random.Random(1))
    assert {claim.label for claim in found} == {"E", "C"}
    assert all((claim.label == "C") == ("never" in claim.text) for claim in found)


def test_an_opener_keeps_label_and_words() -> None:
    claim = Claim("The mill was built in 1820.", "N", "k")
    made = dressed(claim, "the mill stands", 1.0, random.Random(4))
    assert made.label == "N"
    assert made.text.endswith("the mill was built in 1820.")
    assert dressed(claim, "", 0.0, random.Random(4)) is claim


def test_documents_are_joined_after_their_names() -> None:
    for seed in range(5):
        first, second = named(["One text.", "Two."], random.Random(seed)).split("\n\n")
        assert first.endswith("\nOne text.")
        assert second.endswith("\nTwo.")


def test_ragtruth_is_split_by_source_and_labelled_by_spans(tmp_path: Path) -> None:
    folder = tmp_path / "datasets" / "ragtruth"
    folder.mkdir(parents=True)
    text = "The mill was built in 1820. It burned in 1901."
    wrong = "It burned in 1950."
    response = f"The mill was built in 1820. {wrong} A duke owned it."
    spans = [
        {"start": response.index(wrong), "end": response.index(wrong) + 5,
         "label_type": "Evident Conflict"},
        {"start": response.index("A duke"), "end": len(response),
         "label_type": "Evident Baseless Info"},
    ]  # fmt: skip
    sources = [f"{text} Note {number}." for number in range(30)]
    rows = [
        {"source_id": at, "source": source, "responses": [{"response": response, "labels": spans}]}
        for at, source in enumerate(sources)
    ]
    lines = "\n".join(map(json.dumps, rows))
    (folder / "ragtruth_summary.jsonl").write_text(lines)
    (folder / "ragtruth_qa.jsonl").write_text("")
    parts = {source: part for part, source, _ in answers.ragtruth(tmp_path, "summary")}
    assert set(parts.values()) == {"train", "dev", "test"}
    for source, part in parts.items():
        assert (part == "test") == (zlib.crc32(source.encode()) % 2 == 1)
    (one, *_) = answers.of_ragtruth(tmp_path, "train", random.Random(1), edited=0.0)
    assert parts[one.text] == "train"
    assert [claim.label for claim in one.claims] == ["E", "C", "N"]
