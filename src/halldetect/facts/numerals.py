"""Numbers in digits of any script and in the notation of any language.

"1.234,5", "1,234.5" and "1 234,5" are one number, and "१९९८" is 1998. A notation with two meanings
("1.234") has both values.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_NUMBER = re.compile(
    r"(?<![A-Za-z_\d.,])\d+(?:(?:[.,٫٬'’]\d+)|[ \u00a0\u202f]\d{3}(?!\d))*(?![.,]?\d)"
)
_DATE = re.compile(r"(?<!\d)\d{1,2}[./]\d{1,2}[./](?=\d{2,4}(?!\d))")
_SIGN = re.compile(r"[^\d]")
# "3万", "2 млн", "5 लाख": a number may be written as digits and a word.
_SCALES = (1.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e12)
# 3 pm is 15:00; a year of the Buddhist and of the Persian calendar is that of the common one.
_CALENDARS = (0.0, 12.0, 543.0, 621.0, 622.0)


def values(number: str) -> set[float]:
    """Return the values that a number in digits may have."""
    plain = "".join(str(unicodedata.digit(char, char)) for char in number)
    signs = [sign for sign in _SIGN.findall(plain) if not sign.isspace()]
    parts = _SIGN.split(plain)
    whole = float("".join(parts))
    if not signs or len(parts) < 2:
        return {whole}
    decimal = float(f"{''.join(parts[:-1])}.{parts[-1]}")
    if signs.count(signs[-1]) > 1:  # a decimal sign occurs once
        return {whole}
    grouped = all(len(part) == 3 for part in parts[1:]) and len(set(signs)) == 1
    return {whole, decimal} if grouped else {decimal}


def numerals(text: str) -> list[str]:
    """Return the numbers of a text, as written, and of "12.5.1998" the year."""
    return _NUMBER.findall(_DATE.sub(" ", text))


def unknown_numerals(claim: str, texts: Iterable[str], least: float = 0.0) -> list[str]:
    """Return the numbers of a claim that no text has, in any notation, from `least` on."""
    wanted = [number for number in numerals(claim) if min(values(number)) >= least]
    if not wanted:
        return []
    known = {value for text in texts for number in numerals(text) for value in values(number)}
    return [number for number in wanted if not _is_known(values(number), known)]


def _is_known(found: set[float], known: set[float]) -> bool:
    return any(
        round(value * scale, 4) in known
        or round(value / scale, 4) in known
        or value + offset in known
        or value - offset in known
        for value in found
        for scale in _SCALES
        for offset in _CALENDARS
    )
