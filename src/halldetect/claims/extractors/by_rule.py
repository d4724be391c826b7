"""Claims by rule, without a model: sentences as they stand, or their finest parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from halldetect.claims.extraction import Draft
from halldetect.claims.extractors.sentence_splits import SentenceSplit, split_sentence
from halldetect.claims.guard.matching import Passage
from halldetect.claims.guard.pronouns import antecedents
from halldetect.text.sentences import sentences
from halldetect.text.words import without_fillers, words

MAX_CLAIMS_PER_SENTENCE = 4
_PRONOUN = re.compile(r"(he|she|his|her)\b(?!['’])", re.IGNORECASE)


class SentenceExtractor:
    """Proposes every sentence of a block, word for word."""

    name = "sentences"

    @property
    def description(self) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}

    def draft(self, block: str, limit: int) -> Draft:
        """The first `limit` sentences of the block."""
        spans = sentences(block)
        return Draft(tuple(span.cut(block) for span in spans[:limit]))


class ClauseExtractor:
    """Proposes the finest parts of every sentence that the guard lets through."""

    name = "clauses"

    @property
    def description(self) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}

    def draft(self, block: str, limit: int) -> Draft:
        """At most `limit` claims; every sentence up to the limit gives at least one."""
        claims: list[str] = []
        spans = sentences(block)[: max(limit, 0)]
        texts_of = [span.cut(block) for span in spans]
        names = PronounNames(texts_of)
        for number, most in enumerate(claims_per_sentence(len(spans), limit)):
            split = split_sentence(texts_of[number])
            if split.splittable and most > 1:
                texts = [split.text(claim) for claim in finest_claims(split, most)]
            else:
                texts = [texts_of[number]]
            claims += [names.replace_first(text, number) for text in texts]
        return Draft(tuple(claims))


def claims_per_sentence(count: int, limit: int) -> Iterator[int]:
    """How many claims each of `count` sentences may give, at least one and `limit` together."""
    spare = limit - count
    for _ in range(count):
        extra = max(0, min(MAX_CLAIMS_PER_SENTENCE - 1, spare))
        spare -= extra
        yield 1 + extra


def finest_claims(
    split: SentenceSplit, most: int = MAX_CLAIMS_PER_SENTENCE
) -> tuple[tuple[int, ...], ...]:
    """The shortest claims of a split that together say the whole sentence.

    For every piece the shortest claim that has it. A claim that only repeats others is left
    out; so is one that is part of another, since checking the larger one checks it too. Too many
    claims end with one that holds the rest.

    split  the pieces of a sentence and the claims there are
    most   the greatest number of claims
    """
    shortest = {_shortest_with({piece}, split) for piece in split.whole}
    chosen: list[tuple[int, ...]] = []
    for claim in sorted(shortest, key=lambda claim: (len(claim), claim)):
        said = _pieces_of(chosen)
        if not any(set(other) < set(claim) for other in chosen) or not set(claim) <= said:
            chosen.append(claim)
    chosen = [claim for claim in chosen if not any(set(claim) < set(other) for other in chosen)]
    if len(chosen) > most:
        first = sorted(chosen)[: most - 1]
        last = _shortest_with(_pieces_of(chosen) - _pieces_of(first), split)
        chosen = [claim for claim in first if not set(claim) < set(last)] + [last]
    return tuple(sorted(chosen))


def _pieces_of(claims: Sequence[tuple[int, ...]]) -> set[int]:
    return {piece for claim in claims for piece in claim}


def _shortest_with(pieces: set[int], split: SentenceSplit) -> tuple[int, ...]:
    """The shortest claim with all these pieces; the sentence as a whole always has them."""
    fitting = [claim for claim in split.claims if pieces <= set(claim)]
    return min(fitting, key=lambda claim: (len(split.text(claim)), claim))


class PronounNames:
    """For the sentences of a text, the name that "he" or "she" means in each.

    The guard's own rule decides, and only where one person can be meant; the guard then marks
    such a claim as named.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self._names = antecedents(texts)
        self._spellings: dict[tuple[str, ...], str] = {}
        for text in texts:
            spoken = without_fillers(words(text[:2000]))
            length = 0
            while length < len(spoken) and spoken[length].capital:
                length += 1
                if spoken[length - 1].norm != "'s":
                    norms = tuple(word.norm for word in spoken[:length])
                    self._spellings[norms] = text[spoken[0].start : spoken[length - 1].end]

    def replace_first(self, claim: str, number: int) -> str:
        """The claim with a name for the pronoun it starts with, if that passes the guard.

        claim   a part of the sentence
        number  the index of the sentence
        """
        norms = self._names[number]
        pronoun = _PRONOUN.match(claim)
        name = self._spellings.get(norms)
        if not norms or pronoun is None or name is None:
            return claim
        # At the start of a claim "her" is a possessive.
        possessive = pronoun[0].casefold() in ("his", "her")
        named = name + ("'s" if possessive else "") + claim[pronoun.end() :]
        match = Passage(self._texts[number]).match(named, norms)
        return claim if match is None else named
