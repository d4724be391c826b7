"""Bespoke-MiniCheck-7B on the language model of a run, which must be a copy of that model.

Its publisher's chat has a fixed system text, and its answer is the probability of "yes" as the
first word. A copy for llama.cpp is given as `--llm FILE.gguf`; the hub has it as
`bespokelabs/Bespoke-MiniCheck-7B`, with code of its own that is not run here.
"""

from __future__ import annotations

from collections.abc import Sequence

from halldetect.reading.sentences import sentences
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents
from halldetect_bench.methods.pairwise import NO_SENTENCE
from halldetect_bench.methods.prompted import Asking, PromptedMethod
from halldetect_bench.models.llm import Question, Reply


class BespokeMiniCheck(PromptedMethod):
    """Bespoke-MiniCheck-7B: each sentence against the whole source; the worst one decides.

    Its authors cut a source only after 32,468 tokens; here a longer one, or one longer than
    `--context`, is not scored. A model without token probabilities gives 0 or 1.
    """

    name = "bespoke-minicheck-7b"
    # The words that the model was trained on.
    SYSTEM = (
        "Determine whether the provided claim is consistent with the corresponding document. "
        "Consistency in this context implies that all information presented in the claim is "
        "substantiated by the document. If not, it should be considered inconsistent. Please "
        "assess the claim's consistency with the document by responding with either "
        '"Yes" or "No".'
    )
    USER = "Document: {source}\nClaim: {claim}"

    def prompts(self) -> tuple[str, ...]:
        return self.SYSTEM, self.USER

    def score_row(self, row: Row) -> Asking[Scored]:
        claims = [span.cut(row.response) for span in sentences(row.response)]
        if not claims:
            return Scored(None, NO_SENTENCE)
        source = "\n\n".join(documents(row))
        replies = yield [
            Question(
                [
                    {"role": "system", "content": self.SYSTEM},
                    {"role": "user", "content": self.USER.format(source=source, claim=claim)},
                ],
                max_tokens=1,
                first_tokens=True,
            )
            for claim in claims
        ]
        scores = [1 - support for support in map(_support, replies)]
        return Scored(max(scores), None, tuple(zip(claims, scores, strict=True)))


def _support(reply: Reply) -> float:
    """Return the probability of "yes" in any case, among the likely first tokens."""
    first: Sequence[tuple[str, float]] = reply.first or ((reply.text, 1.0),)
    return min(1.0, sum(share for token, share in first if token.strip().lower() == "yes"))
