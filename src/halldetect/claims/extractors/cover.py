"""Claims of a split that together say the whole sentence, and nothing twice without need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from halldetect.claims.extractors.splits import Split

MOST_CLAIMS = 4


def finest(split: Split, most: int = MOST_CLAIMS) -> tuple[tuple[int, ...], ...]:
    """For every piece the shortest claim that has it."""
    return covering((_shortest({piece}, split) for piece in split.whole), split, most)


def covering(
    claims: Iterable[tuple[int, ...]], split: Split, most: int = MOST_CLAIMS
) -> tuple[tuple[int, ...], ...]:
    """The claims that are worth checking, together the whole sentence.

    One that only repeats others goes; so does one that is part of another, since whoever
    checks the larger checks it too. Pieces left out come in with the shortest claim that has
    them, and a list that is still too long ends with a claim that holds the rest.
    """
    kept: list[tuple[int, ...]] = []
    for claim in sorted(set(claims), key=lambda claim: (len(claim), claim)):
        said = {piece for other in kept for piece in other}
        if not any(set(other) < set(claim) for other in kept) or not set(claim) <= said:
            kept.append(claim)
    kept = _filled(kept, split)
    kept = [claim for claim in kept if not any(set(claim) < set(other) for other in kept)]
    if len(kept) > most:
        first = sorted(kept)[: most - 1]
        rest = {piece for claim in kept for piece in claim} - {p for c in first for p in c}
        last = _shortest(rest, split)
        kept = [claim for claim in first if not set(claim) < set(last)] + [last]
    return tuple(sorted(kept))


def _filled(claims: Sequence[tuple[int, ...]], split: Split) -> list[tuple[int, ...]]:
    kept = list(claims)
    while missing := set(split.whole) - {piece for claim in kept for piece in claim}:
        kept.append(_shortest({min(missing)}, split))
    return kept


def _shortest(pieces: set[int], split: Split) -> tuple[int, ...]:
    """The shortest claim with all these pieces; the sentence as a whole always has them."""
    fitting = [claim for claim in split.claims if pieces <= set(claim)]
    return min(fitting, key=lambda claim: (len(split.text(claim)), claim))
