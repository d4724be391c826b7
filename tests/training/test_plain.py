"""The corpus of plain facts: pairs differ in one fact, windows are the detector's."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytestmark = pytest.mark.hf

from training.base import bags  # noqa: E402
from training.plain import corpus, events, pairs, passages, things, windows  # noqa: E402
from training.plain.answers import auroc  # noqa: E402
from training.plain.train import units  # noqa: E402
from training.plain.values import Amount, Clock, Day, Style, rescaled, spoken  # noqa: E402

PLAIN = Style(words=False, long=True, grouped=True, bound=0, clock=0, day=0)
WEIGHTS = Path(__file__).parents[2] / "src" / "halldetect" / "weights" / "base"


@pytest.fixture(scope="module")
def lines() -> list[corpus.Line]:
    return list(corpus.made(150, random.Random(1), held_out=False))


def test_every_kind_has_pairs_and_no_twins_are_equal(lines: list[corpus.Line]) -> None:
    found = [pair for one in lines for pair in one["pairs"]]
    assert {pair["kind"] for pair in found} == set(pairs.KINDS)
    assert all(pair["right"] != pair["wrong"] for pair in found)


def test_what_is_held_out_is_not_in_training(lines: list[corpus.Line]) -> None:
    kinds = set(things.kinds())
    assert kinds > corpus.DEV_KINDS
    for name, rows in events.sections().items():
        if name in {"detail", "filler"}:
            continue
        held = events.rows(events.Story(True), name)
        seen = events.rows(events.Story(False), name)
        assert held
        assert len(held) + len(seen) == len(rows)


def test_no_kind_has_more_pairs_than_asked_for(lines: list[corpus.Line]) -> None:
    kept = corpus.balanced(lines, 20, random.Random(2))
    counts = Counter(pair["kind"] for one in kept for pair in one["pairs"])
    assert max(counts.values()) == 20


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Amount(1500, "g"), "1,500 grams"),
        (Amount(12, "users", bound="max"), "up to 12 users"),
        (Amount(2.4, "EUR", scale="million"), "2.4 million euros"),
        (Amount(1, "people"), "1 person"),
        (Clock(870), "14:30"),
        (Day(2026, 3, 11), "11 March 2026"),
    ],
)
def test_a_value_is_said_in_its_style(value: Amount | Clock | Day, said: str) -> None:
    assert spoken(value, PLAIN) == said


def test_another_scale_is_the_same_amount() -> None:
    said = {spoken(one, PLAIN) for one in rescaled(Amount(1500, "g"), random.Random(1))}
    assert said == {"1.5 kilograms"}
    said = {spoken(one, PLAIN) for one in rescaled(Amount(90, "minutes"), random.Random(1))}
    assert said == {"5,400 seconds", "1.5 hours"}


@pytest.mark.parametrize(
    ("claim", "kind", "wrong"),
    [
        (
            "Sales were 31 tons in spring, 25 in May.",
            "amounts",
            "Sales were 25 tons in spring, 31 in May.",
        ),
        ("The train leaves from the depot at 14:30 daily.", "clock", None),
        ("It grew to 2.5 million people in all.", "scale", None),
        ("The hall holds up to 300 people at once.", "bound", None),
    ],
)
def test_edits_of_real_claims(claim: str, kind: str, wrong: str | None) -> None:
    rng = random.Random(3)
    found = [pair for maker in passages._MAKERS[:-1] for pair in maker(claim, claim, rng)]
    made = [pair for pair in found if pair.kind == kind]
    assert made
    assert wrong is None or made[0].wrong == wrong
    assert not any(pair.certain for pair in found)


def test_windows_are_those_of_the_bags(lines: list[corpus.Line], tmp_path: Path) -> None:
    (tmp_path / "mpnet").mkdir()
    (tmp_path / "mpnet" / "tokenizer.json").write_bytes((WEIGHTS / "tokenizer.json").read_bytes())
    chosen = [one for one in lines if len(one["documents"]) == 1][:3]
    chosen = [{**one, "pairs": one["pairs"][:3]} for one in chosen]
    windows.encode(tmp_path, chosen, tmp_path / "made.npz", 1)
    stored = windows.Stored(tmp_path / "made.npz")
    claims = [{"premise": one["documents"][0],
               "claims": [text for pair in one["pairs"] for text in (pair["right"], pair["wrong"])]}
              for one in chosen]  # fmt: skip
    expected = bags.encode_groups(tmp_path / "mpnet", claims)
    whole = stored.corpus()
    assert whole.bags.ids.tolist() == expected["ids"].tolist()
    assert whole.bags.lengths.tolist() == expected["lengths"].tolist()
    assert whole.bags.scales.tolist() == expected["scales"].tolist()
    last = stored.corpus(np.array([4, 5]))
    start, stop = whole.bags.offsets[whole.bags.first[[4, 6]]]
    assert last.bags.ids.tolist() == whole.bags.ids[start:stop].tolist()
    first, counts = units(windows.Corpus.joined([whole, last]))
    assert first.tolist() == list(range(0, 20, 2))
    assert set(counts) == {2}


def test_auroc_counts_ties_as_half() -> None:
    assert auroc(np.array([0.9, 0.5]), np.array([0.5, 0.1])) == 0.875
