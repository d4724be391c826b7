"""Claims put together from pieces of a source, as summarisers that copy do it.

Such a summariser takes the beginning of one sentence and the end of another, or leaves a part out.
Some of what comes out is true, some is not, so these claims have no label: the large verifier
says what they are worth.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_VERBS = (
    "is are was were has have had will would can could may might must did does said says told "
    "took made gave went came became began won lost left found"
)
# A sentence can be cut before these, each kind with its own.
_CUTS = {
    "verb": re.compile(rf" (?=(?:{'|'.join(_VERBS.split())})\b)"),
    "link": re.compile(r",? (?=(?:and|but|who|which|that|after|before|when|while|because|as)\b)"),
    "comma": re.compile(r", "),
}
_LEAST, _MOST = 6, 45  # words


def splices(sentences: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Up to so many claims made of the sentences of a source, none of them one of the sentences.

    Args:
        sentences: in their order.
        count: how many claims.
        rng: the source of chance.
    """
    usable = [
        (at, text)
        for at, text in enumerate(sentences)
        if 8 <= len(text.split()) <= 60 and text[0].isupper() and text[-1] in ".!"
    ]
    found: dict[str, None] = {}
    if len(usable) < 2:
        return []
    for _ in range(4 * count):
        if len(found) == count:
            break
        at, text = rng.choice(usable)
        if rng.random() < 0.3:
            claim = shortened(text, rng)
        else:
            near = [other for place, other in usable if 0 < abs(place - at) <= 5]
            claim = crossed(text, rng.choice(near), rng) if near else None
        if claim and _LEAST <= len(claim.split()) <= _MOST and claim not in sentences:
            found[claim] = None
    return list(found)


def crossed(one: str, other: str, rng: random.Random) -> str | None:
    """Return the beginning of one sentence with the end of another, both cut at the same kind of
    place."""
    kinds = list(_CUTS.items())
    rng.shuffle(kinds)
    for kind, pattern in kinds:
        first = list(pattern.finditer(one))
        second = list(pattern.finditer(other))
        if kind == "verb":  # the subject of a sentence ends at its first verb
            first, second = first[:1], second[:1]
        if first and second:
            head, tail = rng.choice(first), rng.choice(second)
            return one[: head.start()] + other[tail.start() :]
    return None


def shortened(text: str, rng: random.Random) -> str | None:
    """Return a sentence without what stands between two commas, or without its end."""
    commas = [match.start() for match in re.finditer(r",(?= )", text)]
    if len(commas) >= 2 and rng.random() < 0.5:
        at = rng.randrange(len(commas) - 1)
        return text[: commas[at]] + text[commas[at + 1] + 1 :]
    links = [match.start() for match in _CUTS["link"].finditer(text)]
    ends = [at for at in (*commas, *links) if len(text[:at].split()) >= _LEAST]
    return text[: rng.choice(ends)] + "." if ends else None
