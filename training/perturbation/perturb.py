"""Edit a faithful text so that it becomes wrong in one known way.

Edits come from rules and word lists, without a model. All randomness comes from the given
`random.Random`, so edits are reproducible. An edited text differs from the original in one place.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import lru_cache

from halldetect.errors import InputError
from training.perturbation import name_edits, quantity_edits, wording_edits
from training.perturbation.edit import Edit

_Maker = Callable[[str, str, random.Random], list[Edit]]

_MAKERS: dict[str, _Maker] = {
    "number": quantity_edits.number,
    "date": quantity_edits.date,
    "entity": name_edits.entity,
    "negation": wording_edits.negation,
    "unit": quantity_edits.unit,
    "quantifier": wording_edits.quantifier,
    "modality": wording_edits.modality,
    "comparison": wording_edits.comparison,
    "antonym": wording_edits.antonym,
}
KINDS: tuple[str, ...] = tuple(_MAKERS)


def perturb(sentence: str, source: str, kind: str, rng: random.Random) -> str | None:
    """Return a text with one edit of one kind, or None if no such edit applies."""
    maker = _MAKERS.get(kind)
    if maker is None:
        raise InputError(f"no perturbation {kind!r}; there are {', '.join(KINDS)}")
    candidates = maker(sentence, source, rng)
    rng.shuffle(candidates)
    source_words = _plain(source)
    for edit in candidates:
        text = _with_fitting_article(edit.apply(sentence), edit)
        if _plain(text) != _plain(sentence) and _plain(text) not in source_words:
            return text
    return None


@lru_cache(maxsize=512)
def _plain(text: str) -> str:
    return " ".join(re.findall(r"[\w%$£€.,]+", text.lower()))


def _with_fitting_article(text: str, edit: Edit) -> str:
    """Correct 'a' or 'an' before the edited word."""
    article = re.search(r"\b([Aa])(n?) $", text[: edit.start])
    word = re.match(r"[\w$£€]+", edit.text)
    if not article or not word:
        return text
    wanted = article[1] + ("n" if _vowel_sound(word.group()) else "")
    return text[: article.start()] + wanted + " " + text[edit.start :]


def _vowel_sound(word: str) -> bool:
    lowered = word.lower()
    if lowered[0].isdigit():
        return lowered.startswith("8") or re.match(r"(?:11|18)(?!\d)", lowered) is not None
    if re.match(r"(?:uni|use|eu|one|once|ukr|usa)", lowered):
        return False
    return lowered[0] in "aeiou" or re.match(r"(?:hour|honest|heir|honour)", lowered) is not None
