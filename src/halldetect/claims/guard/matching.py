"""Does a proposed claim say nothing but what a sentence of the response says?

A claim passes if its words, in order, are words of one sentence (articles are free, so is
grammatical number), and what it leaves out may be left out: a coordinated part, an aside between
commas, an adjunct of a plain past-tense statement. Where a sentence carries hearsay, a condition,
a wish, a quotation or a fiction, or is not plainly English, only the whole sentence passes; a part
under a negation, a modal or a quantifier must be taken whole. A name may stand for a pronoun when
just one name can be meant. Words in another order never pass.

The rules are deliberately narrow: a sound claim turned away costs little, since its sentence is
then judged as it stands; an unsound one let through would put words into the response's mouth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from halldetect.claims.guard.omissions import Omissions
from halldetect.claims.guard.pronouns import fits, one_person, with_blanks
from halldetect.text.document import Span
from halldetect.text.words import COORDINATORS, RELATIVES, Word, kept, same, words

# A longer sentence is compared as a whole only: aligning its parts would take too long.
MAX_WORDS = 200
_PLAIN_CLAIM = re.compile(r"[^\w\s,.;:'’()\-–—%$€£°&/]")


@dataclass(frozen=True, slots=True)
class Match:
    """Which words of the sentence a claim says (None: all), and how it is to be put.

    `span` is relative to the sentence; it cuts the claim's text where that was copied. `named`
    tells that a name stands for a pronoun of the sentence.
    """

    positions: frozenset[int] | None
    span: Span
    text: str
    named: bool = False


class Passage:
    """One sentence of the response, ready to be compared with claims."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> list[Word]:
        return kept(words(self.text))

    def share(self, match: Match) -> float:
        """How much of the sentence a claim says."""
        return 1.0 if match.positions is None else len(match.positions) / len(self.words)

    def covered(self, matches: Sequence[Match]) -> bool:
        """Whether every word that matters is in one of the claims that were let through."""
        said: set[int] = set()
        for match in matches:
            if match.positions is None:
                return True
            said |= match.positions
        optional = COORDINATORS | RELATIVES
        return bool(matches) and all(
            position in said or word.norm in optional for position, word in enumerate(self.words)
        )

    @cached_property
    def _omissions(self) -> Omissions:
        return Omissions(self.text, self.words)

    @property
    def whole(self) -> Match:
        """The sentence as it stands."""
        return Match(None, Span(0, len(self.text)), self.text)

    def match(self, claim: str, antecedent: Sequence[str] = ()) -> Match | None:
        """How the claim follows from this sentence, or None.

        `antecedent` is the name that a pronoun in the sentence means.
        """
        if len(claim) > 2 * len(self.text) + 100:
            return None
        spoken = _spoken(claim)
        if not spoken or not self.words:
            return None
        if len(spoken) == len(self.words) and all(
            same(left, right.norm) for left, right in zip(spoken, self.words, strict=True)
        ):
            return self.whole
        if len(self.words) > MAX_WORDS:
            return None
        positions = self._positions(spoken)
        named = False
        if positions is None and antecedent:
            blanked = with_blanks(spoken, antecedent, self.words)
            positions = self._positions(blanked)
            named = positions is not None
        if positions is None or (named and not one_person(self.words, positions)):
            return None
        if _PLAIN_CLAIM.search(claim) is not None:
            return None
        if len(positions) < len(self.words) and not self._omissions.allowed(positions):
            return None
        first, last = positions[0], positions[-1]
        if not named and last - first == len(positions) - 1:
            span = Span(self._clause_start(first), self.words[last].end)
            return Match(frozenset(positions), span, span.cut(self.text))
        return Match(frozenset(positions), Span(0, len(self.text)), claim, named)

    def _positions(self, spoken: Sequence[str]) -> list[int] | None:
        """The words in the order of the sentence, with as few gaps as possible.

        Among equals the later words win: "born in 1952" is then not read as the "in" of
        "born in Rome in 1952" followed by a gap. Places are kept negative to that end.
        """
        best: dict[int, tuple[int, tuple[int, ...]]] = {}
        for place, norm in enumerate(spoken):
            found: dict[int, tuple[int, tuple[int, ...]]] = {}
            for position, word in enumerate(self.words):
                if not fits(norm, word.norm):
                    continue
                if place == 0:
                    found[position] = (0, (-position,))
                    continue
                options = [
                    (gaps + (position - before > 1), (*path, -position))
                    for before, (gaps, path) in best.items()
                    if before < position
                ]
                if options:
                    found[position] = min(options)
            if not found:
                return None
            best = found
        return [-place for place in min(best.values())[1]]

    def _clause_start(self, first: int) -> int:
        """Where the clause starts, with the article in front of its first word."""
        floor = self.words[first - 1].end if first else 0
        start = self.words[first].start
        article = re.search(r"(?:^|(?<=\W))(?:an?|the)\s+$", self.text[floor:start], re.IGNORECASE)
        return start if article is None else floor + article.start()


@lru_cache(maxsize=64)
def _spoken(claim: str) -> tuple[str, ...]:
    # Kept for a moment, since a claim is compared with each sentence of its block.
    return tuple(word.norm for word in kept(words(claim)))
