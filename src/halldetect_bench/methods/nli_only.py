"""NLI Only: one judgement, the whole response against the whole source, 1 - P(entailment).

What the verifier cannot read of the source is cut off, as in the paper; several documents are
read as one. A response too long for the verifier is not scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halldetect.claims.extraction import Claim
from halldetect.report import Probabilities
from halldetect.text.sentences import Span
from halldetect.windows.scales import Window
from halldetect_bench.datasets.rows import Row
from halldetect_bench.methods.pairwise import PairwiseMethod, whole
from halldetect_bench.methods.scored import Scored


class NliOnly(PairwiseMethod):
    name = "nli-only"
    truncate = True

    def parts(self, texts: tuple[str, ...]) -> tuple[Window, ...]:
        return whole(texts)

    def units(self, response: str) -> tuple[Claim, ...]:
        text = response.strip()
        return (Claim(text, Span(0, len(text))),) if text else ()

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        return max(item.entailment for item in probabilities)

    def hallucination(self, supports: Sequence[float]) -> float:
        return 1 - supports[0]

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        return super().score_many([_one_document(row) for row in rows])


def _one_document(row: Row) -> Row:
    return row if isinstance(row.source, str) else replace(row, source="\n\n".join(row.source))
