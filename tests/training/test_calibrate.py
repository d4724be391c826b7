"""What a weight of the contradiction comes to, on responses and on claims written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from halldetect.scoring import Calibration

pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("scipy", reason="training needs scipy")
pytestmark = pytest.mark.hf

# Windows x probabilities of entailment, neutral and contradiction.
SURE = np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1]])
TORN = np.array([[0.7, 0.0, 0.3], [0.0, 0.9, 0.1]])
AGAINST = np.array([[0.1, 0.1, 0.8], [0.0, 0.9, 0.1]])
ROWS = [(False, [SURE, TORN]), (False, [SURE]), (True, [SURE, AGAINST]), (True, [AGAINST])]


def test_a_response_is_scored_with_the_weight_that_is_shipped() -> None:
    from training.base.calibrate import report_set, scored

    assert scored([SURE, TORN], Calibration()) == pytest.approx(1 - 0.7 * 0.7)
    assert scored([SURE, TORN], Calibration(contradiction_weight=0.45)) == pytest.approx(
        1 - 0.7 * (1 - 0.45 * 0.3)
    )
    figures, rows = report_set(ROWS, Calibration(contradiction_weight=0.45))
    assert figures["balanced_accuracy"] == 1.0
    assert rows[:, 0].tolist() == [0, 0, 1, 1]
    assert report_set(ROWS, Calibration())[0]["balanced_accuracy"] == 0.75


def test_other_weights_are_reported_beside_it() -> None:
    from training.base.calibrate import weights_tried
    from training.large.calibrate import WEIGHTS_TRIED

    table = weights_tried({"wice": ROWS, "qags-cnndm": ROWS})
    assert list(table) == [str(weight) for weight in WEIGHTS_TRIED]
    assert table["0.45"]["six"]["balanced_accuracy"] == 1.0
    assert table["1.0"]["development"]["balanced_accuracy"] == 0.75


def test_claims_written_by_hand_are_measured_with_every_weight() -> None:
    from training.base.held_out import measured

    said = np.array([SURE[0], TORN[0], AGAINST[0], [0.6, 0.1, 0.3]])
    found = measured(said, "EECN")
    assert found["right"] == 0.75
    assert found["contradictions_called_so"] == 1.0
    by_weight = found["contradiction_weights"]
    assert (by_weight["1.0"]["true_flagged"], by_weight["1.0"]["false_passed"]) == (0.5, 0.0)
    assert (by_weight["0.45"]["true_flagged"], by_weight["0.45"]["false_passed"]) == (0.0, 0.5)
