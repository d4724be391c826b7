"""Claims assembled from pieces of a source, as extractive summarisers do.

Such a summariser joins the beginning of one sentence and the end of another, or leaves a part out.
Some results are true, some are not, so these claims have no label: the large verifier judges them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_VERBS = (
    "is are was were has have had will would can could may might must did does said says told "
    "took made gave went came became began won lost left found"
)
# A sentence can be cut before these; both cuts must be of the same kind.
_CUTS = {
    "verb": re.compile(rf" (?=(?:{'|'.join(_VERBS.split())})\b)"),
    "link": re.compile(r",? (?=(?:and|but|who|which|that|after|before|when|while|because|as)\b)"),
    "comma": re.compile(r", "),
}
_LEAST, _MOST = 6, 45  # words


def splices(sentences: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Return up to `count` claims made of sentences of a source and different from each of them."""
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
    """Return the beginning of one sentence with the end of another, cut at the same kind."""
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
    """Return a sentence without the text between two commas, or without its end."""
    commas = [match.start() for match in re.finditer(r",(?= )", text)]
    if len(commas) >= 2 and rng.random() < 0.5:
        at = rng.randrange(len(commas) - 1)
        return text[: commas[at]] + text[commas[at + 1] + 1 :]
    links = [match.start() for match in _CUTS["link"].finditer(text)]
    ends = [at for at in (*commas, *links) if len(text[:at].split()) >= _LEAST]
    return text[: rng.choice(ends)] + "." if ends else None
