"""Quotations that the source does not have word for word.

Typography, letter case, brackets and ellipses are allowed for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import product

from halldetect.faults.fault import Fault
from halldetect.reading.document import Span
from halldetect.reading.reader import Reading
from halldetect.reading.words import FUNCTION_WORDS, MARKS, count_words, normalize
from halldetect.report import ClaimReport, ErrorKind, QuotationReport, QuotationState

# Fewer words are a title or a term.
_MIN_WORDS = 4
# A quotation is a changed one from this similarity to a place of the source on.
_MIN_SAME = 0.6
# The place may have this many words more or fewer.
_MOVED = 2
# Words between two parts of a quotation with an ellipsis.
_MOST_OMITTED = 150
# A changed quotation is looked for by its first words, at the places with most of them.
_MOST_COMPARED, _LIKELIEST = 60, 5
# More places of the same words are not looked at, and more of the same word have no vote.
_MOST_PLACES, _MOST_VOTES = 50, 3
_QUOTED = re.compile(
    r"“([^“”]+)”|«([^«»]+)»|»([^«»]+)«|„([^„“”]+)[“”]|「([^「」]+)」|『([^『』]+)』|(?<![\w\"])\"([^\"\n]+)\"(?!\w)"
)
# Where words were left out or put in.
_OMISSION = re.compile(r"\[[^\[\]]*+\]|…|\.\s?\.\s?\.")
_WORD = re.compile(rf"[\w{MARKS}]+")
_SENTENCE_END = re.compile(r"[.!?][”\"»]?\s+(?=[^a-z])")
_NAME = r"(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,3}"
_SAYS = (
    r"(?:sa(?:id|ys?)|t[eo]ll?[ds]?|wrote|writes|held|repl(?:ied|ies)"
    r"|(?:add|stat|argu|explain|ask|not|call|warn|claim|insist|answer)e?[ds])"
)
_SPEAKER = re.compile(
    rf"(?P<before>{_NAME})(?:,[^,.;]{{1,60}},)? (?:has |also |had )?{_SAYS}\b"
    rf"|\b{_SAYS} (?P<after>{_NAME})|[Aa]ccording to (?P<by>{_NAME})"
    rf"|\b[Ii]n (?P<own>{_NAME})['’]s? words"
    rf"|^\W*(?P<turn>{_NAME})(?: \([^)]*\))?:(?=\s)",
    re.MULTILINE,
)


_FINE = (QuotationState.VERBATIM, QuotationState.OTHER_DOCUMENT)


class WrongQuotations:
    """Finds quotations that the source changes, lacks or gives to another speaker.

    Never finds a title, a quotation of the question, or one from a document that is not cited.
    Only another speaker is certain.
    """

    def __init__(self, reading: Reading) -> None:
        """Take nothing: the quotations of a claim are already compared with the source."""

    def faults(self, claim: ClaimReport, at: int) -> Iterator[Fault]:
        """Yield the changed words of each wrong quotation."""
        certain = any(one.state is QuotationState.OTHER_SPEAKER for one in claim.quotations)
        for one in claim.quotations:
            if one.state not in _FINE:
                words = changed_words(one)
                yield Fault(ErrorKind.QUOTATION, words, instead=one.source_words, certain=certain)


class VerbatimSource:
    """The documents of a source, searched word for word."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    @cached_property
    def _words(self) -> list[list[re.Match[str]]]:
        return [list(_WORD.finditer(text)) for text in self._texts]

    @cached_property
    def _norms(self) -> list[list[str]]:
        return [[normalize(word[0]) for word in found] for found in self._words]

    @cached_property
    def _spaced(self) -> list[str]:
        """The words of each document, each with a space before and after it."""
        return [f" {' '.join(norms)} " for norms in self._norms]

    @cached_property
    def _unspaced(self) -> list[str]:
        return ["".join(norms) for norms in self._norms]

    def quotations(
        self, claim: str, cited: Sequence[int | None] = (), question: str = ""
    ) -> list[QuotationReport]:
        """Return the quotations of a claim that are not part of the question.

        `cited` has the documents that the claim cites.
        """
        return [
            self._compare(next(filter(None, found.groups())), claim, found, cited)
            for found in _QUOTED.finditer(claim)
            if count_words(" ".join(spoken := _spoken(found[0]))) >= _MIN_WORDS
            and not _is_title(found[0], claim)
            and "".join(spoken) not in "".join(_spoken(question))
        ]

    def _compare(
        self, quoted: str, claim: str, at: re.Match[str], cited: Sequence[int | None]
    ) -> QuotationReport:
        parts = [spoken for part in _OMISSION.split(quoted) if (spoken := _spoken(part))]
        places = [self._find(part) for part in parts]
        if not places or not all(places):
            return self._inexact(quoted)
        for document, start in places[0]:
            if _in_order(document, start, places):
                shown = self._cut(document, start, len(parts[0]))
                said = _speakers(claim[: at.start()] + " " + claim[at.end() :])
                real = _speakers(_around(self._texts[document], shown))
                state = QuotationState.VERBATIM
                if said and real and not any(a <= b or b <= a for a in said for b in real):
                    state = QuotationState.OTHER_SPEAKER
                elif cited and document not in cited:
                    state = QuotationState.OTHER_DOCUMENT
                return QuotationReport(state, quoted, shown.cut(self._texts[document]), document)
        return QuotationReport(QuotationState.STITCHED, quoted)

    def _cut(self, document: int, start: int, length: int) -> Span:
        words = self._words[document][start : start + length]
        return Span(words[0].start(), words[-1].end())

    def _find(self, part: list[str]) -> list[tuple[int, int]]:
        """Return the document and the first word of each place with some words."""
        wanted = f" {' '.join(part)} "
        places: list[tuple[int, int]] = []
        for document, text in enumerate(self._spaced):
            at = text.find(wanted)
            while at >= 0 and len(places) < _MOST_PLACES:
                places.append((document, text.count(" ", 0, at)))
                at = text.find(wanted, at + 1)
        return places

    def _inexact(self, quoted: str) -> QuotationReport:
        """Return the words that were changed, or the state of a quotation of several places."""
        spoken = _spoken(quoted)
        for document, text in enumerate(self._unspaced):
            if "".join(spoken) in text:  # a script without spaces
                return QuotationReport(QuotationState.VERBATIM, quoted, quoted, document)
        del spoken[_MOST_COMPARED:]
        halves = [spoken[:at] for at in range(_MIN_WORDS - 1, len(spoken) - _MIN_WORDS + 2)]
        if any(self._find(half) and self._find(spoken[len(half) :]) for half in halves):
            return QuotationReport(QuotationState.STITCHED, quoted)
        best = (0.0, 0, 0, 0)
        for (document, start), more in product(self._likeliest(spoken), range(-_MOVED, _MOVED + 1)):
            window = self._norms[document][start : max(start, start + len(spoken) + more)]
            same = SequenceMatcher(None, window, spoken, autojunk=False).ratio()
            best = max(best, (same, -document, -start, len(window)))
        same, document, start, length = best
        if same >= _MIN_SAME:
            text = self._cut(-document, -start, length).cut(self._texts[-document])
            return QuotationReport(QuotationState.CHANGED, quoted, text, -document)
        return QuotationReport(QuotationState.NOT_FOUND, quoted)

    def _likeliest(self, spoken: list[str]) -> list[tuple[int, int]]:
        """Return the document and the first word of the places that share most words in place."""
        places: dict[str, list[int]] = {}
        for at, word in enumerate(spoken):
            places.setdefault(word, []).append(at)
        votes = Counter(
            (document, max(0, start - at))
            for document, norms in enumerate(self._norms)
            for start, norm in enumerate(norms)
            for at in places.get(norm, ())[:_MOST_VOTES]
        )
        return [place for place, _ in votes.most_common(_LIKELIEST)]


