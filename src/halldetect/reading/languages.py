"""The languages of texts, told apart by py3langid, which comes with the extra `large`.

Without it, a text is English or of an unknown language. A verifier that reads English only needs no
more than `words.is_foreign`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from halldetect.errors import ModelError
from halldetect.reading.words import is_foreign, is_foreign_script, looks_english, remembered

ENGLISH = "en"
# What `large` judges; docs/languages.md has the figures of those that were measured.
LANGUAGES = tuple("en de es fr it pt nl pl ru ar hi zh ja ko tr vi th id fa".split())
# Languages that share a script with those above and must not be confused with them. Malay, which is
# written as Indonesian is, may be.
_OTHERS = (
    "uk bg sr mk be kk ur ps ku mr ne ca gl ro sv da no fi hu cs sk sl hr et lv lt sq eu ga cy "
    "is af tl sw az uz lb la el he hy ka bn ta te ml kn gu pa si km lo my am"
).split()
# Characters from the beginning and from the middle of a text that are read.
_READ = 150
# Words in Latin script, or letters in another one, that a text needs.
_MIN_WORDS = _MIN_LETTERS = 4
# Below these probabilities, the language of a text is not known.
_SURE_LATIN, _SURE, _SURE_OF_OTHERS = 0.7, 0.4, 0.8
_NOT_WORDS = re.compile(r"https?://\S+|\S+@\S+|`[^`\n]*`|[!-~]*[_{}<>=\\|()\[\]/][!-~]*|\d+")


@remembered(1024)
def detect(text: str) -> str:
    """Return the code of the language of a text; "" if it is short or not clear."""
    middle = max(_READ, len(text) // 2)
    sample = text[:_READ] + " " + text[middle : middle + _READ]
    english = looks_english(sample)
    if english:
        return ENGLISH
    sample = _NOT_WORDS.sub(" ", sample)
    latin = not is_foreign_script(sample)
    letters = sum(map(str.isalpha, sample))
    if letters < _MIN_LETTERS or (latin and len(sample.split()) < _MIN_WORDS):
        return ""
    try:
        identifier = _identifier()
    except OSError as error:  # it unpacks its model into a temporary file
        if is_foreign(sample):
            raise ModelError(f"cannot detect the language of a text: {error}") from error
        return ENGLISH
    if identifier is None:
        return "" if is_foreign(sample) else ENGLISH
    best, share = identifier.rank(sample)[0]
    # Function words that may be English: a short English sentence with foreign names.
    doubtful = english is None and best != ENGLISH
    sure = _SURE_OF_OTHERS if best not in LANGUAGES else _SURE_LATIN if latin else _SURE
    return "" if doubtful or share < sure else best


@cache
def _identifier() -> Any:
    try:  # on first use: it takes a second and 90 MB
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*LANGUAGES, *_OTHERS])
    return identifier


def detect_all(response: str, documents: Sequence[str]) -> tuple[str, ...]:
    """Return the languages of a response and of each document.

    An unclear text has the language of the others, or English if its letters are Latin.
    """
    texts = (response, *documents)
    found = [detect(text) for text in texts]
    known = next(filter(None, found), ENGLISH)
    unclear = ["" if known == ENGLISH and is_foreign_script(text) else known for text in texts]
    return tuple(code or other for code, other in zip(found, unclear, strict=True))
