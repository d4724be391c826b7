"""Proposals for a failing sentence, each with the fact of the source that it repeats.

A fact is one sentence of the source, or one field of a record with its subject. Numbers, dates and
names of a proposal must come from one fact, and so must its words: "Children under 3 pay nine
euros" is not a correction by "Children under 3 travel free" and "Adults pay nine euros".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from halldetect.facts.phrases import shortened
from halldetect.facts.recogniser import Fact, WordUsage, find_facts
from halldetect.reading.document import Document
from halldetect.reading.overlap import WordIndex, content_keys, content_words
from halldetect.reading.references import readings
from halldetect.reading.sources import read_source
from halldetect.reading.words import words
from halldetect.repair.corrections import corrections
from halldetect.repair.outcome import Method
from halldetect.repair.revision import split_marks

# Sentences of the source used for corrections, and as evidence of a shorter sentence.
CLOSEST = 3
AROUND = 5
# In characters.
MAX_EVIDENCE = 2400
# A word that more sentences of the source have is about its topic, not about one fact.
MAX_SENTENCES = 3
# Words before a number that change its meaning; the first ones cannot be left out either.
_BOUNDS = frozenset("under over below above than least most until till before after".split())
_LIMITS = _BOUNDS | {"by", "to", "from"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new version of a sentence."""

    text: str  # with its list mark and citations
    evidence: str  # the text of the source that has to support it
    one_fact: bool  # True if no word in it comes from elsewhere in the source


class Proposals:
    """Proposes changes of sentences of a response, based on the sentences of its source."""

    def __init__(self, response: str, documents: Sequence[str]) -> None:
        self._usage = WordUsage([response, *documents])
        read = [read_source(text) for text in documents]
        self._index = WordIndex(read)
        self._places = [(item, at) for item in read for at in range(len(item.sentences))]
        self._spans = [(at, span) for at, item in enumerate(read) for span in item.sentences]
        self._sentences_with = Counter(
            key for item, at in self._places for key in content_keys(_text(item, at))
        )

    def of(self, step: Method, sentence: str) -> list[Proposal]:
        """Return the proposals of one step for a sentence, the most likely ones first."""
        mark, text, citations = split_marks(sentence)
        if step is Method.SHORTEN:
            around = self._around(text)
            found = [
                Proposal(item, around, self._repeats(item, around))
                for item in shortened(text, around)
            ]
        else:
            found = [
                Proposal(item, fact, self._repeats(item, fact))
                for fact in self._facts(text)
                for item in corrections(text, fact, self._usage)
            ]
        found.sort(key=lambda item: not item.one_fact)
        distinct = {item.text: item for item in reversed(found)}
        return [
            Proposal(mark + item.text + citations, item.evidence, item.one_fact)
            for item in reversed(distinct.values())
        ]

    def _ranked(self, sentence: str) -> list[int]:
        shares = self._index.shares(sentence, self._spans)
        return sorted(range(len(shares)), key=lambda at: -shares[at])

    def _around(self, sentence: str) -> str:
        """Return the sentences of the source closest to a sentence, in source order."""
        chosen: list[int] = []
        size = 0
        for at in self._ranked(sentence)[:AROUND]:
            size += len(_text(*self._places[at])) + 1
            if size > MAX_EVIDENCE and chosen:
                break
            chosen.append(at)
        return "\n".join(_text(*self._places[at]) for at in sorted(chosen))

    def _facts(self, sentence: str) -> Iterator[str]:
        """Yield the facts closest to a sentence, with pronouns resolved."""
        for place in self._ranked(sentence)[:CLOSEST]:
            document, at = self._places[place]
            text = _text(document, at)
            if document.readings and document.readings[at] and "; " in text:
                yield from _fields(text)
                continue
            reading = readings([_text(document, at - 1), text])[1] if at else None
            yield reading.text if reading is not None and reading.resolved else text

    def _repeats(self, statement: str, fact: str) -> bool:
        """Return True if the facts of a statement, and its words, come from one fact."""
        theirs = find_facts(fact, self._usage)
        norms = {word.norm for word in words(fact)}
        own = find_facts(statement, self._usage)
        for item in own:
            same = [other for other in theirs if other.key == item.key]
            if same and not any(_same_limit(statement, item, fact, other) for other in same):
                return False
            if not same and not {word.norm for word in words(item.text)} <= norms:
                return False
        known = content_keys(fact)
        return not any(
            word.key not in known
            and 0 < self._sentences_with[word.key] <= MAX_SENTENCES
            and not any(item.start <= word.start < item.end for item in own)
            for word in content_words(statement)
        )


def _text(document: Document, at: int) -> str:
    """Return a sentence or record of the source as the verifier reads it."""
    reading = document.readings[at] if document.readings else None
    return reading or document.sentences[at].cut(document.text)


def _fields(record: str) -> Iterator[str]:
    """Yield each field of a record with its subject: "Kettles: 2024 150"."""
    subject, colon, rest = record.partition(": ")
    first, *others = (rest if colon else record).split("; ")
    subject += colon
    if not colon or not any(map(str.isdigit, first)):  # the first field names the record
        subject = f"{subject}{first}; " if colon else f"{first}; "
        yield subject
    else:
        others.insert(0, first)
    yield from (f"{subject}{field}" for field in others)


def _same_limit(text: str, fact: Fact, source: str, other: Fact) -> bool:
    """Return True if no limit differs: "under twelve" is not "to twelve"."""
    before = [
        next((word.norm for word in reversed(words(part[max(start - 30, 0) : start]))), "")
        for part, start in ((text, fact.start), (source, other.start))
    ]
    limits = {norm for norm in before if norm in _LIMITS}
    return before[0] == before[1] or (len(limits) < 2 and not limits & _BOUNDS)
