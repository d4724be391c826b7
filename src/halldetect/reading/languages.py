"""The languages of texts.

A verifier of one language needs only `words.is_foreign`. For all others, py3langid, which comes
with the extra `large`, tells the languages apart. Without it a text is English or of an unknown
language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from halldetect.reading.words import is_foreign, is_foreign_script, looks_english

ENGLISH = "en"
# The languages that `large` judges; docs/languages.md has the figures of those that were measured.
LANGUAGES = {
    "en": "English", "de": "German", "es": "Spanish", "fr": "French", "it": "Italian",
    "pt": "Portuguese", "nl": "Dutch", "pl": "Polish", "ru": "Russian", "ar": "Arabic",
    "hi": "Hindi", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "tr": "Turkish",
    "vi": "Vietnamese", "th": "Thai", "id": "Indonesian", "fa": "Persian",
}  # fmt: skip
# Languages that share a script with those above and must not be taken for them.
_OTHERS = (
    "uk bg sr mk be kk ur ps ku mr ne ca gl ro sv da no nn fi hu cs sk sl hr et lv lt sq eu ga cy "
    "is af ms tl sw az uz lb la el he hy ka bn ta te ml kn gu pa si km lo my am"
).split()
# Malay is written as Indonesian is.
_SAME = {"ms": "id", "nn": "no"}
# Characters from the beginning and from the middle of a text that are read.
_READ = 150
# Words in Latin script, or letters in another one, that a text needs.
_MIN_WORDS, _MIN_LETTERS = 4, 4
# Below these probabilities the language of a text is not known.
_SURE_LATIN, _SURE, _SURE_OF_OTHERS = 0.7, 0.4, 0.8
_NOT_WORDS = re.compile(r"https?://\S+|\S+@\S+|`[^`\n]*`|[!-~]*[_{}<>=\\|()\[\]/][!-~]*|\d+")


def detect(text: str) -> str:
    """Return the code of the language of a text; "" if it is short or not clear."""
    middle = max(_READ, len(text) // 2)
    sample = text[:_READ] + " " + text[middle : middle + _READ]
    english = looks_english(sample)
    if english:
        return ENGLISH
    sample = _NOT_WORDS.sub(" ", sample)
    other_script = is_foreign_script(sample)
    enough = sum(map(str.isalpha, sample)) if other_script else len(sample.split())
    if enough < (_MIN_LETTERS if other_script else _MIN_WORDS):
        return ""
    identifier = _identifier()
    if identifier is None:
        return "" if is_foreign(sample) else ENGLISH
    found: dict[str, float] = {}
    for code, share in identifier.rank(sample):
        found[_SAME.get(code, code)] = found.get(_SAME.get(code, code), 0.0) + share
    best = max(found, key=lambda code: found[code])
    enough_share = _SURE if other_script else _SURE_LATIN
    if found[best] < (enough_share if best in LANGUAGES else _SURE_OF_OTHERS):
        return ""
    # A short English sentence with foreign names.
    return "" if english is None and best != ENGLISH else best


@cache
def _identifier() -> Any:
    # Imported on first use: it takes a second and 90 MB.
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*LANGUAGES, *_OTHERS])
    return identifier


def detect_all(response: str, documents: Sequence[str]) -> tuple[str, ...]:
    """Return the languages of a response and of each document.

    An unclear text has the language of the others, or English. A text in another script whose
    language nothing tells has none ("").
    """
    texts = (response, *documents)
    found = [detect(text) for text in texts]
    known = next(filter(None, found), ENGLISH)

    def fitting(text: str, code: str) -> str:
        strange = not code and is_foreign_script(text) and known == ENGLISH
        return code or ("" if strange else known)

    return tuple(map(fitting, texts, found))


def name_of(code: str) -> str:
    """Return the name of a language for messages."""
    return LANGUAGES.get(code) or (f"a language with the code {code}" if code else "unknown")
