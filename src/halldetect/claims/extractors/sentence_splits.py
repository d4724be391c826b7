"""The ways a sentence can be split: its pieces, and which of them make a claim.

A claim is some pieces of the sentence in order, word for word. Only claims that pass the guard are
listed, so that no choice among them says what the sentence does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from halldetect.claims.extractors.grammar import Grammar
from halldetect.claims.guard.matching import Passage
from halldetect.claims.guard.omissions import Omissions
from halldetect.text.document import Span
from halldetect.text.words import (
    ADJUNCTS_AFTER,
    AUXILIARIES,
    COORDINATORS,
    PREPOSITIONS,
    RELATIVES,
    Word,
    is_finite_verb,
)

# Longer sentences stay whole: they are mostly lists, and have too many choices to go through.
MAX_WORDS = 80
MAX_PIECES = 24
MAX_CLAIMS = 400
_MAX_TRIED = 2000
_MAX_LISTED_WORDS = 6
_DANGLING = re.compile(r"^[\s,;:—–)\]]+|[\s,;:—–(\[]+$")


@dataclass(frozen=True, slots=True)
class SentenceSplit:
    """A sentence, its pieces from left to right, and every choice of them that is a claim.

    Between two pieces there may be glue: punctuation, "and", "who". It belongs to a claim that
    has the pieces on both its sides. The sentence as a whole is always the last of `claims`.
    """

    sentence: str
    pieces: tuple[Span, ...]
    claims: tuple[tuple[int, ...], ...]

    @property
    def whole(self) -> tuple[int, ...]:
        """The claim with all pieces."""
        return self.claims[-1]

    @property
    def splittable(self) -> bool:
        """Whether there is a claim besides the whole sentence."""
        return len(self.claims) > 1

    def text(self, claim: Sequence[int]) -> str:
        """The claim in the words of the sentence."""
        return _claim_text(self.sentence, self.pieces, claim)


def split_sentence(sentence: str) -> SentenceSplit:
    """The pieces of a sentence and the claims that the guard lets through."""
    passage = Passage(sentence)
    whole = SentenceSplit(sentence, (Span(0, len(sentence)),), ((0,),))
    if not 3 <= len(passage.words) <= MAX_WORDS:
        return whole
    ranges = _pieces(sentence, passage.words)
    if not 2 <= len(ranges) <= MAX_PIECES:
        return whole
    spans = _spans(sentence, passage.words, ranges)
    passed: dict[tuple[int, ...], frozenset[int] | None] = {}
    for claim in _candidates(sentence, passage.words, ranges):
        match = passage.match(_claim_text(sentence, spans, claim))
        expected = frozenset(at for piece in claim for at in range(*ranges[piece]))
        if match is not None and match.positions is not None and expected <= match.positions:
            passed[claim] = match.positions
        if len(passed) == MAX_CLAIMS:
            break
    if not passed:
        return whole
    return _merged(sentence, spans, list(passed))


def _pieces(sentence: str, words: Sequence[Word]) -> list[tuple[int, int]]:
    """The pieces as ranges of words; glue is in none of them."""
    marks = Omissions(sentence, words).breaks
    glue: set[int] = set()
    cuts = {0, len(words)}
    for at, word in enumerate(words):
        if word.norm in COORDINATORS and 0 < at < len(words) - 1:
            glue.add(at)
            cuts |= {at, at + 1, _phrase_start(words, marks, at)}
        elif word.norm in RELATIVES and marks[at]:
            glue.add(at)
            cuts |= {at, at + 1}
        elif marks[at]:
            cuts.add(at)
            if marks[at] == ",":
                cuts.add(_phrase_start(words, marks, at))
        elif word.norm in ADJUNCTS_AFTER or (
            is_finite_verb(word.norm) and words[at - 1].norm not in AUXILIARIES | {"not"}
        ):
            cuts.add(at)
    edges = sorted(cuts)
    return [(a, b) for a, b in pairwise(edges) if not (b - a == 1 and a in glue)]


def _phrase_start(words: Sequence[Word], marks: Sequence[str], end: int) -> int:
    """Where the phrase before a comma or an "and" begins: behind its verb or preposition."""
    at = end
    while at > 0 and end - at < _MAX_LISTED_WORDS:
        before = words[at - 1]
        if (at < end and marks[at]) or before.norm in COORDINATORS | PREPOSITIONS | RELATIVES:
            break
        if is_finite_verb(before.norm):
            break
        at -= 1
    return at


def _spans(
    sentence: str, words: Sequence[Word], ranges: Sequence[tuple[int, int]]
) -> tuple[Span, ...]:
    """The characters of each piece, with the articles and marks around its words."""
    spans: list[Span] = []
    for number, (first, last) in enumerate(ranges):
        start = _with_article(sentence, words[first - 1].end if first else 0, words[first].start)
        if number == 0 and first == 0:
            start = 0
        end = len(sentence) if last == len(words) else words[last - 1].end
        closing = re.match(r"[)\]%]+", sentence[end:])
        spans.append(Span(start, end + (closing.end() if closing else 0)))
    return tuple(spans)


def _with_article(sentence: str, floor: int, start: int) -> int:
    lead = re.search(r"(?:\b(?:an?|the)\s+)?[(\[$€£]?$", sentence[floor:start], re.IGNORECASE)
    return start if lead is None else floor + lead.start()


def _candidates(
    sentence: str, words: Sequence[Word], ranges: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, ...]]:
    """Choices of pieces that may pass: runs with at most two gaps, the likely ones first."""
    rules = Omissions(sentence, words)
    if rules.whole_only:
        return
    grammar = Grammar(rules)
    count = len(ranges)
    firsts = [p for p in range(count) if rules.lead(ranges[p][0], True)]
    lasts = [p for p in range(count) if rules.tail(ranges[p][1] - 1, True, False)]
    tried = 0
    for gaps in range(3):
        for first in firsts:
            for last in lasts:
                for edges in combinations(range(first, last + 1), 2 * gaps):
                    tried += 1
                    if tried > _MAX_TRIED:
                        return
                    chosen = _chosen(first, last, edges)
                    if chosen is None or len(chosen) == count:
                        continue
                    positions = [
                        at for piece in chosen for at in _piece_words(ranges, chosen, piece)
                    ]
                    if grammar.is_sentence(positions) and rules.allowed(positions):
                        yield chosen


def _chosen(first: int, last: int, edges: Sequence[int]) -> tuple[int, ...] | None:
    """The pieces from first to last without the gaps; an edge is the piece a gap stands behind."""
    if first > last:
        return None
    left_out: set[int] = set()
    for left, right in zip(edges[::2], edges[1::2], strict=True):
        if right - left < 2:
            return None
        left_out |= set(range(left + 1, right))
    rest = tuple(piece for piece in range(first, last + 1) if piece not in left_out)
    return rest or None


def _piece_words(
    ranges: Sequence[tuple[int, int]], chosen: Sequence[int], piece: int
) -> Iterator[int]:
    """The words of a piece, with the glue behind it where the next piece is chosen too."""
    start, end = ranges[piece]
    yield from range(start, ranges[piece + 1][0] if piece + 1 in chosen else end)


def _claim_text(sentence: str, spans: Sequence[Span], claim: Sequence[int]) -> str:
    runs: list[Span] = []
    previous = -2
    for piece in claim:
        if piece == previous + 1:
            runs[-1] = Span(runs[-1].start, spans[piece].end)
        else:
            runs.append(spans[piece])
        previous = piece
    if len(runs) == 1 and len(claim) == len(spans):
        return sentence
    return " ".join(_DANGLING.sub("", run.cut(sentence)) for run in runs)


def _merged(
    sentence: str, spans: Sequence[Span], claims: Sequence[tuple[int, ...]]
) -> SentenceSplit:
    """The split with neighbours that no claim parts joined into one piece."""
    whole = tuple(range(len(spans)))
    groups: list[list[int]] = []
    for piece in whole:
        apart = not groups or any((piece in claim) != (piece - 1 in claim) for claim in claims)
        if apart:
            groups.append([piece])
        else:
            groups[-1].append(piece)
    number = {piece: at for at, group in enumerate(groups) for piece in group}
    joined = tuple(Span(spans[group[0]].start, spans[group[-1]].end) for group in groups)
    renumbered = sorted({tuple(sorted({number[piece] for piece in claim})) for claim in claims})
    everything = tuple(range(len(joined)))
    return SentenceSplit(
        sentence, joined, (*(claim for claim in renumbered if claim != everything), everything)
    )
