"""The input of a check: a response and its source documents, cleaned."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Protocol

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

# The keys or attributes that hold the text of a retrieved document, and what is known of it.
TEXT_NAMES = ("text", "page_content", "content")
_METADATA_NAMES = ("metadata", "meta")
# Where a document without an id has its name; the page is added.
_TITLE_NAMES = ("title", "name", "file_name", "source", "url")
_PAGE_NAMES = ("page_label", "page")
Metadata = dict[str, str | int | float | bool]


class HasText(Protocol):
    """A retrieved document, as of LlamaIndex."""

    @property
    def text(self) -> str | None: ...


class HasPageContent(Protocol):
    """A retrieved document, as of LangChain."""

    @property
    def page_content(self) -> str: ...


class HasContent(Protocol):
    """A retrieved document, as of Haystack."""

    @property
    def content(self) -> str | None: ...


# A document is its text, a mapping or an object that holds it, or a record of any values.
SourceDocument = str | Mapping[str, Any] | HasText | HasPageContent | HasContent
Source = SourceDocument | Sequence[SourceDocument]


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a response to check.

    Attributes:
        source: a text, or several documents; a document is a text, or a mapping or an object with
            `text`, `page_content` or `content`, its `metadata` and perhaps `id`, the name that
            views of the report show. A mapping without a text is a record: its values are evidence.
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


# A record has `source`, `response` and perhaps `question`, as a row of `halldetect batch`.
AnyPair = Pair | tuple[Source, str] | tuple[Source, str, str | None] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CleanPair:
    """A pair with storable texts; later, retrieved passages are further documents.

    `notes` are for the report. `document_names` is empty if no document has a name, and
    `document_metadata` if none has metadata. `tool_calls` has texts whose identifiers are not
    invented, although they are no evidence.
    """

    documents: tuple[str, ...]
    response: str
    question: str | None
    notes: tuple[str, ...] = ()
    document_names: tuple[str, ...] = ()
    tool_calls: tuple[str, ...] = ()
    document_metadata: tuple[Metadata, ...] = ()

    def noting(self, *notes: str) -> CleanPair:
        """Return the pair with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def as_pair(item: AnyPair) -> Pair:
    """Return an item of a call as a pair; raise TypeError for anything else."""
    if isinstance(item, Pair):
        return item
    if not isinstance(item, (Mapping, str)):  # a string of two letters would unpack
        return Pair(*item)
    if not isinstance(item, Mapping) or not {"source", "response"} <= set(item):
        raise TypeError
    return Pair(item["source"], item["response"], item.get("question"))


def read_arguments(source: Source, response: str | None, question: str | None) -> Pair:
    """Return the pair of a call; a record may stand for source and response."""
    if response is None and isinstance(source, Mapping):
        try:
            pair = as_pair(source)
        except TypeError:
            why = "a record needs source and response; for a source, pass the response too"
            raise InputError(why) from None
        return pair if question is None else replace(pair, question=question)
    return Pair(source, response, question)  # type: ignore[arg-type]  # `clean_pair` refuses None


def read_pairs(pairs: object) -> Iterator[AnyPair]:
    """Return the items of a call with many; raise InputError for what has none."""
    if isinstance(pairs, (str, bytes, Mapping)) or not isinstance(pairs, Iterable):
        kind = type(pairs).__name__
        raise InputError(f"check_many takes pairs of source and response, not {kind}")
    return iter(pairs)


def clean_pair(pair: Pair) -> CleanPair:
    """Return the pair with clean texts; raise InputError for anything that is not text."""
    texts, names, metadata = split_documents(pair.source)
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
        document_metadata=tuple(metadata) if any(metadata) else (),
    )
    note = f"{replaced} NUL or lone surrogate characters were replaced by U+FFFD"
    return cleaned.noting(note) if replaced else cleaned


def split_documents(source: object) -> tuple[list[object], list[object], list[Metadata]]:
    """Return the texts of a source, a name for each if at least one has a name, and metadata.

    The caller checks the types of texts and names. Raises InputError for anything but documents.
    """
    is_one = isinstance(source, (str, Mapping)) or _text_name(source) is not None
    documents: Any = [source] if is_one else source
    if not isinstance(documents, Sequence) or isinstance(documents, (bytes, bytearray)):
        raise InputError(f"source must be text or a list of texts, not {type(source).__name__}")
    texts: list[object] = []
    names: list[object] = []
    known: list[Metadata] = []
    named = False
    for at, document in enumerate(documents):
        text, metadata = _split(document, f"Document {at + 1}")
        name = document.get("id") if isinstance(document, Mapping) else None
        name = _title(metadata) if name is None else name
        named = named or name is not None
        texts.append(text)
        names.append(f"Document {at + 1}" if name is None else name)
        known.append(metadata)
    return texts, names if named else [], known


def _text_name(document: object) -> str | None:
    """Return the key or attribute that holds the text of a document; None if nothing does."""
    if isinstance(document, Mapping):
        return next((name for name in TEXT_NAMES if name in document), None)
    return next((name for name in TEXT_NAMES if isinstance(_value(document, name), str)), None)


def _value(document: object, name: str) -> Any:
    if isinstance(document, Mapping):
        return document.get(name)
    return getattr(document, name, None)


def _split(document: object, name: str) -> tuple[object, Metadata]:
    """Return the text of a document and its metadata; a record is written as JSON."""
    used = _text_name(document)
    if isinstance(document, Mapping) and used is None:
        if set(document) <= {"id", "score", *_METADATA_NAMES}:
            raise InputError(f'{name} must have the key "text", or values of a record')
        try:
            return json.dumps(document, ensure_ascii=False, default=str), {}
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"{name} cannot be read as a record: {error}") from error
    if used is None or isinstance(document, str):
        return document, {}
    inner = [_value(document, key) for key in _METADATA_NAMES]
    outer = document if isinstance(document, Mapping) else {"score": _value(document, "score")}
    values = {key: value for key, value in outer.items() if key not in ("id", used)}
    for item in inner:
        values |= item if isinstance(item, Mapping) else {}
    return _value(document, used), _scalars(values)


def _scalars(values: Mapping[Any, object]) -> Metadata:
    """Return the values that are text, numbers, or true or false."""
    kept: Metadata = {}
    for key, value in values.items():
        name = _UNSTORABLE.sub(REPLACEMENT, str(key))
        if isinstance(value, str):
            kept[name] = _UNSTORABLE.sub(REPLACEMENT, value)
        elif isinstance(value, bool):
            kept[name] = value
        elif isinstance(value, Integral):
            kept[name] = int(value)
        elif isinstance(value, Real) and math.isfinite(value):  # also those of NumPy
            kept[name] = float(value)
    return kept


def _title(metadata: Metadata) -> str | None:
    """Return the name of a document by its metadata: its title and page."""
    titles = [str(metadata[name]) for name in _TITLE_NAMES if metadata.get(name)]
    pages = [f"page {metadata[name]}" for name in _PAGE_NAMES if name in metadata]
    return ", ".join([*titles[:1], *pages[:1]]) or None


def has_text(text: str) -> bool:
    """Return True if a text has more than white space and replaced characters."""
    return any(not (char.isspace() or char == REPLACEMENT) for char in text)
