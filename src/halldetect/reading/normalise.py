"""Letters that look like Latin letters, as Latin letters.

A verifier knows the letters that people write with. It does not know full-width, circled or
mathematical letters, and a word with a Greek or Cyrillic letter in it is unknown to it. Here they
become what a reader sees, character by character, so that every one still has its place in the raw
text. Digits and letters with a meaning of their own (m², ½, ™) stay.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from halldetect.reading.tracked import TrackedText
from halldetect.reading.words import NEGATIONS

# Capital and small letters of Greek, Cyrillic and Armenian that look like the Latin ones here.
_LOOK_ALIKES = dict(
    zip(
        "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεηικνορτυχγϲϳωАВЕКМНОРСТУХЅІЈҮԌԚԜаеорсухѕіјһӏԁԛԝԍցոսօ",
        "ABEZHIKMNOPTYXaenikvoptuxycjwABEKMHOPCTYXSIJYGQWaeopcyxsijhldqwggnuo",
        strict=True,
    )
)
_NAMED_LETTER = re.compile(
    r"(?:(?:NEGATIVE |CROSSED )?(?:CIRCLED|SQUARED)|REGIONAL INDICATOR SYMBOL|PARENTHESIZED|"
    r"TAG|TORTOISE SHELL BRACKETED|FULLWIDTH|MODIFIER LETTER|LATIN|MATHEMATICAL [A-Z -]+|"
    r"SUPERSCRIPT|LATIN SUBSCRIPT)"
    r"(?: LATIN)?(?: LETTER)?(?: (?P<size>CAPITAL|SMALL))?(?: CAPITAL)?(?: LETTER)?"
    r"(?: SMALL)?(?: CAPITAL)? (?P<letter>[A-Z])"
)
_KEPT = frozenset("ªº™℠©®№ℓΩµ")
# Marks across letters, stacked marks and the like; a letter with one accent is one character.
_OVERLAY = re.compile("[\u0334-\u0338\u20d0-\u20f0\u0300-\u036f\u0488\u0489]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
# A longer word is none that a person wrote; tokenizers give up at 100 letters.
MAX_WORD = 60
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = str.maketrans("0134", "oiea")
_WORD = re.compile(r"\w+")
_FLAG = re.compile(
    "(?<![\U0001f1e6-\U0001f1ff])[\U0001f1e6-\U0001f1ff]{2}(?![\U0001f1e6-\U0001f1ff])"
)
_INDICATORS = re.compile("[\U0001f1e6-\U0001f1ff]{3}")
_LATIN_LETTER = re.compile(r"[A-Za-z\u00c0-\u024f]")
_PLAIN = re.compile(
    "[\\x00-\\x7f\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027\u2030-\u203e\u20a0-\u20bf]*"
)


def normalised(text: TrackedText) -> TrackedText:
    """The text with the letters that a reader sees in it."""
    if is_plain(text.text):
        return TrackedText(_WORD.sub(_latin, text.text), text.origins)
    spelled = _INDICATORS.search(text.text) is not None
    flags = {at for match in _FLAG.finditer(text.text) for at in range(*match.span())}
    flags = set() if spelled else flags
    characters: list[str] = []
    origins: list[int] = []
    for at, (character, origin) in enumerate(zip(text.text, text.origins, strict=True)):
        seen = character if at in flags else _seen(character)
        if not seen and not (characters and characters[-1].isalnum()):
            seen = character  # between emoji it is no trick
        if _OVERLAY.match(character) and characters:
            composed = unicodedata.normalize("NFC", characters[-1] + character)
            if len(composed) == 1 and not _OVERLAY.search(composed):
                characters[-1] = composed
            elif not characters[-1].isascii() and not _LATIN_LETTER.match(characters[-1]):
                characters.append(character)
                origins.append(origin)
            continue
        characters += seen
        origins += [origin] * len(seen)
    plain = "".join(characters)
    return TrackedText(_WORD.sub(_latin, plain), tuple(origins))


def is_plain(text: str) -> bool:
    """Whether a text has only characters that are read as they are."""
    return _PLAIN.fullmatch(text) is not None


def has_look_alikes(text: str) -> bool:
    """Whether some letters of a text are read as others."""
    return normalised(TrackedText.of(text, 0, len(text))).text != text


def unreadable(text: str) -> str | None:
    """What of a text no reader of English, and no verifier, can read; None if nothing."""
    if any("\u2800" <= character <= "\u28ff" for character in text):
        return "it is written in braille"
    if any("\ue000" <= character <= "\uf8ff" for character in text):
        return "it has characters without a meaning of their own"
    if not any(map(str.isalnum, text)):
        return "it has no letters"
    longest = max(_LETTERS.findall(text), key=len, default="")
    if len(longest) > MAX_WORD:
        return f"it has a word of {len(longest)} letters"
    return None


@cache
def _seen(character: str) -> str:
    if character.isascii() or character in _KEPT:
        return character
    if _INVISIBLE.match(character):
        # Tag characters and the like spell nothing; others only join or divide letters.
        return ""
    name = unicodedata.name(character, "")
    if unicodedata.category(character) in ("Nd", "Ll", "Lu", "Lm", "So"):
        folded = unicodedata.normalize("NFKC", character)
        if folded != character and folded.isascii() and folded.isalnum():
            return folded
    match = _NAMED_LETTER.fullmatch(name)
    if match is not None:
        return match["letter"] if match["size"] == "CAPITAL" else match["letter"].lower()
    return character


def _latin(match: re.Match[str]) -> str:
    """A word with its look-alikes as Latin letters, where that makes it a Latin word."""
    word = match.group()
    spelled = word.lower().translate(_DIGITS)
    if spelled in NEGATIONS and spelled != word.lower():
        return spelled  # "n0t": of all words this is the one that must not be overlooked
    if word.isascii() or not any(character in _LOOK_ALIKES for character in word):
        return word
    changed = "".join(_LOOK_ALIKES.get(character, character) for character in word)
    mixed = _LATIN_LETTER.search(word) is not None
    # A word of Greek or Russian has letters that look like nothing in Latin.
    return changed if changed.isascii() or mixed else word
