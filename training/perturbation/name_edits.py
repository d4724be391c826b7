"""Candidate edits of names in a sentence: other names, exchanged roles.

Each function returns every edit it can make, and `perturb` chooses one.
"""

from __future__ import annotations

import itertools
import random
import re

from training.perturbation import lexicon, proper_names
from training.perturbation.edit import Edit, any_of


def entity(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits to another name of the source of the same probable kind."""
    kinds = proper_names.kinds(text, source)
    edits = []
    for name in proper_names.find(text, source):
        choices = _others(name.text, text, kinds)
        if not choices and kinds.get(name.text) == "country":
            choices = [c for c in lexicon.COUNTRIES if c not in text and c not in source]
        if not choices and kinds.get(name.text) == "nationality":
            choices = [n for n in lexicon.NATIONALITIES if n not in text and n not in source]
        if choices:
            edits.append(Edit(name.start, name.end, rng.choice(choices)))
    return edits


def _others(name: str, text: str, kinds: dict[str, str]) -> list[str]:
    kind = kinds.get(name, "unknown")
    return sorted(
        other
        for other, its_kind in kinds.items()
        if its_kind == kind
        and other not in text
        and not proper_names.same(name, other)
        # Names of unknown kind are exchanged only for names of the same length in words.
        and (kind != "unknown" or len(other.split()) == len(name.split()))
    )


_PASTS = any_of(lexicon.BASE_OF_PAST)
_ACTING = re.compile(
    rf" (?:(?:has|have|had|is|are|was|were|will|would|may|could|also|later|then|\w+ly) )*"
    rf"(?:{_PASTS}|{any_of(lexicon.BASE_OF_THIRD)}|{any_of(lexicon.VERBS)}|\w+ed)\b"
)
_PREPOSITION = re.compile(
    r"\s?(?:$|[.,;:!?)\"'”’]|(?:in|on|at|after|before|for|to|by|with|during|over|from|when|while|"
    r"because|as|is|was|will|has|had|who|that|of|until|since|and)\b)"
)


def role(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits that exchange two participants of an event."""
    kinds = proper_names.kinds(text, source)
    found = proper_names.find(text, source)
    edits = []
    for one, other in itertools.pairwise(found):
        between = text[one.end : other.start]
        if (
            kinds.get(one.text) == kinds.get(other.text) != "nationality"
            and (kinds[one.text] != "unknown" or one.text.count(" ") == other.text.count(" "))
            and not re.search(r"\b(?:the|an?|his|her|their|its|this|for) $", between)
            and not proper_names.same(one.text, other.text)
            and _ACTING.match(between)
            and _PREPOSITION.match(text[other.end :])
            and not lexicon.SYMMETRIC & set(re.findall(r"[a-z]+", between))
            and not re.search(r"[.;:!?'\"‘“]|, (?:and|but|who|which)", between)
        ):
            edits.append(Edit(one.start, other.end, other.text + between + one.text))
    return edits
