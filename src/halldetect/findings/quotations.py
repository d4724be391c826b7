"""Compare text in quotation marks with the source, word for word.

Typography, letter case, brackets and ellipses are allowed for. A quotation can be verbatim,
changed, stitched together from several places, said by somebody else, from another document than
the cited one, or not in the source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from halldetect.reading.document import Span
from halldetect.reading.words import FUNCTION_WORDS, normalize
from halldetect.report import QuotationReport, QuotationState

# Fewer words are a title or a term.
MIN_WORDS = 4
# A quotation with this share of its words in one place of the source was changed there.
_MIN_SAME = 0.6
# Words between two parts of a quotation with an ellipsis.
_MOST_OMITTED = 150
_QUOTED = re.compile(r"“([^“”]+)”|«([^«»]+)»|„([^„“”]+)[“”]|(?<![\w\"])\"([^\"\n]+)\"(?!\w)")
# Where words were left out or put in.
_OMISSION = re.compile(r"\[[^\]]*\]|…|\.\s?\.\s?\.")
_WORD = re.compile(r"\w+")
_NAME = r"(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,3}"
_SAYS = (
    r"(?:said|says|say|told|tells|added|adds|wrote|writes|stated|states|argued|argues|explained"
    r"|explains|replied|replies|asked|asks|noted|notes|called|warned|claimed|insisted|answered|held)"
)
_SPEAKER = re.compile(
    rf"(?P<before>{_NAME})(?:,[^,.;]{{1,60}},)? (?:has |also |had )?{_SAYS}\b"
    rf"|\b{_SAYS} (?P<after>{_NAME})|[Aa]ccording to (?P<by>{_NAME})"
    rf"|\b[Ii]n (?P<own>{_NAME})['’]s? words"
    rf"|^\W*(?P<turn>{_NAME})(?: \([^)]*\))?:(?=\s)",
    re.MULTILINE,
)


def has_quotation(text: str) -> bool:
    """Return True if a text has quotation marks around some words."""
    return _QUOTED.search(text) is not None


class QuotedSource:
    """The documents of a source as words, with their places."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._words = [list(_WORD.finditer(text)) for text in self._texts]
        self._norms = [[normalize(word[0]) for word in found] for found in self._words]
        self._packed = ["".join(norms) for norms in self._norms]

    def quotations(
        self, claim: str, cited: Sequence[int | None] = (), question: str = ""
    ) -> list[QuotationReport]:
        """Return the quotations of a claim that are not part of the question.

        `cited` has the documents that the claim cites.
        """
        asked = "".join(_spoken(question))
        return [
            self._compare(next(filter(None, found.groups())), claim, found.span(), cited)
            for found in _QUOTED.finditer(claim)
            if len(_WORD.findall(found[0])) >= MIN_WORDS
            and not _is_title(found[0], claim)
            and not (asked and "".join(_spoken(found[0])) in asked)
        ]

    def _compare(
        self, quoted: str, claim: str, at: tuple[int, int], cited: Sequence[int | None]
    ) -> QuotationReport:
        parts = [spoken for part in _OMISSION.split(quoted) if (spoken := _spoken(part))]
        places = [self._find(part) for part in parts]
        if not all(places) or not places:
            return self._inexact(quoted)
        for document, start in places[0]:
            if self._in_order(document, start, places):
                words = self._words[document]
                place = Span(words[start].start(), words[start + len(parts[0]) - 1].end())
                state = self._attribution(claim, at, document, place, cited)
                shown = place.cut(self._texts[document])
                return QuotationReport(state, quoted, shown, document)
        return QuotationReport(QuotationState.STITCHED, quoted)

    def _in_order(self, document: int, start: int, places: list[list[tuple[int, int]]]) -> bool:
        at = start
        for options in places[1:]:
            after = [p for d, p in options if d == document and at < p <= at + _MOST_OMITTED]
            if not after:
                return False
            at = min(after)
        return True

    def _find(self, part: list[str]) -> list[tuple[int, int]]:
        """Return the document and the first word of each place with some words."""
        return [
            (document, start)
            for document, norms in enumerate(self._norms)
            for start, norm in enumerate(norms)
            if norm == part[0] and norms[start : start + len(part)] == part
        ]

    def _inexact(self, quoted: str) -> QuotationReport:
        """Return the words that were changed, or the state of a quotation of several places."""
        spoken = _spoken(quoted)
        for document, packed in enumerate(self._packed):
            if "".join(spoken) in packed:  # "any more" for "anymore"
                return QuotationReport(QuotationState.VERBATIM, quoted, quoted, document)
        halves = [spoken[:at] for at in range(MIN_WORDS - 1, len(spoken) - MIN_WORDS + 2)]
        if any(self._find(half) and self._find(spoken[len(half) :]) for half in halves):
            return QuotationReport(QuotationState.STITCHED, quoted)
        best: tuple[int, int, int, int] = (0, 0, 0, 0)
        for document, norms in enumerate(self._norms):
            matcher = SequenceMatcher(None, norms, spoken, autojunk=False)
            for block in matcher.get_matching_blocks():
                start = max(0, block.a - block.b)
                window = norms[start : start + len(spoken)]
                same = SequenceMatcher(None, window, spoken, autojunk=False).get_matching_blocks()
                best = max(best, (sum(one.size for one in same), -document, -start, len(window)))
        count, document, start, length = best[0], -best[1], -best[2], best[3]
        if count >= _MIN_SAME * len(spoken):
            words = self._words[document][start : start + length]
            text = self._texts[document][words[0].start() : words[-1].end()]
            return QuotationReport(QuotationState.CHANGED, quoted, text, document)
        return QuotationReport(QuotationState.NOT_FOUND, quoted)

    def _attribution(
        self,
        claim: str,
        at: tuple[int, int],
        document: int,
        place: Span,
        cited: Sequence[int | None],
    ) -> QuotationState:
        said = _speakers(claim[: at[0]] + " " * (at[1] - at[0]) + claim[at[1] :])
        text = self._texts[document]
        real = _speakers(_around(text, place))
        if (
            said
            and real
            and not any(
                one <= other or other <= one
                for one in map(_keys, said)
                for other in map(_keys, real)
            )
        ):
            return QuotationState.OTHER_SPEAKER
        if cited and document not in cited:
            return QuotationState.OTHER_DOCUMENT
        return QuotationState.VERBATIM


