"""Compare the numbers of claims with those of the source.

A number is known if the source or the question has it, in any unit. An unknown number halves the
support of a claim, unless the source is prose and the verifier is sure of the claim, or the claim
speaks of a computation that gives the number. If the source has many numbers and the claim
computes or supposes something, several steps may lead there: the claim is then at most unclear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from halldetect.facts.computations import COMPARES, CUE, computed
from halldetect.facts.quantities import (
    Quantity,
    equal,
    fits,
    occurs,
    read_quantities,
    same_kind,
    unknown_numerals,
    words_of,
)
from halldetect.faults.fault import Fault
from halldetect.reading.answers import ANSWER_TO
from halldetect.reading.reader import Reading
from halldetect.reading.structured import read_records
from halldetect.report import ClaimReport, ErrorKind

# These are seldom facts: "one of the two", "3 reasons".
_TRIVIAL = (1.0, 2.0, 3.0)
_LABEL = re.compile(
    r"(?:(?:step|passage|line|section|chapter|page|figure|table|version|form|document|item|note)s?"
    r"|no\.?|rule|option|#|(?:child|boy|girl|person|adult|(?:some|any)(?:body|one)) of"
    r"|out of|[^\W\d_]-|24/)\s*$",  # "4 out of 5 stars", "COVID-19", "24/7"
    re.IGNORECASE,
)
# Neither is "open seven days a week".
_EVERY_DAY = re.compile(r"\w+ days a week\b|24/7\b", re.IGNORECASE)
# A yes asserts the numbers of its question, so the question does not vouch for them.
_AFFIRMED = re.compile(rf'{ANSWER_TO} ".*" is (?:yes|yep|yeah|correct|right|true)\b', re.IGNORECASE)
# Words of a claim about an assumed case, whose numbers the source need not have.
_ASSUMED = re.compile(
    r"\b(?:if|would|could|should|suppos\w+|assum\w+|you|your|had the|even|instead of)\b"
    r"|^(?:for|at|with|in|on|after|before) (?:an? |\d|(?:one|two|three|four|five|six|seven|eight"
    r"|nine|ten|half)\b)",
    re.IGNORECASE,
)
# A source with more different numbers allows more steps than are tried.
_MANY = 14
# Smaller numbers are often written as words, which are known in English only.
_WRITTEN_AS_WORD = 20.0
_COUNTABLE = frozenset(("count", "time", "times"))
_DATES = frozenset(("year", "month", "day", "day of year", "clock"))


class UnknownNumbers:
    """Finds numbers, dates and amounts that neither source nor question have, like with like.

    Never finds a number in another unit or notation, a label such as "step 3", the numbers one to
    three, or one that a claim may have computed from numbers that stand together.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading, self._source = reading, _Source(reading)

    def faults(self, claim: ClaimReport, at: int) -> Iterator[Fault]:
        """Yield the unknown numbers of a claim; those of a record need no verifier."""
        source = self._source
        compare = source.unknown if self._reading.is_english(at) else source.unknown_digits
        unknown = [] if claim.support is None else compare(claim)
        if not unknown:
            return
        sure = source.is_record
        supposes = CUE.search(claim.text) or _ASSUMED.search(claim.text)
        doubtful = source.has_many_numbers and supposes and not claim.failing
        for said in unknown:
            # Dates are often relative in prose: "next Friday".
            if claim.failing or said.kind not in _DATES or sure:
                kind = ErrorKind.DATE if said.kind in _DATES else ErrorKind.NUMBER
                yield Fault(kind, "" if doubtful else said.text, certain=sure)


class _Source:
    """The documents and the question of a response, read when a number needs it."""

    def __init__(self, reading: Reading) -> None:
        self._documents = reading.documents
        self._texts = [*(document.text for document in reading.documents), reading.question]

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset().union(*map(words_of, self._texts))

    @cached_property
    def _sentences(self) -> list[Sequence[Quantity]]:
        return [
            read_quantities(text)
            for document in self._documents
            for span in document.sentences
            if (text := document.readable(span))
        ]

    @cached_property
    def _compared(self) -> list[Quantity]:
        """What follows from the numbers of a sentence that compares them, and times between."""
        return [
            made
            for document in self._documents
            for text in map(document.readable, document.sentences)
            for made in computed(read_quantities(text))
            if made.kind == "time" or COMPARES.search(text)
        ]

    @cached_property
    def _computed(self) -> list[Quantity]:
        """What follows from the numbers of a sentence, or of lines that make a list or a table."""
        lists: list[list[Quantity]] = []
        for document in self._documents:
            end = 0
            for span in document.sentences:
                gap = document.text[end : span.start]
                if end == 0 or gap.count("\n") != 1:
                    lists.append([])
                lists[-1] += read_quantities(document.readable(span))
                end = span.end
        return [made for group in (*self._sentences, *lists) for made in computed(group)]

    @cached_property
    def is_record(self) -> bool:
        """True if every document is a record or table."""
        return all(read_records(document.text) is not None for document in self._documents)

    @cached_property
    def has_many_numbers(self) -> bool:
        """True if the source has too many numbers to try all steps between them."""
        return sum(word[0].isdigit() for word in self._words) > _MANY

    def unknown(self, report: ClaimReport) -> list[Quantity]:
        """Return the quantities of a claim that no text has, and that it does not compute."""
        known = self._words
        if _AFFIRMED.match(report.text):
            known = frozenset().union(*map(words_of, self._texts[:-1]))
        return [
            said
            for said in reversed(_facts(report.text))
            if not occurs(said, known)
            and not self._has_equal(said)
            and not self._may_compute(said, report.text)
        ]

    def unknown_digits(self, report: ClaimReport) -> list[Quantity]:
        """Return the unknown numbers of a claim in any language; words and units do not count."""
        least = 0.0 if report.failing else _WRITTEN_AS_WORD
        found = unknown_numerals(report.text, self._texts, least)
        return [Quantity("count", 0.0, 0.0, "", "", 0, 0, number) for number in found]

    def _has_equal(self, said: Quantity) -> bool:
        """Return True if the source has an equal quantity."""
        # "Under twelve" is not the same as "ten bicycles".
        counts = said.kind == "count" and said.bound in ("over", "under")
        return any(
            equal(said, known) and (not counts or (said.noun != "" and said.noun == known.noun))
            for some in self._sentences
            for known in some
        )

    def _may_compute(self, said: Quantity, claim: str) -> bool:
        """Return True if a claim may have computed a quantity from numbers that stand together."""
        return any(
            same_kind(said, made) and fits(said, made.value, exact=said.bound in ("over", "under"))
            for made in (self._computed if CUE.search(claim) else self._compared)
        )


def _facts(claim: str) -> list[Quantity]:
    """Return the quantities of a claim that can be wrong, one for each place, the last first."""
    found = {quantity.start: quantity for quantity in reversed(read_quantities(claim))}
    return [
        quantity
        for _, quantity in sorted(found.items(), reverse=True)
        if not (quantity.kind in _COUNTABLE and quantity.value / quantity.factor in _TRIVIAL)
        and quantity.text.lower() not in ("half", "a half", "zero")
        and not _LABEL.search(claim[: quantity.start])
        and not _EVERY_DAY.match(claim, quantity.start)
        and not claim.startswith(("-old", " old"), quantity.end)  # an age is often an example
    ]
