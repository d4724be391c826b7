"""One long-context call: source and all sentences of the response at once, a yes or no each.

The score is 0 if every sentence is backed, else from a half up to 1 by the share that is not:
at the threshold of a half a response is flagged as soon as one sentence is.
"""

from __future__ import annotations

import json

from halldetect.claims.extractors import prompt
from halldetect_bench.datasets.rows import Row
from halldetect_bench.methods.prompted import (
    YES_NO,
    Asked,
    PromptedMethod,
    source_text,
    user,
)
from halldetect_bench.methods.scored import Scored

QUESTION = (
    "Below are a source and numbered statements. For each statement say whether everything in "
    "it is backed by the source. Answer with a JSON object that gives yes or no for each "
    "number.\n\nSOURCE\n{source}\n\nSTATEMENTS\n{statements}"
)
_TOKENS_EACH = 12


class LongContext(PromptedMethod):
    name = "long-context"

    def prompts(self) -> tuple[str, ...]:
        return (QUESTION,)

    def judge(self, row: Row, asked: Asked) -> Scored:
        lines = prompt.prepare(row.response).splitlines()
        numbered = "\n".join(f"{at}. {line}" for at, line in enumerate(lines, start=1))
        numbers = [str(at) for at in range(1, len(lines) + 1)]
        schema = {
            "type": "object",
            "properties": dict.fromkeys(numbers, YES_NO),
            "required": numbers,
            "additionalProperties": False,
        }
        question = QUESTION.format(source=source_text(row), statements=numbered)
        reply = asked.ask([user(question)], _TOKENS_EACH * len(lines) + 16, schema=schema)
        try:
            answers = json.loads(reply.text)
            backed = [answers[number] == "yes" for number in numbers]
        except (ValueError, TypeError, KeyError):
            return Scored(None, "the model's answer does not have a yes or no for each sentence")
        wrong = backed.count(False)
        told = tuple((line, 0.0 if good else 1.0) for line, good in zip(lines, backed, strict=True))
        return Scored(0.5 + wrong / len(lines) / 2 if wrong else 0.0, None, told)
