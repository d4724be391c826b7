"""Sentences of a source as responses: a word-for-word copy must never be flagged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halldetect.inputs import Source, split_documents
from halldetect.reading.assertions import is_sentence
from halldetect.reading.sentences import sentences

DRESSINGS = {
    "plain": "{}",
    "bullet": "- {}",
    "citation": "{} [1]",
    "opener": "According to the document, {}",
}
# A sentence of prose: no question, row of a table or field of a record.
_PROSE = re.compile(r'\w[^|{}"]+\w\.')


def copies(source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield a name, the dressing and the response for each sentence of prose in each dressing."""
    for number, text in enumerate(map(str, split_documents(source)[0])):
        for span in sentences(text):
            copy = span.cut(text)
            if _PROSE.fullmatch(copy) and is_sentence(copy):
                for name, dressing in DRESSINGS.items():
                    yield f"{number}-{span.start} {name}", name, dressing.format(copy)
