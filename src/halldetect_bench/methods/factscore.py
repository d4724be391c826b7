"""FActScore's way: each sentence split into facts, each fact judged by the model against the
passages that go best with it; the share of facts that are not backed.

The original looks passages up in an encyclopedia. Here the row's own source is the only place
to look, and passages are chosen by the words they share with the fact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect.claims.extraction import CLAIMS_PER_SENTENCE
from halldetect.claims.extractors import prompt
from halldetect_bench.datasets.rows import Row
from halldetect_bench.methods.prompted import JUDGE, Asked, PromptedMethod, share_unbacked
from halldetect_bench.methods.scored import Scored, documents, has_words

PASSAGES = 5
PASSAGE_WORDS = 80
_WORD = re.compile(r"\w+")


class FactScore(PromptedMethod):
    name = "factscore"

    def prompts(self) -> tuple[str, ...]:
        return JUDGE, prompt.digest(), f"{PASSAGES} of {PASSAGE_WORDS}"

    def judge(self, row: Row, asked: Asked) -> Scored:
        offered = [text for document in documents(row) for text in passages(document)]
        lines = [line for line in prompt.prepare(row.response).splitlines() if has_words(line)]
        facts = [fact for found in asked.claims(lines, CLAIMS_PER_SENTENCE) for fact in found]
        backed = asked.judge([("\n\n".join(nearest(fact, offered)), fact) for fact in facts])
        return share_unbacked(list(zip(facts, backed, strict=True)))


def passages(document: str) -> list[str]:
    """Runs of whole sentences of about so many words."""
    found: list[str] = []
    size = PASSAGE_WORDS
    for line in prompt.prepare(document).splitlines():
        count = len(line.split())
        if size + count > PASSAGE_WORDS:
            found.append(line)
            size = count
        else:
            found[-1] += f"\n{line}"
            size += count
    return found


def nearest(fact: str, offered: Sequence[str]) -> list[str]:
    """The passages with the most of the fact's words, in the order of the source."""
    words = _words(fact)
    best = sorted(range(len(offered)), key=lambda at: (-len(words & _words(offered[at])), at))
    return [offered[at] for at in sorted(best[:PASSAGES])]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
