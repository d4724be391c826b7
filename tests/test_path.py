"""The shape of the path: one frozen value after each arrow, one question a phase for a block."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import MISSING, fields
from typing import Any

import pytest

from halldetect import Detector, Pair, Status, Verdict
from halldetect.faults.fault import Explained
from halldetect.inputs import CleanPair
from halldetect.protocols import Traits, with_defaults
from halldetect.reading.reader import Reading, Refused
from halldetect.report import Probabilities
from halldetect.scoring import Scored
from halldetect.verification.judged import Judged
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT

VALUES = (CleanPair, Reading, Judged, Scored, Explained)


@pytest.mark.parametrize("value", [*VALUES, Refused])
def test_values_are_small_and_frozen(value: Any) -> None:
    assert value.__dataclass_params__.frozen
    # A pair has its texts, and the names and metadata of its documents.
    assert len(fields(value)) <= (7 if value is CleanPair else 6)


@pytest.mark.parametrize("value", [Reading, Judged, Scored, Explained])
def test_no_later_step_fills_in_a_field(value: Any) -> None:
    assert all(
        item.default is MISSING and item.default_factory is MISSING for item in fields(value)
    )
    assert not any("None" in str(item.type) for item in fields(value))


@pytest.fixture(scope="module")
def printed() -> str:
    run = subprocess.run(
        [sys.executable, "-m", "halldetect.pipeline"], capture_output=True, text=True, check=True
    )
    assert not run.stderr
    return run.stdout


def test_the_built_in_example_is_printed_after_each_arrow(printed: str) -> None:
    blocks = printed.strip().split("\n\n")
    names = [block.partition("\n")[0] for block in blocks]
    assert names == [*(value.__name__ for value in VALUES), "Report"]
    reading, judged, scored, explained, report = blocks[1:]
    assert reading.count("\n  claims ") == judged.count("\n  answers ") == 3
    for before, block in zip(names[1:], (judged, scored, explained), strict=False):
        assert f" {before}\n" in f"{block}\n"
    assert scored.count("status=supported") == explained.count("status=supported") == 1
    assert "error=" not in scored
    assert f" {Verdict.HALLUCINATED}\n" in report


def test_the_design_page_shows_the_example(printed: str) -> None:
    page = (ROOT / "docs" / "design.md").read_text("utf-8")
    assert "python -m halldetect.pipeline" in page
    _, drawn, example, *_ = page.split("```text\n")
    places = [drawn.index(value.__name__) for value in VALUES]
    assert places == sorted(places)
    for line in example.partition("```")[0].splitlines():
        wanted = ".*".join(map(re.escape, line.split("...")))
        assert re.search(f"^{wanted}", printed, re.MULTILINE), line


class Counting(OverlapVerifier):
    """Takes any number of pairs in a call."""

    pairs_at_once = 100_000


class WholeCounting(Counting):
    """Reads whole sources, so a smaller verifier is asked for passages."""

    reads_whole_sources = True


def pairs(count: int) -> list[Pair]:
    """Return pairs with second readings, citations, disputes, faults and missing statements."""
    made = []
    for number in range(count):
        name, price = f"Ann{number}", 30 + number
        sources = [
            {
                "id": "Notice of 3 May 2021",
                "text": f"{name} Cole owns the red mill. A ticket of {name} costs {price} euros. "
                f"The mill of {name} opens at ten. Dogs of {name} stay outside.",
            },
            {
                "id": "Notice of 9 July 2023",
                "text": f"A ticket of {name} costs {price + 500} euros. Rain fell on {name}.",
            },
        ]
        response = (
            f"{name} Cole owns the red mill [2]. She wept in her green boat. "
            f"A ticket of {name} costs {price} euros [1]. Rain of {name} fell 77 times."
        )
        question = f"When does the mill of {name} open and what costs a ticket?"
        made.append(Pair(sources, response, question, missing=True))
    return made


@pytest.mark.parametrize("kind", [Counting, WholeCounting])
def test_a_block_is_asked_once_a_phase(
    kind: type[OverlapVerifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty responses need as many calls of the verifiers as one."""

    def calls(count: int) -> list[int]:
        judge, locator = kind(), Counting()
        monkeypatch.setattr("halldetect.models.verifiers.load_verifier", lambda *_, **__: locator)
        reports = Detector(judge).check_many(pairs(count))
        assert all(report.missing for report in reports)
        assert all(claim.citations for claim in reports[-1].claims[::2])
        assert {claim.status for claim in reports[0].claims} >= {Status.SUPPORTED}
        return [len(call) for call in (*judge.calls, *locator.calls)]

    one, many = calls(1), calls(60)
    assert len(many) == len(one) >= 4
    assert sum(many) >= 55 * sum(one)


class Plain:
    """What docs/extending.md asks of a verifier, and no more."""

    max_tokens = 100

    def __init__(self) -> None:
        self.description = {"name": "plain"}

    def count_tokens(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def judge(self, pairs: list[tuple[str, str]]) -> list[Probabilities]:
        return [Probabilities(1.0, 0.0, None) for _ in pairs]


class Declaring(Plain):
    """Declares one trait without deriving from anything."""

    reads_whole_sources = True


def test_traits_have_defaults() -> None:
    assert (Traits.pairs_at_once, Traits.reads_whole_sources) == (0, False)
    plain = with_defaults(Plain())
    assert (plain.pairs_at_once, plain.reads_whole_sources) == (0, False)
    assert plain.unknown_words("xyz") == []
    assert (plain.description, plain.max_tokens) == ({"name": "plain"}, 100)
    assert with_defaults(Declaring()).reads_whole_sources
    own = OverlapVerifier()
    assert with_defaults(own) is own
    assert Detector(Plain()).check("Rain fell.", "It rained a lot.").ok  # type: ignore[arg-type]


def test_nothing_looks_for_traits() -> None:
    traits = {"pairs_at_once", "reads_whole_sources", "unknown_words"}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names = {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
                assert node.func.id not in ("getattr", "hasattr") or not names & traits, path
