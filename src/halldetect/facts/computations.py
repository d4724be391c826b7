"""Tell if a number may be computed from numbers that stand together in a source.

Only numbers of one kind and unit in one sentence, row or list count, and the claim must speak of a
computation, or the sentence compare them. This spares a claim from the rule for unknown numbers; it
is no evidence for the claim.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations

from halldetect.facts.quantities import Quantity

# Words of a claim that speaks of a computation.
CUE = re.compile(
    r"\b(?:total|altogether|together|combined|sum|overall|in all|differ\w*|more|less|fewer"
    r"|\w+er than|increase\w*|decrease\w*|gain\w*|los[et]s?|grow\w*|grew|r[io]se[sn]?|f[ae]ll\w*"
    r"|dropp?\w*|share|per ?cent|half|thirds?|quarters?|average|per|each|every|times|twice"
    r"|double\w*|left|remain\w*|later|earlier|after|before|within|between|sav\w+|ago|since"
    r"|an? (?:day|week|month|year|hour)|up|down|another|other|rest)\b|%",
    re.IGNORECASE,
)
# Words of a sentence of the source that compares: "60 euros more than the Aria", "from 9 to 12".
COMPARES = re.compile(r"\b(?:more|less|fewer|\w+er) than\b|\bfrom .{1,60} to ", re.IGNORECASE)
# More numbers of one kind are not combined: chance would find a way to any number.
_MOST = 14
_YEAR, _DAY = 31557600.0, 86400.0
# Seconds between two consecutive values of a date or a time of day.
_APART = {"year": _YEAR, "month": _YEAR / 12, "day": _DAY, "clock": 60.0}


def computed(together: Sequence[Quantity]) -> Iterator[Quantity]:
    """Yield what follows from numbers that stand together: sums, differences, ratios, times."""
    groups: defaultdict[tuple[str, float], defaultdict[str, list[Quantity]]]
    groups = defaultdict(lambda: defaultdict(list))
    for item in together:
        groups[item.kind, item.factor][item.noun].append(item)
    for (kind, _), by_noun in groups.items():
        bare = by_noun.pop("", [])  # "4,150 loaves, 3,850 and 4,400"
        for some in by_noun.values() or [[]]:
            if 1 < len(some) + len(bare) <= _MOST:
                yield from _results(kind, [item.value for item in (*some, *bare)])


def _results(kind: str, values: Sequence[float]) -> Iterator[Quantity]:
    made = [(kind, sum(values))]
    for one, two in permutations(values, 2):
        made.append((kind, one + two))
        if one != two:
            made.append((kind, one - two))
            made += [("time", (one - two) * _APART[kind])] if kind in _APART else []
        if two not in (one, 0):
            change = abs(one - two) / abs(two)
            made += [("share", one / two), ("times", one / two), ("share", change)]
    for name, value in made:
        yield Quantity(name, value, 0.0, "", "", 0, 0, "")
