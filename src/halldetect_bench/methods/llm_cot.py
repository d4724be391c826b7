"""LLM CoT: the model reasons about the whole response, then says yes or no.

The verdict is a turn of its own that allows no other answer, so that a small model which
forgets the form still gives one. The score is 0 or 1.
"""

from __future__ import annotations

from halldetect.claims.extractors import prompt
from halldetect_bench.datasets.rows import Row
from halldetect_bench.methods.prompted import Asked, PromptedMethod, source_text, user
from halldetect_bench.methods.scored import Scored

REASON = (
    "Below are a source and a response that was written from it. Go through the response step "
    "by step: for each thing it says, name the place in the source that backs it, or say that "
    "there is none or that the source says otherwise. Keep it short.\n\n"
    "SOURCE\n{source}\n\nRESPONSE\n{response}"
)
VERDICT = "So, is every single thing in the response backed by the source? Answer yes or no."
REASON_TOKENS = 384


class LlmCot(PromptedMethod):
    name = "llm-cot"

    def prompts(self) -> tuple[str, ...]:
        return REASON, VERDICT, str(REASON_TOKENS)

    def judge(self, row: Row, asked: Asked) -> Scored:
        question = user(
            REASON.format(source=source_text(row), response=prompt.prepare(row.response))
        )
        reasons = asked.ask([question], REASON_TOKENS).text
        turns = [question, {"role": "assistant", "content": reasons}, user(VERDICT)]
        return Scored(0.0 if asked.backed(turns)[0] else 1.0)
