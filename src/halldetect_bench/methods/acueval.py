"""ACUEval's way: the response split into content units in one go, each judged by the model
against the whole source; the share of units that are not backed."""

from __future__ import annotations

from halldetect.claims.extractors import prompt
from halldetect_bench.datasets.rows import Row
from halldetect_bench.methods.prompted import (
    JUDGE,
    Asked,
    PromptedMethod,
    share_unbacked,
    source_text,
)
from halldetect_bench.methods.scored import Scored

MAX_UNITS = 20


class AcuEval(PromptedMethod):
    name = "acueval"

    def prompts(self) -> tuple[str, ...]:
        return JUDGE, prompt.digest(), str(MAX_UNITS)

    def judge(self, row: Row, asked: Asked) -> Scored:
        source = source_text(row)
        (units,) = asked.claims([row.response], MAX_UNITS)
        backed = asked.judge([(source, unit) for unit in units])
        return share_unbacked(list(zip(units, backed, strict=True)))
