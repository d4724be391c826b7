"""The methods on a verifier whose judgements can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.detector import Detector
from halldetect.protocols import Traits
from halldetect.reading.sentences import read_document
from halldetect.report import Probabilities
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.halldetect_method import HallDetect
from halldetect_bench.methods.method import Method
from halldetect_bench.methods.pairwise import (
    HISTOGRAM_BINS,
    AlignScoreStyle,
    MiniCheckStyle,
    NliOnly,
    SummacConvStyle,
    SummacZsStyle,
    histogram,
    packaged_layer,
    sentence_runs,
)
from halldetect_bench.methods.rouge import RougeL, common_length
from tests.support.fakes import OverlapVerifier


class TableVerifier(Traits):
    """Knows the probabilities of the pairs in its table, all others are neutral."""

    max_tokens = 1000

    def __init__(self, table: dict[tuple[str, str], tuple[float, float]]) -> None:
        self.table = table

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "table"}

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        found = [self.table.get(pair, (0.0, 0.0)) for pair in pairs]
        return [Probabilities(yes, 1 - yes - no, no) for yes, no in found]


ONE, TWO = "Ann won the race.", "Bob lost the game."
RIGHT, WRONG = "Ann won.", "Bob won."
SOURCE = f"{ONE} {TWO}"
ROW = Row("d", "1", SOURCE, f"{RIGHT} {WRONG}", True)
TABLE = {
    (ONE, RIGHT): (0.8, 0.1),
    (TWO, RIGHT): (0.1, 0.0),
    (ONE, WRONG): (0.2, 0.1),
    (TWO, WRONG): (0.3, 0.6),
    (SOURCE, RIGHT): (0.9, 0.0),
    (SOURCE, WRONG): (0.4, 0.5),
    (SOURCE, f"{RIGHT} {WRONG}"): (0.35, 0.5),
}


@pytest.mark.parametrize(
    ("method", "score", "units", "pairs"),
    [
        (NliOnly, 1 - 0.35, (0.65,), 1),
        # Best E - C: 0.7 (first sentence) and 0.1; their mean 0.4 becomes (1 - 0.4) / 2.
        (SummacZsStyle, 0.3, (0.15, 0.45), 4),
        (MiniCheckStyle, 1 - 0.4, (0.1, 0.6), 2),
        (AlignScoreStyle, 1 - (0.9 + 0.4) / 2, (0.1, 0.6), 2),
    ],
)
def test_scores_by_hand(method: Any, score: float, units: tuple[float, ...], pairs: int) -> None:
    (found,) = method(TableVerifier(TABLE)).score_many([ROW])
    assert found.score == pytest.approx(score)
    assert [value for _, value in found.claims] == pytest.approx(list(units))
    assert found.cost.pairs_judged == pairs
    assert found.cost.verifier_tokens > 0


def test_rouge_by_hand() -> None:
    # "ann won ... bob ..." is in order; the last "won" is not there a second time.
    (found,) = RougeL().score_many([ROW])
    assert found.score == pytest.approx(1 - 3 / 4)


def slow_common_length(one: Sequence[str], other: Sequence[str]) -> int:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, here in enumerate(one, start=1):
        for j, there in enumerate(other, start=1):
            best = max(table[i - 1][j], table[i][j - 1])
            table[i][j] = table[i - 1][j - 1] + 1 if here == there else best
    return table[-1][-1]


@given(st.lists(st.sampled_from("abc"), max_size=40), st.lists(st.sampled_from("abc"), max_size=40))
def test_common_length_agrees_with_the_table(one: list[str], other: list[str]) -> None:
    assert common_length(one, other) == slow_common_length(one, other)


def every_method() -> list[Method]:
    verifier = OverlapVerifier()
    detector = Detector(verifier, notice=lambda _: None)
    return [
        *(
            method(verifier)
            for method in (NliOnly, SummacZsStyle, SummacConvStyle, MiniCheckStyle, AlignScoreStyle)
        ),
        RougeL(),
        HallDetect(detector),
    ]


@pytest.mark.parametrize("method", every_method(), ids=lambda method: method.description["name"])
def test_every_method_keeps_the_protocol(method: Method) -> None:
    rows = [
        Row("d", "1", "The plant employs 340 people. It is in Utah.", "It is in Utah.", False),
        Row("d", "2", ("The plant is in Utah.", "It closed in 1998."), "It closed in 1999.", True),
        Row("d", "3", "The plant is in Utah.", "...", False),
    ]
    together = method.score_many(rows)
    assert len(together) == 3
    for row, found in zip(rows, together, strict=True):
        (alone,) = method.score_many([row])
        assert (alone.score, alone.reason, alone.claims) == (
            found.score, found.reason, found.claims,
        )  # fmt: skip
        assert (found.score is None) == (found.reason is not None)
        assert found.score is None or 0 <= found.score <= 1
    assert together[0].score is not None
    assert together[1].score is not None
    assert together[0].score < together[1].score
    assert method.score_many([]) == []


def test_nli_only_reads_the_beginning_of_a_long_source() -> None:
    said, sand = "The boat leaves at six.", "Sand" + " sand" * 200 + "."
    rows = [
        Row("d", "1", f"{said} {sand}", said, False),
        Row("d", "2", f"{sand} {said}", said, True),
    ]
    begins, ends = NliOnly(OverlapVerifier(max_tokens=50)).score_many(rows)
    assert (begins.score, ends.score) == (pytest.approx(0.02), 1.0)
    assert begins.cost.verifier_tokens == ends.cost.verifier_tokens == 50


def test_a_response_too_long_is_not_scored() -> None:
    row = Row("d", "1", "One two three.", "word " * 200, True)
    (found,) = NliOnly(OverlapVerifier(max_tokens=50)).score_many([row])
    assert found.score is None
    assert found.reason is not None
    assert "tokens" in found.reason


def test_chunks_hold_whole_sentences_within_the_token_limit() -> None:
    texts = ("One two three. Four five. Six seven eight nine.", "Ten.")
    parts = sentence_runs(tuple(map(read_document, texts)), 5, TableVerifier({}).count_tokens)
    assert [part.text for part in parts] == [
        "One two three. Four five.", "Six seven eight nine.", "Ten.",
    ]  # fmt: skip
    assert [part.document for part in parts] == [0, 0, 1]


def test_summac_conv_by_hand() -> None:
    weights = [0.0] * HISTOGRAM_BINS
    weights[-1] = 3.0
    layer = {"weights": weights, "offset": -1.0}
    method = SummacConvStyle(OverlapVerifier(), layer)
    assert list(histogram([0.0, 0.01, 0.5, 1.0]).nonzero()[0]) == [0, 25, 49]
    assert histogram([0.0, 0.01])[0] == 2
    row = Row("d", "1", "The bridge opened. It is red.", "The bridge opened. Nobody knows.", True)
    (found,) = method.score_many([row])
    # The first sentence is entailed by one source sentence (3 - 1), the second by none (-1).
    assert found.score == pytest.approx(1 / (1 + 2.718281828459045 ** ((2 - 1) / 2)))
    assert method.description["layer"] == layer


def test_the_shipped_layer_says_where_it_comes_from() -> None:
    layer = packaged_layer()
    assert len(layer["weights"]) == layer["bins"] == HISTOGRAM_BINS
    # Nothing that is evaluated on.
    assert set(layer["data"]) <= {"factcg", "defacto-train", "defacto-val"}
    assert layer["rows"] > layer["faithful"] > 0
    assert layer["weights"] == sorted(layer["weights"])
