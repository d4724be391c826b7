"""A rule is its file and a line of the registry; one place lowers a support."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import pytest

from halldetect import Detector, Report, Status
from halldetect.faults import registry
from halldetect.faults.fault import Fault, lower_support
from halldetect.reading.reader import Reading
from halldetect.render.html import html
from halldetect.render.sarif import sarif
from halldetect.render.terminal import terminal
from halldetect.report import ClaimReport
from halldetect.scoring import Calibration
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT

SOURCE = "The mill by the river opened in May and has six wheels."
CLAIM = "The mill by the river opened in May and has six WHEELS."


class Shouting:
    """Finds words in capital letters that the source writes otherwise; never finds other words."""

    def __init__(self, reading: Reading) -> None:
        self.text = " ".join(document.text for document in reading.documents)

    def faults(self, claim: ClaimReport, at: int) -> Iterator[Fault]:
        for word in re.findall(r"\b[A-Z]{4,}\b", claim.text):
            if word not in self.text:
                yield Fault("shouting", word, instead=word.lower(), certain=True)


def test_a_new_rule_is_shown_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Detector(OverlapVerifier()).check(SOURCE, CLAIM).ok
    monkeypatch.setattr(registry, "RULES", [*registry.RULES, Shouting])
    report = Detector(OverlapVerifier()).check(SOURCE, CLAIM)
    (claim,) = report.claims
    assert (claim.status, report.ok) == (Status.UNSUPPORTED, False)
    (wrong,) = claim.wrong
    assert (wrong.kind, wrong.words, wrong.source_words) == ("shouting", "WHEELS", "wheels")
    assert wrong.span is not None
    assert wrong.span.cut(CLAIM) == "WHEELS"
    assert "Shouting: “WHEELS”, in the source “wheels”" in terminal(report, color=False)
    assert re.search(r"<mark[^>]*>WHEELS<", html(report))
    (result,) = json.loads(sarif(report, "answer.txt"))["runs"][0]["results"]
    assert result["properties"]["wrong"][0]["kind"] == "shouting"
    assert Report.from_json(report.to_json()) == report
    assert json.loads(report.to_json())["claims"][0]["wrong"][0]["words"] == "WHEELS"


def test_every_rule_says_what_it_finds_and_never_finds() -> None:
    for rule in registry.RULES:
        text = rule.__doc__ or ""
        assert text.startswith("Finds "), rule
        assert "Never finds " in text, rule


def test_one_place_lowers_a_support() -> None:
    callers = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src/halldetect").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "replace"
        and any(keyword.arg == "support" for keyword in node.keywords)
    ]
    # Of the others, one marks claims without evidence, one settles the actions of agents.
    assert sorted(set(callers)) == [
        "src/halldetect/agents/conversation.py",
        "src/halldetect/faults/fault.py",
        "src/halldetect/knowledge/retrieval.py",
    ]


def judged(support: float | None, status: Status) -> ClaimReport:
    return ClaimReport(CLAIM, None, None, status, None, support)


WORD, SURE, DOUBT = (
    Fault("number", "six"),
    Fault("number", "six", certain=True),
    Fault("number", ""),
)
THREE_STATES = Calibration(supported_above=0.65, unclear_above=0.5)


@pytest.mark.parametrize(
    ("support", "faults", "after", "marked"),
    [
        (0.9, [], 0.9, 0),
        (0.9, [WORD], 0.45, 1),
        (0.9, [WORD, SURE], 0.45, 2),  # together they halve it once
        (0.98, [WORD], 0.98, 0),
        (0.98, [SURE], 0.49, 1),
        (0.4, [WORD], 0.4, 1),  # it fails already
        (None, [SURE], None, 0),
        (0.9, [DOUBT, DOUBT], 0.65, 0),
        (0.6, [DOUBT], 0.6, 0),
        (0.4, [DOUBT], 0.4, 0),
    ],
)
def test_what_a_fault_does(
    support: float | None, faults: list[Fault], after: float | None, marked: int
) -> None:
    before = judged(support, Status.UNCHECKABLE)
    if support is not None:
        before = judged(support, THREE_STATES.status(support, 0.0))
    claim = lower_support(before, faults, CLAIM, THREE_STATES)
    assert (claim.support, len(claim.wrong)) == (after, marked)
    if after is not None:
        assert claim.status is THREE_STATES.status(after, 0.0)


def test_a_doubt_needs_a_state_between() -> None:
    claim = judged(0.9, Status.SUPPORTED)
    assert lower_support(claim, [DOUBT], CLAIM, Calibration()) == claim