def _is_title(quoted: str, claim: str) -> bool:
    """Return True for a title, or for a claim that is in quotation marks as a whole."""
    content = [word for word in _WORD.findall(quoted) if word.lower() not in FUNCTION_WORDS]
    capital = sum(word[0].isupper() or word[0].isdigit() for word in content)
    return capital > 0.7 * len(content) or len(quoted) >= len(claim) - 3


def changed_words(quotation: QuotationReport) -> str:
    """Return the words of a changed quotation that the source has otherwise."""
    ours, theirs = _WORD.findall(quotation.text), _WORD.findall(quotation.source_words)
    codes = SequenceMatcher(
        None, [*map(normalize, theirs)], [*map(normalize, ours)], autojunk=False
    ).get_opcodes()
    changed = [" ".join(ours[b1:b2]) for tag, _, _, b1, b2 in codes if tag != "equal" and b2 > b1]
    return changed[0] if changed else quotation.text


def _spoken(text: str) -> list[str]:
    return [normalize(word) for word in _WORD.findall(text)]


def _around(text: str, place: Span) -> str:
    """Return the line or paragraph of a quotation, without what others say in it."""
    start = text.rfind("\n", 0, place.start) + 1
    end = text.find("\n", place.end)
    line = text[start : len(text) if end < 0 else end]
    if _SPEAKER.match(line) and line[: line.find(":") + 1].strip():
        return line
    left = max((text.rfind(mark, start, place.start) for mark in (". ", "! ", "? ")), default=-1)
    right = re.compile(r"[.!?][”\"»]?\s+[^a-z]").search(text, place.end)
    return text[left + 1 if left >= 0 else start : right.end() if right else len(text)]


def _speakers(text: str) -> list[str]:
    return [next(filter(None, found.groups())) for found in _SPEAKER.finditer(text)]


def _keys(name: str) -> frozenset[str]:
    words = (word.lower() for word in re.findall(r"[\w-]+", name))
    return frozenset(word for word in words if word not in FUNCTION_WORDS and len(word) > 2)
