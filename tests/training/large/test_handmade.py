"""Items written by hand: slots, labels, held-out items."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from training.large import handmade
from training.leaks import HeldOut, strings

ITEMS = handmade.items()
SUITES = Path(__file__).parents[2] / "data"


def test_every_item_can_be_filled() -> None:
    rng = random.Random(1)
    for item in ITEMS:
        for number in range(len(item.get("with") or [{}])):
            passage = handmade.filled(item, number, rng)
            texts = [passage.text, *(claim.text for claim in passage.claims)]
            assert not any(re.search(r"\{[a-z]+\d?\}", text) for text in texts), item["source"]


def test_labels_cannot_be_read_off_a_negation() -> None:
    counts: Counter[tuple[bool, str]] = Counter()
    for item in ITEMS:
        for text, label in item["claims"]:
            counts[bool(re.search(r"\b(?:no|not|never|none|without)\b|n't", text)), label] += 1
    ratios = [counts[negated, "E"] / counts[negated, "C"] for negated in (True, False)]
    assert 0.8 < ratios[0] / ratios[1] < 1.25
    wrong = counts.total() - counts[True, "E"] - counts[False, "E"]
    assert 0.45 < wrong / counts.total() < 0.55


def test_sources_are_all_different() -> None:
    assert len({item["source"] for item in ITEMS}) == len(ITEMS) >= 900


def test_a_copy_has_other_names_and_the_next_filling() -> None:
    item = {
        "set": handmade.SOURCE,
        "kind": "difference",
        "source": "{p1} of {o1} ran {a} km.",
        "claims": [["{l1} ran {b} m.", "E"], ["{f1} ran no {a} km.", "C"]],
        "with": [{"a": "3", "b": "3,000"}, {"a": "5", "b": "5,000"}],
    }
    first = handmade.filled(item, 0, random.Random(1))
    second = handmade.filled(item, 1, random.Random(2))
    assert first.text.endswith("ran 3 km.")
    assert second.text.endswith("ran 5 km.")
    name = first.text.split(" of ")[0]
    assert first.claims[0].text == f"{name.split(' ', 1)[1]} ran 3,000 m."
    assert first.claims[0].kind == "hand_difference"
    assert second.text.split(" of ")[0] != name


@pytest.mark.parametrize("copies", [1, 3])
def test_no_claim_is_lost_when_items_share_a_text(copies: int) -> None:
    chosen = [item for item in ITEMS if len(item["claims"]) <= 4][:40]
    made = handmade.passages(chosen, copies, random.Random(3))
    assert sum(len(passage.claims) for passage in made) == copies * sum(
        len(item["claims"]) for item in chosen
    )
    assert any("\n" in passage.text for passage in made)


def test_items_of_other_languages_stay_alone() -> None:
    chosen = [item for item in ITEMS if item["set"] == handmade.OTHER]
    others = [item for item in ITEMS if item["set"] == "conclusions"][:30]
    made = handmade.passages([*chosen, *others], 4, random.Random(5))
    alone = [passage for passage in made if passage.source == handmade.OTHER]
    assert {passage.text for passage in alone} == {
        handmade.shown(item["source"]) for item in chosen
    }
    assert len(alone) == 2 * len(chosen)  # half of the copies
    assert sum(passage.source == "conclusions" for passage in made) < 2 * len(others)


def test_documents_and_records_are_shown_as_in_a_check() -> None:
    source = "Document: Rates\n| Plan | Price |\n|---|---|\n| A | 5 |\n\nDocument: Mail\nHello.\n"
    assert handmade.shown(source) == "Rates\nPlan, Price\nA: Price 5.\n\nMail\nHello."
    assert handmade.shown('{"open": true}') == "open: yes"


def test_the_same_items_are_held_out_every_time() -> None:
    held = [item for item in ITEMS if handmade.is_dev(item)]
    assert 0.04 < len(held) / len(ITEMS) < 0.14


def test_no_item_shares_ten_words_with_our_suites() -> None:
    tested = HeldOut()
    for path in SUITES.rglob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            for text in strings(json.loads(line)):
                tested.add(text)
    assert len(tested) > 1000
    for item in ITEMS:
        for text in (item["source"], *(claim for claim, _ in item["claims"])):
            assert not tested.holds(text), text
