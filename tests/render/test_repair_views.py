"""The views of a repair: what was deleted and inserted is shown, and texts have no effect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect import Detector
from halldetect.render.repair_views import (
    DELETED,
    INSERTED,
    difference,
    repair_html,
    repair_terminal,
    repair_view,
)
from halldetect.repair.outcome import Repair
from tests.support.fakes import OverlapVerifier

SOURCE = "The bridge over the river opened in 1932. Anna Holm designed the bridge."
RESPONSE = "The bridge opened in 1923. Anna Holm designed the bridge. Wild horses graze <b>."


@pytest.fixture(scope="module")
def repair() -> Repair:
    return Detector(verifier=OverlapVerifier()).repair(SOURCE, RESPONSE)


@given(st.text(max_size=60), st.text(max_size=60))
def test_both_texts_can_be_read_off_a_difference(before: str, after: str) -> None:
    pieces = difference(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != INSERTED) == before
    assert "".join(piece.text for piece in pieces if piece.kind != DELETED) == after


def test_words_are_not_torn() -> None:
    pieces = difference("It cost 7 million marks.", "It cost five thousand marks.")
    assert [(piece.kind, piece.text) for piece in pieces if piece.kind != "same"] == [
        ("deleted", "7 million"),
        ("inserted", "five thousand"),
    ]


def test_the_pieces_of_a_repair(repair: Repair) -> None:
    view = repair_view(repair)
    assert "".join(piece.text for piece in view["pieces"] if piece.kind != INSERTED) == RESPONSE
    after = "".join(piece.text for piece in view["pieces"] if piece.kind != DELETED)
    assert after.split() == (repair.text or "").split()
    assert [piece.kind for piece in view["pieces"]].count(DELETED) == 2
    assert [change["action"] for change in view["changes"]] == ["changed", "removed"]


@pytest.mark.parametrize("response", ["", " Wild horses graze."])
def test_what_is_unclear_is_not_called_supported(response: str) -> None:
    detector = Detector(verifier=OverlapVerifier(), threshold=0.95)
    repair = detector.repair(SOURCE, f"Anna Holm, who wore a hat, designed the bridge.{response}")
    text = repair_terminal(repair, color=False, width=200)
    assert "unclear at the threshold 0.95: 1." in text
    assert "supports" not in text


def test_terminal(repair: Repair) -> None:
    text = repair_terminal(repair, color=False, width=100)
    assert "✓ REPAIRED" in text
    assert "opened in [-1923-]{+1932+}." in text
    assert "[-Wild horses graze <b>.-]" in text
    assert "why: nothing in the source says so" in text
    assert "\x1b[" in repair_terminal(repair, color=True)


def test_html(repair: Repair) -> None:
    page = repair_html(repair)
    assert "<del>1923</del><ins>1932</ins>" in page
    assert "<del>Wild horses graze &lt;b&gt;.</del>" in page
    assert "<b>" not in page
    assert "default-src &#39;none&#39;" in page


def test_a_failed_repair_shows_why() -> None:
    failed = Detector(verifier=OverlapVerifier()).repair(SOURCE, "Zebras sing <i>.")
    assert "NOT REPAIRED" in repair_terminal(failed, color=False)
    assert "could not be repaired: no sentence of the response is left" in repair_html(failed)
    assert "Zebras sing &lt;i&gt;." in repair_html(failed)


def test_document_names_are_escaped() -> None:
    name = "a\x1b[31m\n<b>"
    source = [{"id": name, "text": SOURCE}]
    repair = Detector(verifier=OverlapVerifier()).repair(source, "The bridge opened in 1923.")
    shown = "a\u241b[31m <b>: “The bridge over the river opened in 1932.”"
    assert shown in repair_terminal(repair, color=False, width=200)
    assert "<b>" not in repair_html(repair)
