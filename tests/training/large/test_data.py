"""The build: leaks, cuts, groups, held-out part, windows."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter

from training.large import compose, data
from training.large.sources import Claim, Passage
from training.leaks import HeldOut

LONG = (
    "The ferry to Orrin leaves the old harbour every morning at seven. Captain Dalia Voss has "
    "steered it since the spring of 2011. On Sundays the crossing takes an hour longer because of "
    "the sandbanks near Pell Rock. Tickets are sold on board by her brother Marek. The company "
    "wants to replace the boat with an electric one next year."
)


def passage(text: str, *claims: tuple[str, str], title: str = "") -> Passage:
    return Passage(text, "squad_dev", [Claim(t, label, "labelled") for t, label in claims], title)


def test_texts_sharing_ten_words_with_an_evaluation_set_are_dropped() -> None:
    held = HeldOut()
    held.add("The ferry to Orrin leaves the old harbour every morning at seven o'clock sharp.")
    held.add_pair("A premise.", "A known claim.")
    dropped: Counter[str] = Counter()
    kept = data.without_leaks(
        [
            passage(LONG, ("It leaves at seven.", "E")),
            passage("A premise.", ("A known claim.", "E"), ("A new claim.", "N")),
        ],
        held,
        dropped,
    )
    assert [[claim.text for claim in item.claims] for item in kept] == [["A new claim."]]
    assert dropped["squad_dev"] == 2


def test_nine_shared_words_are_no_leak() -> None:
    held = HeldOut()
    held.add("The ferry to Orrin leaves the old harbour every")
    assert not held.holds(LONG)


def test_long_passages_keep_the_evidence_of_their_claims() -> None:
    filler = " ".join(f"Sentence number {n} speaks about quite another thing." for n in range(220))
    text = filler + " The bell of Velton weighs ninety tonnes."
    cut = data.cut_long(
        passage(text, ("The bell of Velton weighs ninety tonnes.", "E")), random.Random(1)
    )
    assert cut is None or "bell of Velton" in cut.text
    assert cut is None or len(cut.text.split()) <= data.MAX_WORDS


def test_claims_with_two_labels_go_and_groups_are_small() -> None:
    claims = [(f"Claim number {n} is here.", "E") for n in range(20)]
    made = data.rows(
        [passage(LONG, *claims, ("A claim.", "E"), ("A claim.", "C"))], random.Random(1)
    )
    assert [len(line["claims"]) for line in made] == [16, 4]  # type: ignore[arg-type]
    assert "A claim." not in json.dumps(made)


def test_passages_of_one_title_stay_on_one_side() -> None:
    sides = {data.is_dev(passage(f"Text {n}.", title="Ferries")) for n in range(50)}
    assert len(sides) == 1


def test_a_sentence_taken_out_is_neutral() -> None:
    found = [
        item
        for seed in range(20)
        for item in compose.with_holes([passage(LONG + " " + LONG[:0])], random.Random(seed))
    ]
    assert found
    for item in found:
        for claim in item.claims:
            if claim.kind == "left_out":
                assert claim.label == "N"
                assert claim.text not in item.text


def test_a_build_does_not_depend_on_the_order_of_sets() -> None:
    program = (
        "import random; from training.large import compose, data; "
        "from training.large.sources import Claim, Passage; "
        f"text = {LONG!r}; rng = random.Random(3); "
        "item = Passage(text, 'squad_dev', [Claim('Captain Dalia Voss steers it.', 'E', 'x')]); "
        "made = [p for _ in range(15) for p in compose.passage_groups([item], rng)]; "
        "print(data.rows(made + compose.with_holes([item] * 9, rng), rng))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1
    assert "edit_" in printed.pop()


def test_rows_become_a_markdown_table() -> None:
    text = "Boats.\nname: Orrin; seats: 40\nname: Pell; seats: 12"
    table = compose.as_markdown(text)
    assert table is not None
    assert "| name | seats |" in table
    assert "| Pell | 12 |" in table
    assert compose.as_markdown("Boats.\nname: Orrin; seats: 40\nname: Pell") is None
