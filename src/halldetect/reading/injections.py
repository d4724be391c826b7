"""Prompt injections: parts of a source that address the verifier.

A source may hold the question that a verifier is asked ("Is the claim true ...? Answer: Yes"),
a claim before it, or the special tokens of a model. These are not evidence, so spaces replace
them before the source is cut into windows: every other character keeps its place, and the report
shows the original source. This can only remove support from a claim, never add any. Responses
stay unchanged: text that is replaced there would not be checked.
"""

from __future__ import annotations

import re

from halldetect.reading.words import remembered

# A question to the judge, with the answer that it suggests.
_QUESTION = (
    r"(?:is|are)\s+(?:the|this|that|these|all|any|every|each)\s+(?:\w+\s+){0,3}"
    r"(?:claim|statement|hypothesis|answer|response)s?\s+(?:\w+\s+){0,2}"
    r"(?:true|correct|supported|entailed|faithful)\b[^?.!\n]{0,120}\?"
    r"(?:\s*answer\s*:)?(?:\s*(?:yes|no|maybe|true|false|supported|entailment|contradiction)\b\.?)*"
)
# A claim in the frame of the large verifier's question.
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
# Each injection has one of these; the expression above is slow.
_IN_INJECTIONS = ("claim", "statement", "hypothesis", "answer", "response", "<", "[")


@remembered(512)
def blank_injections(text: str) -> tuple[str, int]:
    """Return the text with spaces in place of injections, and the number of injections.

    The result has the same length as the text.
    """
    if text.isascii() and not any(map(text.lower().__contains__, _IN_INJECTIONS)):
        return text, 0
    return _INJECTION.subn(lambda found: " " * len(found.group()), text)
