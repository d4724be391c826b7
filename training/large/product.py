"""Everything that training takes from the package, in one place."""

from __future__ import annotations

from functools import lru_cache

from halldetect.large.answer_prompt import Prompt
from halldetect.large.shape import Shape, head_tensor
from halldetect.models.gguf import GgufFile
from halldetect.reading.sentences import sentences
from training.perturbation import lexicon
from training.perturbation import proper_names as names
from training.perturbation.perturb import KINDS, perturb

__all__ = [
    "KINDS",
    "GgufFile",
    "Prompt",
    "Shape",
    "head_tensor",
    "lexicon",
    "names",
    "perturb",
    "spans",
    "split",
]


@lru_cache(maxsize=4096)
def split(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, as strings.

    Args:
        text: any text; no sentence crosses the end of a line.
    """
    return tuple(span.cut(text) for span in sentences(text))


def spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of the sentences of a text.

    Args:
        text: any text.
    """
    return [(span.start, span.end) for span in sentences(text)]
