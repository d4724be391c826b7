"""Wrong claims made of right ones in many languages, by edits that keep the language intact."""

from __future__ import annotations

import random
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from training.large.sources import Claim

WORDS = tomllib.loads((Path(__file__).parents[1] / "languages.toml").read_text(encoding="utf-8"))
UNSPACED = frozenset({"zh", "ja", "th"})
_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,٫]\d+)*(?![\w:/-]|[.,]\d)")
_SAFE_UNSPACED = re.compile(r"(?<![\dA-Za-z.,:/-])\d+(?:[.,]\d+)*(?![\dA-Za-z:/-]|[.,]\d)")
NAME = re.compile(r"(?<=[a-zß-ÿ,] )[A-Z][A-Za-zÀ-ÿ-]{3,}(?: [A-Z][A-Za-zÀ-ÿ-]{2,})?")


def size(text: str, language: str) -> int:
    """Return the length in words, or in characters of a script without spaces."""
    return len(text) if language in UNSPACED else len(text.split())


def plain(number: str) -> str:
    """Return the digits of a number in any script."""
    return "".join(str(unicodedata.digit(sign)) for sign in number if sign.isdigit())


def numbers(text: str, language: str) -> list[re.Match[str]]:
    """Return the numbers that are not part of a word."""
    return list((_SAFE_UNSPACED if language in UNSPACED else _NUMBER).finditer(text))


@cache
def terms(language: str) -> tuple[tuple[str, ...], ...]:
    """Return the months, weekdays and larger countries in a language."""
    from babel import Locale

    locale = Locale.parse(language)
    countries = "DE FR IT ES GB US CN JP IN RU BR CA AU MX EG TR KR PL NL SE GR PT AR".split()
    return (
        tuple(locale.months["format"]["wide"].values()),
        tuple(locale.days["format"]["wide"].values()),
        tuple(locale.territories[code] for code in countries),
    )


def other_number(text: str, twin: str, passage: str, language: str, rng: random.Random) -> str:
    """Return the text with another number in place of one that its translation has too."""
    known = {plain(found) for found in re.findall(r"\d[\d.,٫]*", twin)}
    found = [one for one in numbers(text, language) if plain(one[0]) in known]
    if not found:
        return ""
    chosen = rng.choice(found)
    old = plain(chosen[0])
    near = [one[0] for one in numbers(passage, language)
            if len(plain(one[0])) == len(old) and plain(one[0]) not in known]  # fmt: skip
    new = rng.choice(near) if near and rng.random() < 0.5 else ""
    if not new:
        at = [place for place, sign in enumerate(chosen[0]) if sign.isdigit()]
        place = at[-1] if len(old) == 4 and old[:2] in {"18", "19", "20"} else rng.choice(at)
        first = place == at[0]
        base = ord(chosen[0][place]) - unicodedata.digit(chosen[0][place])
        digits = [chr(base + value) for value in range(1 if first else 0, 10)]
        sign = rng.choice([digit for digit in digits if digit != chosen[0][place]])
        new = chosen[0][:place] + sign + chosen[0][place + 1 :]
    return text[: chosen.start()] + new + text[chosen.end() :]


def other_term(text: str, language: str, rng: random.Random) -> str:
    """Return the text with another month, weekday or country."""
    for names in rng.sample(terms(language), 3):
        spaced = language not in UNSPACED
        pattern = r"\b{}\b" if spaced else "{}"
        held = [name for name in names if len(name) > (3 if spaced else 1)
                and re.search(pattern.format(re.escape(name)), text)]  # fmt: skip
        if len(held) == 1:
            return text.replace(
                held[0], rng.choice([name for name in names if name not in held]), 1
            )
    return ""


def other_name(text: str, twin: str, pool: Sequence[str], rng: random.Random) -> str:
    """Return the text with another name in place of one that its English translation has too."""
    found = [name for name in dict.fromkeys(NAME.findall(twin)) if text.count(name) == 1]
    if not found:
        return ""
    old = rng.choice(found)
    others = [name for name in pool if name.count(" ") == old.count(" ")
              and not set(name.split()) & set(twin.split())]  # fmt: skip
    return text.replace(old, rng.choice(others)) if others else ""


def negated(text: str, language: str) -> str:
    """Return the text with a negation, or an empty one."""
    words = WORDS[language]
    if size(text, language) > (70 if language in UNSPACED else 25):
        return ""
    if re.search(words["negative"], text, re.I) or text.rstrip(' "”»」').endswith(("?", "？", "؟")):
        return ""
    for pattern, new in words["negate"]:
        changed, count = re.subn(pattern, new, text, count=1)
        if count:
            return changed
    return ""


def edited(text: str, twin: str, english: str, passage: str, pool: Sequence[str], language: str,
           rng: random.Random) -> Claim | None:  # fmt: skip
    """Return a claim that an edit has made wrong, or None.

    Args:
        text: the sentence to edit.
        twin: its translation in the language of the passage.
        english: its English translation.
        passage: the passage in the language of the sentence.
        pool: names of the document, in English.
        language: of the sentence.
        rng: source of chance.
    """
    made = {
        "number": lambda: other_number(text, twin, passage, language, rng),
        "term": lambda: other_term(text, language, rng),
        "name": lambda: other_name(text, english, pool, rng),
        "negation": lambda: negated(text, language),
    }
    for kind in rng.sample(list(made), len(made)):
        if (found := made[kind]()) and found != text:
            label = "notE" if kind == "name" else "C"
            return Claim(found, label, kind, 0.8 if kind == "number" else 0.65)
    return None
