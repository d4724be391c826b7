"""A LangSmith evaluator: `evaluate(target, data=..., evaluators=[grounded()])`.

It is a plain function of dictionaries: nothing of LangSmith is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness


def grounded(
    *,
    context: str = "context",
    answer: str = "answer",
    question: str = "question",
    key: str = "groundedness",
    detector: Detector | None = None,
) -> Callable[..., dict[str, Any]]:
    """Return an evaluator of the faithfulness of the answer in `outputs` to its context.

    An answer that could not be checked has no score and the value "uncheckable". `context`,
    `answer` and `question` are keys of the outputs (for the source, or else of the inputs) and
    inputs; `key` is the name of the feedback.
    """
    checker = Checker(detector)

    def evaluate(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
        source = outputs.get(context) or inputs.get(context)
        report = checker.check(source, outputs.get(answer), inputs.get(question))
        score, verdict = faithfulness(report), report.verdict.value
        return {"key": key, "score": score, "value": verdict, "comment": str(report)}

    return evaluate
