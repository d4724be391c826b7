"""The input of a check: a response and its source documents, cleaned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from halldetect.errors import InputError

# UTF-8 cannot encode lone surrogates, and a NUL ends a string in native libraries. Each becomes
# one U+FFFD, so that offsets in the given and in the stored text agree.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Reasons of reports on responses without claims.
NOTHING_ASSERTED = "the response asserts nothing that can be checked"
ABSTAINED = "the response says that it gives no answer"
ASSERTS_NOTHING = (NOTHING_ASSERTED, ABSTAINED)
# The beginnings of the reasons of reports whose check failed.
NOT_SEARCHED = "the knowledge could not be searched"
VERIFIER_FAILED = "the verifier failed"
NOT_EXTRACTED = "the claims could not be extracted"
CHECK_FAILED = (NOT_SEARCHED, VERIFIER_FAILED, NOT_EXTRACTED)

# A document is its text, or {"id": its name, "text": its text}.
SourceDocument = str | Mapping[str, str]
Source = SourceDocument | Sequence[SourceDocument]


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a response to check.

    Attributes:
        source: a text, or several documents; a document is a text, or a mapping with `id`, the name
            that views of the report show, and `text`.
        response: the text to check against the source.
        question: the question that the response answers; a short answer is judged with it.
        judge_from: where the part to judge begins; the text before it only resolves references.
        missing: also list what the source answers and the response does not.
        words: ask the verifier for the wrong words of failing claims where no rule finds them.
    """

    source: Source
    response: str
    question: str | None = None
    judge_from: int = field(default=0, kw_only=True)
    missing: bool = field(default=False, kw_only=True)
    words: bool = field(default=False, kw_only=True)


class Conversation(Pair):
    """A conversation to check: `response` is a JSON list of messages, `source` has documents."""

    __slots__ = ()


class LastTurn(Conversation):
    """A conversation of which only the last message is checked."""

    __slots__ = ()


AnyPair = Pair | tuple[Source, str] | tuple[Source, str, str | None]


@dataclass(frozen=True, slots=True)
class CleanPair:
    """A pair with storable texts; later, retrieved passages are further documents.

    `notes` are for the report. `document_names` is empty if no document has a name. `tool_calls`
    has texts whose identifiers are not invented, although they are no evidence.
    """

    documents: tuple[str, ...]
    response: str
    question: str | None
    notes: tuple[str, ...] = ()
    document_names: tuple[str, ...] = ()
    tool_calls: tuple[str, ...] = ()

    def noting(self, *notes: str) -> CleanPair:
        """Return the pair with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def clean_pair(pair: Pair) -> CleanPair:
    """Return the pair with clean texts; raise InputError for anything that is not text."""
    texts, names = split_names(pair.source)
    replaced = 0

    def clean(text: object, what: str) -> str:
        nonlocal replaced
        if not isinstance(text, str):
            raise InputError(f"{what} must be text, not {type(text).__name__}")
        cleaned, count = _UNSTORABLE.subn(REPLACEMENT, text)
        replaced += count
        return cleaned

    cleaned = CleanPair(
        documents=tuple(clean(text, f"source document {at}") for at, text in enumerate(texts)),
        response=clean(pair.response, "response"),
        question=None if pair.question is None else clean(pair.question, "question"),
        document_names=tuple(clean(name, "the id of a source document") for name in names),
    )
    note = f"{replaced} NUL or lone surrogate characters were replaced by U+FFFD"
    return cleaned.noting(note) if replaced else cleaned


def split_names(source: object) -> tuple[list[object], list[object]]:
    """Return the texts of a source, and a name for each if at least one has a name.

    The caller checks the types of texts and names. Raises InputError for anything but documents,
    and for mappings with other keys than `text` and `id`.
    """
    documents = [source] if isinstance(source, (str, Mapping)) else source
    if not isinstance(documents, Sequence) or isinstance(documents, (bytes, bytearray)):
        raise InputError(f"source must be text or a list of texts, not {type(source).__name__}")
    texts: list[object] = []
    names: list[object] = []
    named = False
    for at, document in enumerate(documents):
        name: object = f"Document {at + 1}"
        if isinstance(document, Mapping):
            if "text" not in document or not set(document) <= {"id", "text"}:
                raise InputError(f'{name} must have the key "text", and no others than "id"')
            if document.get("id") is not None:
                named, name = True, document["id"]
            document = document["text"]
        texts.append(document)
        names.append(name)
    return texts, names if named else []


def has_text(text: str) -> bool:
    """Return True if a text has more than white space and replaced characters."""
    return any(not (char.isspace() or char == REPLACEMENT) for char in text)
