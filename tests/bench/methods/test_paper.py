"""The paper's method in the evaluation: its settings, and claims that are asked for in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from halldetect import Detector
from halldetect.config import Configuration
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.halldetect_method import HallDetect, LlmExtractor
from halldetect_bench.models.llm import Question, Reply, TooLong
from halldetect_bench.models.selection import RunModels, RunOptions
from halldetect_bench.registry import METHODS
from tests.support.fakes import OverlapVerifier

ROWS = [
    Row("d", "1", "Ann won the race. Bob lost.", "Ann won the race. Bob lost.", False),
    Row("d", "2", "Ann won the race. Bob lost.", "Eve sold 7 boats.", True),
]


class Copying:
    """Copies the text it is given, and counts how it was asked."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "copying"}

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        self.batches.append(len(questions))
        texts = [question.messages[-1]["content"] for question in questions]
        copies = [text.partition("<text>\n")[2].partition("\n</text>")[0] for text in texts]
        return [Reply(copy, len(copy), len(copy), finished=True) for copy in copies]


def test_claims_of_all_rows_are_requested_together() -> None:
    llm = Copying()
    detector = Detector.paper(LlmExtractor(llm), OverlapVerifier())
    good, bad = HallDetect(detector, "paper").score_many(ROWS)
    assert llm.batches == [2]
    assert [text for text, _ in good.claims] == ["Ann won the race", "Bob lost"]
    assert good.score is not None
    assert bad.score is not None
    assert good.score < 0.5 <= bad.score
    assert good.cost.generative_passes == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RunOptions(), Configuration.for_paper()),
        (
            RunOptions(Configuration(verifier="base", seed=7), extractor="sentences"),
            Configuration.for_paper(verifier="base", seed=7, extractor="sentences"),
        ),
    ],
)
def test_a_run_has_the_settings_of_the_paper(options: RunOptions, expected: Configuration) -> None:
    method = METHODS["paper"].build(RunModels(options))
    assert isinstance(method, HallDetect)
    assert (method.name, method.detector.configuration) == ("paper", expected)
