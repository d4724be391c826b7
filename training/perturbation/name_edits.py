"""Candidate edits of names in a sentence: other names of the source.

`entity` returns every edit it can make, and `perturb` chooses one.
"""

from __future__ import annotations

import random

from training.perturbation import lexicon, proper_names
from training.perturbation.edit import Edit


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
