"""An Inspect scorer: `Task(..., scorer=grounded())`, or `--scorer halldetect/grounded`."""

from __future__ import annotations

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, faithfulness, metadata


@scorer(metrics=[accuracy(), stderr()])
def grounded(source: str = "source", detector: Detector | None = None) -> Scorer:
    """Score an output as correct if it is faithful to the source of its sample.

    An output that cannot be checked is recorded as unscored and left out of the metrics. `source`
    is the key of the source in the sample's metadata; without it, the target is the source.
    """
    checker = Checker(detector)

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        found = state.metadata.get(source) or list(target)
        report = await checker.check_async(found, answer, state.input_text)
        said, details = str(report), metadata(report)
        if faithfulness(report) is None:
            return Score.unscored(
                reason=report.verdict.value, answer=answer, explanation=said, metadata=details
            )
        value = CORRECT if report.ok else INCORRECT
        return Score(value=value, answer=answer, explanation=said, metadata=details)

    return score