def changed_words(quotation: QuotationReport) -> str:
    """Return the first words of a quotation that the source has otherwise, or all of them."""
    ours = _WORD.findall(quotation.text)
    theirs, said = (
        _spoken(text)[:_MOST_COMPARED] for text in (quotation.source_words, quotation.text)
    )
    matcher = SequenceMatcher(None, theirs, said, autojunk=False)
    changed = [
        " ".join(ours[start:end])
        for tag, _, _, start, end in matcher.get_opcodes()
        if tag != "equal" and end > start
    ]
    return changed[0] if changed and quotation.source_words else quotation.text


def _in_order(document: int, start: int, places: list[list[tuple[int, int]]]) -> bool:
    for options in places[1:]:
        after = [at for of, at in options if of == document and 0 < at - start <= _MOST_OMITTED]
        if not after:
            return False
        start = min(after)
    return True


def _is_title(quoted: str, claim: str) -> bool:
    """Return True for a title, or for a claim that is in quotation marks as a whole."""
    content = [word for word in _WORD.findall(quoted) if word.lower() not in FUNCTION_WORDS]
    capital = sum(word[0].isupper() or word[0].isdigit() for word in content)
    return capital > 0.7 * len(content) or len(quoted) >= len(claim) - 3


def _spoken(text: str) -> list[str]:
    return [normalize(word) for word in _WORD.findall(text)]


def _around(text: str, place: Span) -> str:
    """Return the turn or the sentence that a quotation is in."""
    start = text.rfind("\n", 0, place.start) + 1
    line = text[start:].partition("\n")[0]
    if (turn := _SPEAKER.match(line)) and turn["turn"]:
        return line
    ends = [found.end() for found in _SENTENCE_END.finditer(text, start, place.start)]
    right = _SENTENCE_END.search(text, place.end)
    return text[ends[-1] if ends else start : right.end() if right else len(text)]


def _speakers(text: str) -> list[frozenset[str]]:
    """Return the words of each name of a speaker."""
    names = (next(filter(None, found.groups())) for found in _SPEAKER.finditer(text))
    return [
        frozenset(word for word in spoken if word not in FUNCTION_WORDS and len(word) > 2)
        for spoken in (re.findall(r"[\w-]+", name.lower()) for name in names)
    ]
