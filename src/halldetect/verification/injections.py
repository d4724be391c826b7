"""Parts of a source that talk to the verifier instead of saying something about the world.

A source may hold the question that a verifier is asked ("Is the claim true ...? Answer: Yes"),
a claim put before it, or the special tokens of a model. None of that is evidence, so it is
overwritten with spaces before the source is cut into windows: every other character keeps its
place, and the report shows the source as it was. This can only take support away from a claim,
never add any. Responses are left as they are: what is overwritten there would not be checked.
"""

from __future__ import annotations

import re

# A question to the judge, with the answer that it suggests.
_QUESTION = (
    r"(?:is|are)\s+(?:the|this|that|these|all|any|every|each)\s+(?:\w+\s+){0,3}"
    r"(?:claim|statement|hypothesis|answer|response)s?\s+(?:\w+\s+){0,2}"
    r"(?:true|correct|supported|entailed|faithful)\b[^?.!\n]{0,120}\?"
    r"(?:\s*answer\s*:)?(?:\s*(?:yes|no|maybe|true|false|supported|entailment|contradiction)\b\.?)*"
)
# A claim in the frame of the question, as the large verifier is asked.
_FRAME = rf"\bclaim\s*:(?:(?!\bclaim\s*:).){{1,600}}?{_QUESTION}"
_LABELLED_PAIR = (
    r"\bhypothesis\s*:(?:(?!\bhypothesis\s*:).){1,600}?"
    r"\b(?:label|answer)\s*:\s*(?:entailment|neutral|contradiction|yes|no|maybe|true|false)\b"
)
_SPECIAL_TOKENS = (
    r"<\|[a-z_]{1,40}\|>|</?s>|\[(?:SEP|CLS|MASK|PAD|UNK)\]|<(?:mask|pad|unk|cls|sep)>"
)
_INJECTION = re.compile(
    "|".join((_FRAME, _LABELLED_PAIR, _QUESTION, _SPECIAL_TOKENS)), re.IGNORECASE | re.DOTALL
)


def blank_injections(text: str) -> tuple[str, int]:
    """The text with spaces for what talks to the verifier, and the number of such places.

    Args:
        text: a document of the source. The result has the same length.
    """
    return _INJECTION.subn(lambda found: " " * len(found.group()), text)
