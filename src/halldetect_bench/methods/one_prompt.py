"""`one-prompt`: the large verifier answers all sentences of a response in one prompt.

The prompt has the source, then every sentence with its question: a single long-context call of a
fine-tuned model. The detector instead reads each claim separately after the source. Answers are not
written back into the prompt, so that one pass gives all of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from halldetect.large.verifier import Group, LargeVerifier
from halldetect.reading.sentences import sentences
from halldetect.report import Cost, Probabilities
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents

NO_SENTENCE = "the response has no sentence to judge"


class OnePrompt:
    """One call per response; the score is 1 - the least P(entailment) of its sentences."""

    name = "one-prompt"

    def __init__(self, verifier: LargeVerifier) -> None:
        self.verifier = verifier

    @property
    def description(self) -> dict[str, Any]:
        """Return the method's name and the verifier's description."""
        return {"name": self.name, "verifier": self.verifier.description}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Answer the prompts of all rows together."""
        start = time.perf_counter()
        units = [[span.cut(row.response) for span in sentences(row.response)] for row in rows]
        sources = ["\n\n".join(documents(row)) for row in rows]
        found = self._answers(sources, units)
        seconds = (time.perf_counter() - start) / max(1, len(rows))
        return [_scored(*item, seconds) for item in zip(units, found, strict=True)]

    def _answers(
        self, sources: Sequence[str], units: Sequence[Sequence[str]]
    ) -> list[tuple[list[Probabilities], int] | None]:
        """Return the probabilities of each response's sentences and the tokens of its prompt."""
        verifier = self.verifier
        passages = verifier.prompt.passages(sources)
        groups: dict[int, Group] = {}
        for at, (passage, texts) in enumerate(zip(passages, units, strict=True)):
            # An answer depends only on the text before it. So the prompt up to each question
            # gives the same answer as one pass over the whole prompt.
            claims = tuple(accumulate(verifier.prompt.claims(texts), lambda one, two: one + two))
            if claims and len(passage) + len(claims[-1]) <= verifier.context:
                groups[at] = Group(passage, claims)
        logits = dict(zip(groups, verifier.backend.answer(list(groups.values())), strict=True))
        return [
            (
                verifier.probabilities(logits[at]),
                len(groups[at].passage) + len(groups[at].claims[-1]),
            )
            if at in groups
            else None
            for at in range(len(sources))
        ]


def _scored(
    units: Sequence[str], answer: tuple[list[Probabilities], int] | None, seconds: float
) -> Scored:
    if not units:
        return Scored(None, NO_SENTENCE)
    if answer is None:
        return Scored(None, "the prompt does not fit into the model's context")
    probabilities, tokens = answer
    cost = Cost(pairs_judged=len(units), verifier_tokens=tokens, seconds={"verify": seconds})
    scores = [1 - item.entailment for item in probabilities]
    return Scored(max(scores), None, tuple(zip(units, scores, strict=True)), cost)
