"""Human facts, or a model's lines, as choices among the claims that a split allows.

A fact is taken to be the smallest claim with all the fact's telling words that the sentence has.
Words the sentence does not have (a name for its pronoun, a verb the annotator put in) say nothing
about which pieces are meant; a fact made mostly of such words is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from halldetect.claims.extractors.cover import covering
from halldetect.claims.extractors.splits import Split
from halldetect.text.words import EVERYDAY, words

# A fact with less of its words in the sentence is not a fact of this sentence.
_LEAST_SHARED = 0.5
_PRONOUNS = frozenset("he she it they his her its their him them".split())


def stem(norm: str) -> str:
    """Enough of a word to know it again with another ending."""
    if not norm.isalpha() or len(norm) < 5:
        return norm
    for ending in ("ingly", "ation", "ing", "ies", "ied", "ers", "ed", "es", "ly", "er", "s"):
        if norm.endswith(ending) and len(norm) - len(ending) >= 4:
            norm = norm[: -len(ending)]
            break
    return norm.rstrip("e")


def telling(text: str) -> set[str]:
    """The words of a text that carry what it says."""
    return {stem(word.norm) for word in words(text) if word.norm not in EVERYDAY | {"'s"}}


def claim_of(fact: str, split: Split, contents: Sequence[set[str]]) -> tuple[int, ...] | None:
    """The smallest claim of the split that says the fact."""
    wanted = telling(fact)
    here = set().union(*contents)
    shared = wanted & here
    if not shared or len(shared) < _LEAST_SHARED * len(wanted):
        return None
    found = _with(shared, split, contents)
    # "Ann paints, and her pictures sell": a fact about Ann's pictures is the second half alone.
    names = {stem(word.norm) for word in words(fact) if word.capital}
    if shared - names:
        shorter = _with(shared - names, split, contents)
        if len(shorter) < len(found) and _PRONOUNS & {w.norm for w in words(split.text(shorter))}:
            return shorter
    return found


def _with(wanted: set[str], split: Split, contents: Sequence[set[str]]) -> tuple[int, ...]:
    fitting = [
        claim for claim in split.claims if wanted <= set().union(*(contents[p] for p in claim))
    ]
    return min(fitting, key=lambda claim: (len(split.text(claim)), claim))


def chosen(facts: Iterable[str], split: Split) -> tuple[tuple[int, ...], ...] | None:
    """The claims that say the facts: no larger than needed, and together the whole sentence."""
    contents = [telling(piece.cut(split.sentence)) for piece in split.pieces]
    found = {claim_of(fact, split, contents) for fact in facts}
    claims = [claim for claim in found if claim]
    return covering(claims, split) if claims else None
