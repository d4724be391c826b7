"""A test for texts that are clearly not English, the only language of most verifiers.

A text is foreign only if its script or function words leave no doubt, so that names, code and
mixed texts are still checked.
"""

from __future__ import annotations

import unicodedata
from functools import cache

_ENGLISH = frozenset(
    "the and of to with for from by this that these those it its they their have has been which "
    "at who she he his her were are is was not but about into than there when where while".split()
)
# Function words of the major languages in Latin script that are not English words.
FOREIGN = frozenset(
    # French, Spanish, Portuguese, Italian
    "à un au ce cet sa ses ont mais le la les des du une est sont dans avec qui que pas sur "
    "cette ces aux été leur nous "
    "vous ils elle el los las una unos del por para como está fue muy más pero lo se su "
    " um uma das não em com mais foi ao pela pelo são il gli di che della delle nel nella "
    "sono più è alla dei degli anche et ou où"
    # German, Dutch, Danish, Swedish, Norwegian
    " der das den dem des ein eine einen einem einer und ist sind nicht mit von zu zum zur auf für "
    "im auch sich wird wurde wurden werden het een en op zijn niet voor ook dat aan maar det "
    "och att som är inte på av ett og ikke til jeg ble"
    # Polish, Czech, Turkish, Indonesian, Romanian, Hungarian, Finnish
    " jest nie się że są je byl byla ke ale bir bu için ile olarak yang di dan untuk "
    "dengan adalah dari și este cu pe az egy és hogy nem ja oli ei että".split()
)


def is_foreign(text: str) -> bool:
    """Return True if a text is certainly not in English."""
    letters = [char for char in text if char.isalpha()]
    if len(letters) >= 4 and sum(not _is_latin(char) for char in letters) * 2 > len(letters):
        return True
    words = [word.strip(".,;:!?()\"'«»“”") for word in text.split()]
    # Capitalised words may be names ("Las Palmas"); they count only beside small ones.
    small = any(word in FOREIGN for word in words)
    foreign = sum(word.lower() in FOREIGN for word in words) if small else 0
    english = sum(word.casefold() in _ENGLISH for word in words)
    return foreign >= 2 and foreign > 3 * english and foreign * 8 >= len(words)


@cache
def _is_latin(char: str) -> bool:
    # Mathematical letters and similar characters have no script.
    name = unicodedata.name(char, "LATIN")
    return name.startswith(("LATIN", "FULLWIDTH LATIN", "MATHEMATICAL", "MODIFIER"))
