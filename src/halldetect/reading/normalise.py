"""Characters as a human reader sees them.

Verifiers know plain letters. Full-width and mathematical letters, invisible characters, and Greek
or Cyrillic letters inside Latin words are replaced by the letters they look like. This happens one
by one, so that each keeps its place in the raw text. Other disguises (braille, Morse, flags,
circled or struck letters) are not decoded: such a text is unreadable.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from halldetect.reading.document import TrackedText
from halldetect.reading.words import UNSPACED, is_foreign_script

# Capital and small letters of Greek, Cyrillic and Armenian that look like these Latin letters.
_LOOK_ALIKES = str.maketrans(
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεηικνορτυχγϲϳωАВЕКМНОРСТУХЅІЈҮԌԚԜаеорсухѕіјһӏԁԛԝԍցոսօ",
    "ABEZHIKMNOPTYXaenikvoptuxycjwABEKMHOPCTYXSIJYGQWaeopcyxsijhldqwggnuo",
)
# Characters that keep their own meaning, although Unicode has a plain form.
_KEPT = frozenset("ªº™℠©®№ℓΩµ")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
_JOINERS = "\u200c\u200d"
_ACCENT = re.compile("[\u0300-\u0333\u0339-\u036f]")
_UNUSUAL = re.compile(
    "[\u0334-\u0338\u20d0-\u20f0\u0488\u0489]"  # struck or enclosed by a combining mark
    "|[\u2801-\u28ff]|[\ue000-\uf8ff]|[\u249c-\u24e9\U0001f110-\U0001f189\U000e0020-\U000e007e]"
    "|[\u1d00-\u1dbf]|[\U0001f1e6-\U0001f1ff]{3}"  # small capitals, flags that spell a word
)
_DENYING_SIGN = re.compile(r"\A[❌✗✘🚫👎⛔¬]|(?:[❌✗✘🚫👎⛔]\ufe0f?|(?:\A|\s)/s)[\s.!]*\Z")
# These turn round what stands beside them.
_DENYING_REMARK = re.compile(
    r"\A\W*(?:NOT|(?:[Jj]ust |[Oo]nly )?[Kk]idding|[Tt]he (?:opposite|reverse|contrary) is "
    r"(?:true|the case)|[Nn]one of (?:this|that|it) is true)\W*\Z"
    r"|\s\((?:NOT!?|not true|false|untrue|a lie)\)"
)
# What may spell words: such characters, Morse, "n0t", "C h i l d r e n", "#ACabinCrashedInMay".
_DISGUISED = re.compile(
    rf"{_UNUSUAL.pattern}|(?:[.\-]{{1,6}}\s+(?:/\s+)?){{8}}|\b(?:n0t|n0ne|n[3e]v3r|n3ver|cann0t)\b"
    r"|(?<![^\W_])(?:[A-Za-z](?: +|[-._])){5,}[A-Za-z](?![^\W_])|#(?:[A-Z]+[a-z\d]+){5}"
)
# No one writes a longer word; tokenizers stop at 100 letters.
MAX_WORD = 60
_LETTERS = re.compile(rf"[^\W\d_{UNSPACED}]+")
_WORD = re.compile(r"\w+")
_LATIN_LETTER = re.compile(r"[A-Za-z\u00c0-\u024f]")


def normalised(text: TrackedText) -> TrackedText:
    """Return the text with the letters that a human reader sees."""
    if is_plain(text.text):
        return text
    characters: list[str] = []
    origins: list[int] = []
    for character, origin in zip(text.text, text.origins, strict=True):
        seen = _seen(character)
        before = characters[-1] if characters else ""
        if not seen and (not before.isalnum() or (character in _JOINERS and before > "\u0590")):
            seen = character  # it joins two emoji, or parts of a Persian or Hindi word
        if before and _ACCENT.match(character):
            composed = unicodedata.normalize("NFC", before + character)
            if len(composed) == 1:
                characters[-1] = composed
                continue
            if _LATIN_LETTER.match(before):
                continue
        characters += seen
        origins += [origin] * len(seen)
    result = "".join(characters)
    # In a Russian or Greek text, letters are what they are.
    changed = result if is_foreign_script(result) else _WORD.sub(_latin, result)
    return TrackedText(changed, tuple(origins))


def is_plain(text: str) -> bool:
    """Return True if normalisation changes no character."""
    return text.isascii() or not any(map(_may_change, set(text)))


def has_look_alikes(text: str) -> bool:
    """Return True if a text contains look-alike letters."""
    return normalised(TrackedText.of(text, 0, len(text))).text != text


def has_letters(text: str) -> bool:
    """Return True if a text has letters, digits, or unusual characters that may spell words."""
    return any(map(str.isalnum, text)) or _DISGUISED.search(text) is not None


def unreadable(text: str) -> str | None:
    """Return the reason why no verifier can read a text; None if one can."""
    if _DISGUISED.search(text):
        return "it has unusual characters"
    if _DENYING_SIGN.search(text):
        return "it has a symbol that may deny it"
    if _DENYING_REMARK.search(text):
        return "it denies what stands beside it"
    if not any(map(str.isalnum, text)):
        return "it has no letters"
    if len(text) <= MAX_WORD or max(map(len, text.split())) <= MAX_WORD:
        return None
    longest = max(_LETTERS.findall(text), key=len, default="")
    return f"it has a word of {len(longest)} letters" if len(longest) > MAX_WORD else None


@cache
def _may_change(character: str) -> bool:
    changed = ord(character) in _LOOK_ALIKES or _seen(character) != character
    return changed or _ACCENT.match(character) is not None


@cache
def _seen(character: str) -> str:
    if character.isascii() or character in _KEPT or _UNUSUAL.match(character):
        return character
    if _INVISIBLE.match(character):
        return ""
    if unicodedata.category(character) in ("Nd", "Ll", "Lu", "Lm", "So"):
        folded = unicodedata.normalize("NFKC", character)
        if folded.isascii() and folded.isalnum():
            return folded
    return {"∼": "~", "℃": "°C", "℉": "°F"}.get(character, character)  # unknown to tokenizers


def _latin(match: re.Match[str]) -> str:
    """Replace look-alikes in a word by Latin letters, if the result is a Latin word."""
    word = match.group()
    changed = word.translate(_LOOK_ALIKES)
    # A Greek or Russian word has letters without a Latin look-alike.
    return changed if changed.isascii() or _LATIN_LETTER.search(word) else word
