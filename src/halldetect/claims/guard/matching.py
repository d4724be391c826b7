"""Whether a proposed claim says nothing but what a sentence of the response says.

A claim passes if its words, in order, are words of one sentence (articles are free, so is
grammatical number), and what it leaves out may be left out: a coordinated part, an aside between
commas, an adjunct of a plain past-tense statement. Where a sentence carries hearsay, a condition,
a wish, a quotation or a fiction, or is not plainly English, only the whole sentence passes; a part
under a negation, a modal or a quantifier must be taken whole. A name may stand for a pronoun when
just one name can be meant. Words in another order never pass.

The rules are narrow on purpose: rejecting a sound claim costs little, since its sentence is then
judged as it stands; keeping an unsound one would attribute to the response what it does not say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from halldetect.claims.guard.omissions import Omissions
from halldetect.claims.guard.pronouns import fits, one_person, with_blanks
from halldetect.claims.guard.sentence_parts import sentence_parts
from halldetect.reading.document import Span
from halldetect.reading.words import (
    COORDINATORS,
    RELATIVES,
    Word,
    same_word,
    without_fillers,
    words,
)

# A longer sentence is compared as a whole only: aligning its parts would take too long.
MAX_WORDS = 200
_PLAIN_CLAIM = re.compile(r"[^\w\s,.;:'’()\-–—%$€£°&/]")


@dataclass(frozen=True, slots=True)
class Match:
    """How a claim follows from a sentence.

    positions  of the words of the sentence that the claim has; None: all of them
    spans      of the claim in the sentence, one per run of words
    text       of the claim
    named      whether a name stands for a pronoun of the sentence
    """

    positions: frozenset[int] | None
    spans: tuple[Span, ...]
    text: str
    named: bool = False


class Passage:
    """One sentence of the response, ready to be compared with claims."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> list[Word]:
        """The words of the sentence without fillers."""
        return without_fillers(words(self.text))

    def share(self, match: Match) -> float:
        """The share of the sentence's words that a claim has."""
        return 1.0 if match.positions is None else len(match.positions) / len(self.words)

    def covered(self, matches: Sequence[Match]) -> bool:
        """Whether the claims have all words of the sentence; "and", "who" and such do not count."""
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
    def _by_rule(self) -> dict[str, Match]:
        """The parts that the rules find, by their text."""
        return {
            text: Match(
                frozenset(
                    at
                    for at, word in enumerate(self.words)
                    if any(span.start <= word.start and word.end <= span.end for span in spans)
                ),
                spans,
                text,
            )
            for text, spans in sentence_parts(self.text)
        }

    @cached_property
    def _omissions(self) -> Omissions:
        return Omissions(self.text, self.words)

    @property
    def whole(self) -> Match:
        """The sentence as it stands."""
        return Match(None, (Span(0, len(self.text)),), self.text)

    def match(self, claim: str, antecedent: Sequence[str] = ()) -> Match | None:
        """How the claim follows from this sentence; None if it does not.

        claim       the proposed claim
        antecedent  the name that a pronoun in the sentence means
        """
        if len(claim) > 2 * len(self.text) + 100:
            return None
        if claim in self._by_rule:
            return self._by_rule[claim]
        norms = _claim_norms(claim)
        if not norms or not self.words:
            return None
        if len(norms) == len(self.words) and all(
            same_word(left, right.norm) for left, right in zip(norms, self.words, strict=True)
        ):
            return self.whole
        if len(self.words) > MAX_WORDS:
            return None
        positions = self._positions(norms)
        named = False
        if positions is None and antecedent:
            blanked = with_blanks(norms, antecedent, self.words)
            positions = self._positions(blanked)
            named = positions is not None
        if positions is None or (named and not one_person(self.words, positions)):
            return None
        if _PLAIN_CLAIM.search(claim) is not None:
            return None
        if len(positions) < len(self.words) and not self._omissions.allowed(positions):
            return None
        spans = self._runs(positions)
        text = claim if named or len(spans) > 1 else spans[0].cut(self.text)
        return Match(frozenset(positions), spans, text, named)

    def _runs(self, positions: Sequence[int]) -> tuple[Span, ...]:
        """The spans of the runs of words at these positions."""
        runs: list[list[int]] = []
        for position in positions:
            if runs and position == runs[-1][-1] + 1:
                runs[-1].append(position)
            else:
                runs.append([position])
        return tuple(
            Span(self._clause_start(run[0]), max(self.words[at].end for at in run)) for run in runs
        )

    def _positions(self, norms: Sequence[str]) -> list[int] | None:
        """The words in the order of the sentence, with as few gaps as possible.

        Among equals the later words win: "born in 1952" is then not read as the "in" of
        "born in Rome in 1952" followed by a gap. To that end positions are stored negative.
        """
        best: dict[int, tuple[int, tuple[int, ...]]] = {}
        for step, norm in enumerate(norms):
            reached: dict[int, tuple[int, tuple[int, ...]]] = {}
            for position, word in enumerate(self.words):
                if not fits(norm, word.norm):
                    continue
                if step == 0:
                    reached[position] = (0, (-position,))
                    continue
                options = [
                    (gaps + (position - before > 1), (*path, -position))
                    for before, (gaps, path) in best.items()
                    if before < position
                ]
                if options:
                    reached[position] = min(options)
            if not reached:
                return None
            best = reached
        return [-position for position in min(best.values())[1]]

    def _clause_start(self, first: int) -> int:
        """Where the clause starts, with the article in front of its first word."""
        floor = self.words[first - 1].end if first else 0
        start = self.words[first].start
        article = re.search(r"(?:^|(?<=\W))(?:an?|the)\s+$", self.text[floor:start], re.IGNORECASE)
        return start if article is None else floor + article.start()


@lru_cache(maxsize=64)
def _claim_norms(claim: str) -> tuple[str, ...]:
    # Cached, since a claim is compared with each sentence of its block.
    return tuple(word.norm for word in without_fillers(words(claim)))
