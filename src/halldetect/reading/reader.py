"""From a clean pair to its `Reading`: refuse what cannot be checked, read the texts.

A problem makes the pair `Refused`, which ends its path; the other pairs of a call go on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from halldetect.errors import InputError
from halldetect.inputs import (
    ABSTAINED,
    NOTHING_ASSERTED,
    AnyPair,
    CleanPair,
    as_pair,
    clean_pair,
    has_text,
)
from halldetect.reading.answers import ANSWER_TO
from halldetect.reading.citations import cited_documents
from halldetect.reading.claims import Claim, read_claims, unchecked_parts
from halldetect.reading.copies import Copies
from halldetect.reading.document import Document, UncheckedPart
from halldetect.reading.injections import blank_injections
from halldetect.reading.languages import ENGLISH, detect, detect_all
from halldetect.reading.normalise import has_look_alikes
from halldetect.reading.response import read_response
from halldetect.reading.sources import read_source
from halldetect.reading.words import is_foreign

_NOT_ENGLISH = (
    "is not in English, the only language this verifier reads; --verifier large reads others"
)
# The languages that the verifiers read; None if they name none.
Languages = tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A pair that has no claims to judge, or whose check failed, and the reason."""

    pair: CleanPair
    reason: str
    unchecked: tuple[UncheckedPart, ...] = ()
    languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A pair that was read: the documents, and the claims of the response.

    Attributes:
        pair: The texts as given, with retrieved passages as further documents.
        documents: These texts as they are judged.
        claims: The claims to judge.
        unchecked: The parts of the response that are not judged.
        languages: Of the response and of each document; empty if all are English or nothing else
            is read.
        length: The claims in the whole response, also those that are not judged.
    """

    pair: CleanPair
    documents: tuple[Document, ...]
    claims: tuple[Claim, ...]
    unchecked: tuple[UncheckedPart, ...]
    languages: tuple[str, ...]
    length: int

    @property
    def question(self) -> str:
        """Return the question, empty without one."""
        return self.pair.question or ""

    @property
    def spoken(self) -> frozenset[str]:
        """Return the languages of all texts."""
        return frozenset((*self.languages, *(claim.language for claim in self.claims)))

    def is_english(self, at: int) -> bool:
        """Return True if a claim and all documents are English."""
        return self.claims[at].language == ENGLISH and {ENGLISH, *self.languages[1:]} == {ENGLISH}

    def is_translated(self, at: int) -> bool:
        """Return True if no document has the language of a claim."""
        return self.claims[at].language not in (self.languages[1:] or (ENGLISH,))

    def cited(self, at: int) -> list[tuple[str, int | None]]:
        """Return the label and index of each document that a claim cites."""
        names, count = self.pair.document_names, len(self.documents)
        return [
            place
            for label in self.claims[at].citations
            for place in cited_documents(label, names, count)
        ]

    def refuse(self, reason: str) -> Refused:
        """Return the end of the path of this pair."""
        return Refused(self.pair, reason, self.unchecked, self.languages)


def clean(item: AnyPair) -> CleanPair | Refused:
    """Return an item of a call with clean texts; one of wrong types is refused."""
    try:
        return clean_pair(as_pair(item))
    except InputError as error:
        reason = str(error)
    except TypeError:
        reason = "not a pair of source and response"
    return Refused(CleanPair((), "", None), reason)


def refuse(
    pair: CleanPair, *, max_source: int, max_response: int, searched: bool
) -> CleanPair | Refused:
    """Refuse a pair that is empty or too long; a search replaces an empty source."""
    if not has_text(pair.response):
        return Refused(pair, "the response is empty")
    if not searched and not any(map(has_text, pair.documents)):
        return Refused(pair, "the source has no text")
    source = sum(map(len, pair.documents))
    for name, size, limit, advice in (
        ("response", len(pair.response), max_response, "check it in parts"),
        ("source", source, max_source, "pass the part that matters"),
    ):
        if size > limit:
            why = f"has {size:,} characters, more than the limit of {limit:,}"
            return Refused(pair, f"the {name} {why}; {advice} or raise max_{name}")
    return pair


def find_languages(
    pair: CleanPair, readable: Languages
) -> tuple[CleanPair, tuple[str, ...]] | Refused:
    """Return the languages of the texts; refuse texts that no verifier reads."""
    if readable == (ENGLISH,):
        for name, texts in (("response", [pair.response]), ("source", pair.documents)):
            if is_foreign(*texts):
                return Refused(pair, f"the {name} {_NOT_ENGLISH}")
        return pair, ()
    codes = detect_all(pair.response, pair.documents)
    codes = () if set(codes) == {ENGLISH} else codes
    unread = [code for code in codes if readable is not None and code not in readable]
    if not unread:
        return pair, codes
    why = _unread(unread[0])
    if codes[0] == unread[0]:
        return Refused(pair, f"the response {why}")
    if len(unread) == len(pair.documents):
        return Refused(pair, f"the source {why}")
    return pair.noting(f"a document of the source {why}"), codes


def _unread(code: str) -> str:
    what = f"is in a language ({code}) that this verifier was not tested in"
    return what if code else "is in a language that could not be told"


def read_texts(pair: CleanPair, language: str = ENGLISH) -> tuple[tuple[Document, ...], Document]:
    """Return the source, read by sentence, and the response, read in its language by unit."""
    documents = tuple(map(read_source, pair.documents))
    return documents, read_response(pair.response, pair.question, pair.document_names, language)


def read(
    pair: CleanPair,
    languages: tuple[str, ...] = (),
    readable: Languages = None,
    statements: tuple[Claim, ...] = (),
) -> Reading | Refused:
    """Read source and response; blank text in the source that addresses the verifier.

    Statements, each a response of its own, are judged instead of the claims of the response.
    """
    blanked = [blank_injections(document) for document in pair.documents]
    injections = sum(count for _, count in blanked)
    language = languages[0] if languages else ENGLISH
    pure = replace(pair, documents=tuple(text for text, _ in blanked))
    documents, response = read_texts(pure, language)
    own = tuple(replace(claim, language=language) for claim in statements)
    claims = _judgeable(
        own or read_claims(response, language), response, Copies(documents), readable
    )
    if injections:
        were = " in the source was" if injections == 1 else "s in the source were"
        pair = pair.noting(f"{injections} prompt injection{were} ignored")
    if has_look_alikes(pair.response):
        pair = pair.noting("look-alike characters in the response were normalised")
    if not languages and any(claim.language not in (ENGLISH, "") for claim in claims):
        languages = (ENGLISH,) * (1 + len(documents))
    length = 1 if own else max(len(claims), 1)
    reading = Reading(pair, documents, claims, unchecked_parts(response), languages, length)
    if claims:
        return reading
    abstains = any(unit.abstains for unit in response.units)
    return reading.refuse(ABSTAINED if abstains else NOTHING_ASSERTED)


def _judgeable(
    claims: tuple[Claim, ...], response: Document, copies: Copies, readable: Languages
) -> tuple[Claim, ...]:
    """Return the claims as they are judged, with their languages.

    An answer that copies the source is judged without its question. A short claim has the language
    of the response. One in a language that no verifier reads has a problem, unless it copies the
    source.
    """

    def judged(claim: Claim) -> Claim:
        if claim.span is not None and claim.text.startswith(ANSWER_TO):
            own = claim.span.cut(response.text)
            claim = claim if copies.find(own) is None else replace(claim, text=own)
        if claim.language == ENGLISH and not is_foreign(claim.text):
            return claim
        others = readable != (ENGLISH,)
        code = (detect(claim.text) or claim.language) if others else ""
        claim = replace(claim, language=code)
        if readable is None or code in readable or claim.problem or copies.find(claim.text):
            return claim
        return replace(claim, problem=f"it {_unread(code) if others else _NOT_ENGLISH}")

    return tuple(map(judged, claims))


def keep_claims_from(read_pair: Reading | Refused, start: int) -> Reading | Refused:
    """Drop the claims and parts before a place; refuse a pair without a claim after it."""
    unchecked = tuple(part for part in read_pair.unchecked if part.span.end > start)
    kept = replace(read_pair, unchecked=unchecked)
    if isinstance(kept, Refused):
        return kept
    claims = tuple(claim for claim in kept.claims if claim.span is None or claim.span.end > start)
    return replace(kept, claims=claims) if claims else kept.refuse(NOTHING_ASSERTED)
