"""The detector as a method of the evaluation."""

from __future__ import annotations

from typing import Any

from halldetect import Detector
from halldetect_bench.methods.halldetect_method import HallDetect
from tests.support.fakes import OverlapVerifier, SentenceExtractor


def test_settings_of_a_run_name_what_its_scores_depend_on() -> None:
    class Calibrated(OverlapVerifier):
        @property
        def description(self) -> dict[str, Any]:
            return {**super().description, "calibration": {"slope": 2.0, "enough": 0.9}}

    found = HallDetect(Detector(Calibrated(), threshold=0.3), "ours").description
    assert (found["name"], found["threshold"]) == ("ours", 0.3)
    assert (found["calibration"]["slope"], found["calibration"]["enough"]) == (2.0, 0.9)
    assert found["calibration"]["offset"] == 0.0, "defaults are named too"
    paper = HallDetect(Detector.paper(SentenceExtractor(), OverlapVerifier())).description
    assert paper["extractor"] == SentenceExtractor().description
    assert "calibration" not in paper
