"""The loaders of public sets, on files made up in the publishers' formats."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from training.large import public
from training.large.sources import LICENCES, Claim, Passage, grouped

RESPONSE = "The ferry to Lund leaves at nine in the morning. It carries forty cars and a choir."


def write(path: Path, *items: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")


def labels(passages: list[Passage]) -> dict[str, str]:
    return {claim.text: claim.label for passage in passages for claim in passage.claims}


def marked(phrase: str, kind: int) -> dict[str, Any]:
    return {"type": kind, "text": phrase, "start": RESPONSE.index(phrase)}


def test_spans_label_the_training_answers_of_ragtruth(tmp_path: Path) -> None:
    source = {
        "question": "When does the ferry leave?",
        "passages": "passage 1:The ferry sails at 9.",
    }
    write(tmp_path / "QA.jsonl", *({"source_id": name, "source_info": source} for name in "78"))
    start = RESPONSE.index("a choir")
    mark = {"start": start, "end": start + 7, "label_type": "Evident Baseless Info"}
    answer = {"source_id": "7", "quality": "good", "labels": [mark], "response": RESPONSE}
    write(
        tmp_path / "some_hallucination.jsonl",
        answer | {"split": "train"},
        answer | {"split": "test", "response": "The ferry never sails in the winter months."},
        answer | {"split": "train", "quality": "truncated", "response": "The ferry has been sold."},
    )
    (passage,) = grouped(public.ragtruth_train(tmp_path), "ragtruth_train")
    assert passage.text == "passage 1:The ferry sails at 9."
    assert [claim.label for claim in passage.claims] == ["E", "N"]
    # The unmarked sentence has many words that the passage lacks.
    assert [claim.weight for claim in passage.claims] == [0.5, 1.0]


def test_a_claim_needs_a_person_and_a_second_judge() -> None:
    wrong, late = (0, 10, "C"), (RESPONSE.index("forty"), len(RESPONSE), "N")
    assert [label for _, label in public.agreed(RESPONSE, [[wrong]])] == ["C", "E"]
    both = public.agreed(RESPONSE, [[wrong, late]], [[late]])
    assert [label for _, label in both] == ["N"]
    assert [label for _, label in public.agreed(RESPONSE, [[]], [[wrong]])] == ["E"]
    assert [label for _, label in public.agreed(RESPONSE, [[(0, 10, "?")]])] == ["E"]


def test_records_of_quintd_are_read_with_their_spans(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "quintd-1"
    given = "Based on the data:\n```\n{'id': 3, 'ferry': 'Lund', 'cars': 30}\n```\nWrite."
    path = folder / "outputs/test/ice_hockey/default/some.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"generated": [{"in": given, "out": RESPONSE}]}))
    item = {"dataset": "ice_hockey", "model": "some", "table_idx": 0}
    other = item | {"table_idx": 1, "annotations": []}
    for kind, phrase in (("human", "forty cars"), ("gpt-4", "forty")):
        mine = item | {"annotations": [marked(phrase, 0)]}
        write(folder / "annotations" / kind / "some.jsonl", mine, other)
    (passage,) = grouped(public.quintd(tmp_path), "quintd")
    assert "30" in passage.text
    assert "id" not in passage.text.split()
    assert list(labels([passage]).values()) == ["E", "C"]


def test_entailed_claims_do_not_outnumber_the_others() -> None:
    claims = [Claim(f"Claim number {n}.", "E", "answer") for n in range(30)]
    claims.append(Claim("Another claim.", "N", "answer"))
    kept = public.balanced(Passage("Text.", "lfqa", claims), random.Random(1)).claims
    assert sorted({claim.label for claim in kept}) == ["E", "N"]
    assert len(kept) == 8


def test_every_set_states_its_licence() -> None:
    assert {load.__name__ for load in public.SETS} <= set(LICENCES)
