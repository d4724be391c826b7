"""A threshold fitted to labels: its bound, its file, its errors."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.errors import ConfigurationError, InputError
from halldetect.verification.cut import fit_cut, read_cut
from tests.support.fakes import OverlapVerifier

VERIFIER = {"name": "fake", "digest": "1234", "runtime": "none"}


@pytest.mark.parametrize("risk", [0.05, 0.1, 0.3])
def test_share_of_flagged_faithful_responses_is_bounded(risk: float) -> None:
    draw = random.Random(7)
    flagged = 0
    for _ in range(2000):
        scores = [round(draw.betavariate(1, 4), 6) for _ in range(40)]
        cut = fit_cut(scores[1:], [], risk, VERIFIER)
        flagged += scores[0] >= cut.threshold
    # Two standard errors above the bound, and not far below it.
    assert risk - 0.035 < flagged / 2000 <= risk + 2 * (risk * (1 - risk) / 2000) ** 0.5


@pytest.mark.parametrize(("risk", "needed"), [(0.05, 19), (0.1, 9), (0.01, 99), (0.5, 1)])
def test_too_few_labels_name_the_number_needed(risk: float, needed: int) -> None:
    assert fit_cut([0.25] * needed, [], risk, VERIFIER).threshold == 0.250001
    with pytest.raises(InputError, match=f"at least {needed} labelled faithful"):
        fit_cut([0.25] * (needed - 1), [], risk, VERIFIER)


def test_found_hallucinations_are_counted() -> None:
    cut = fit_cut([0.1] * 19, [0.1, 0.100001, 0.9], 0.05, VERIFIER)
    assert (cut.faithful, cut.hallucinated, cut.found) == (19, 3, 2)


def test_worst_scores_cannot_keep_the_risk() -> None:
    with pytest.raises(InputError, match="worst possible score"):
        fit_cut([1.0] * 19, [], 0.05, VERIFIER)


@pytest.mark.parametrize("risk", [0.0, 1.0, -1.0, float("nan")])
def test_risk_outside_its_range_is_refused(risk: float) -> None:
    with pytest.raises(InputError, match="the risk must lie between"):
        fit_cut([0.5] * 50, [], risk, VERIFIER)


def test_file_holds_for_the_same_weights_only(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    cut = fit_cut([0.1] * 19, [], 0.05, VERIFIER)
    path.write_text(cut.json, encoding="utf-8")
    assert read_cut(str(path), {**VERIFIER, "runtime": "other"}) == cut
    with pytest.raises(ConfigurationError, match="other weights"):
        read_cut(str(path), {**VERIFIER, "digest": "5678"})
    with pytest.raises(ConfigurationError, match="than those of other: run halldetect calibrate"):
        read_cut(str(path), {**VERIFIER, "name": "other"})
    assert cut.note == (
        "threshold 0.100001: at most 0.05 of faithful responses are flagged, "
        "fitted on 19 labelled faithful responses"
    )


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"threshold": 2}', "nonsense"])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"'.*cut\.json' is not a file that hall"):
        read_cut(str(path), VERIFIER)
    with pytest.raises(ConfigurationError, match=r"cannot read '.*missing\.json': No such"):
        read_cut(str(tmp_path / "missing.json"), VERIFIER)


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({"threshold": 0.0}, True),
        ({"threshold": 1.0}, True),
        ({"threshold": -0.1}, False),
        ({"threshold": 1.1}, False),
        ({"verifier": "fake"}, False),
    ],
)
def test_only_values_in_their_range_are_read(
    change: dict[str, Any], valid: bool, tmp_path: Path
) -> None:
    path = tmp_path / "cut.json"
    cut = fit_cut([0.1] * 19, [0.9], 0.05, VERIFIER)
    path.write_text(cut.json, encoding="utf-8")
    written = json.loads(path.read_text(encoding="utf-8"))
    assert path.read_text(encoding="utf-8") == json.dumps(written, indent=2) + "\n"
    path.write_text(json.dumps(written | change), encoding="utf-8")
    if valid:
        assert read_cut(str(path), VERIFIER) == replace(cut, **change)
    else:
        with pytest.raises(ConfigurationError, match="is not a file that halldetect calibrate"):
            read_cut(str(path), VERIFIER)


def test_threshold_has_six_decimals_and_is_found_in_any_order() -> None:
    assert fit_cut([0.12345678] * 19, [], 0.05, VERIFIER).threshold == 0.123458
    scores = [0.9, *[0.1] * 18]
    assert fit_cut(scores, [], 0.05, VERIFIER).threshold == 0.900001
    assert fit_cut(scores, [], 0.1, VERIFIER).threshold == 0.100001
    assert fit_cut([0.999999] * 19, [], 0.05, VERIFIER).threshold == 1.0


def test_report_names_the_fitted_threshold(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    cut = fit_cut([0.7] * 19, [], 0.05, OverlapVerifier().description)
    path.write_text(cut.json, encoding="utf-8")
    config = Configuration(threshold=str(path))
    report = Detector(OverlapVerifier(), config=config).check("Cats purr.", "Dogs bark.")
    assert report.threshold == 0.700001
    assert "fitted on 19 labelled faithful responses" in " ".join(report.provenance.notes)
    assert json.loads(report.to_json())["provenance"]["configuration"]["threshold"] == str(path)
