"""The verifier of the package still judges as well as its stored results say.

The suites run on every machine; rows of public sets only where ../shared lies beside the checkout.
Kernels of other processors round otherwise, so a few supports may differ a little.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import plain, sample, suites
from benchmarks.forms.__main__ import measure_hostile_answers
from benchmarks.store import RESULTS, stored
from halldetect import Detector

pytestmark = pytest.mark.accuracy

MOST_SENTENCES = 150  # of a suite: CI has a few minutes for all of them
MOST_OTHER_VERDICTS = 0.01  # of all sentences
MOST_OTHER_STATES = 0.05  # of answers with many claims: the worst one gives the state
CLOSE, MOST_FAR = 0.02, 0.02  # a support that differs by more; their share
SAMPLE_MARGIN = 0.03  # of the figures of forty rows: one row is 0.025


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector()


@pytest.mark.parametrize("suite", plain.SUITES)
def test_own_sentences_are_judged_as_stored(suite: str, detector: Detector) -> None:
    items = [item for item in plain.sentences(suite) if item.split == "report"][:MOST_SENTENCES]
    before = {
        row["id"]: row
        for row in stored(plain.FOLDER / "base.json")["rows"]
        if row["suite"] == suite
    }
    rows = plain.check(detector, items)
    other = [row["id"] for row in rows if row["verdict"] != before[row["id"]]["verdict"]]
    assert len(other) <= MOST_OTHER_VERDICTS * len(rows), other
    far = [row["id"] for row in rows if is_far(row, before[row["id"]])]
    assert len(far) <= MOST_FAR * len(rows), far


@pytest.mark.parametrize(
    ("suite", "file"), [("hostile", "base"), ("long_answers_fresh", "base-independent")]
)
def test_own_answers_are_judged_as_stored(suite: str, file: str, detector: Detector) -> None:
    before = stored(RESULTS / "suites" / f"{file}.json")["predictions"]
    rows = suites.suite_rows(suite)
    states = map(suites.state_of, suites.checked(detector, rows))
    other = [
        row.id
        for row, state in zip(rows, states, strict=True)
        if state != before[f"{suite} {row.id}"][1]
    ]
    assert len(other) <= MOST_OTHER_STATES * len(rows), other


def test_hostile_answers_are_not_called_faithful(detector: Detector) -> None:
    before = stored(RESULTS / "forms" / "base.json")["hostile_answers"]
    now = measure_hostile_answers(detector.check_many)
    assert now["answers"] == before["answers"]
    assert now["called_faithful"] <= before["called_faithful"]
    assert len(now["silent"]) <= len(before["silent"])


def is_far(now: dict[str, Any], before: dict[str, Any]) -> bool:
    if now["support"] is None or before["support"] is None:
        return now["support"] is not before["support"]
    return abs(now["support"] - before["support"]) > CLOSE


@pytest.mark.skipif(not sample.SHARED.is_dir(), reason="the datasets are not on this machine")
@pytest.mark.parametrize("name", sample.SETS)
def test_sample_of_a_public_set_is_judged_as_stored(name: str, detector: Detector) -> None:
    before = stored(sample.PATH)["sets"][name]
    now = sample.measure(detector, name)
    assert now["rows"] == before["rows"]
    for figure in ("auroc", "balanced_accuracy", "share_found"):
        assert now[figure] >= before[figure] - SAMPLE_MARGIN, figure
    assert now["false_alarms"] <= before["false_alarms"] + 2 * SAMPLE_MARGIN
