"""The steps before the verifier: clean, refuse, read, search.

Each step takes a frozen value and returns a new one. A failure becomes the problem of its pair and
does not stop the other pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from halldetect.config import Configuration
from halldetect.errors import InputError, described
from halldetect.inputs import (
    ABSTAINED,
    NOTHING_ASSERTED,
    AnyPair,
    CleanPair,
    Pair,
    clean_pair,
    has_text,
    read_texts,
)
from halldetect.knowledge.passages import Knowledge
from halldetect.knowledge.retrieval import retrieve
from halldetect.reading.answers import ANSWER_TO
from halldetect.reading.citations import cited_documents
from halldetect.reading.claims import Claim, read_claims, unchecked_parts
from halldetect.reading.document import Document, UncheckedPart
from halldetect.reading.languages import ENGLISH, detect, detect_all
from halldetect.reading.normalise import has_look_alikes
from halldetect.reading.words import is_foreign
from halldetect.report import ClaimReport, Status
from halldetect.verification.copies import Copies
from halldetect.verification.injections import blank_injections
from halldetect.verification.judging import Judgement

NOT_SEARCHED = "the knowledge could not be searched"
VERIFIER_FAILED = "the verifier failed"
_NOT_ENGLISH = (
    "is not in English, the only language this verifier reads; --verifier large reads others"
)
# The languages that the verifiers read; None if they name none.
Languages = tuple[str, ...] | None
# The beginnings of the reasons of reports whose check failed.
CHECK_FAILED = (NOT_SEARCHED, VERIFIER_FAILED, "the claims could not be extracted")


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that is known about a pair; each step returns it with more.

    A `problem` skips all further steps. Claims that are given before the texts are read are judged
    instead of those of the response.
    """

    pair: CleanPair  # with retrieved passages as further documents
    index: int = 0  # in the call
    documents: tuple[Document, ...] = ()
    claims: tuple[Claim, ...] = ()
    length: int = 1  # claims in the whole response
    unchecked: tuple[UncheckedPart, ...] = ()
    problem: str | None = None
    abstained: bool = False  # the response only says that it gives no answer
    not_found: frozenset[int] = frozenset()  # claims for which no passage was retrieved
    # Of the response and of each document; empty if all are English or nothing else is read.
    languages: tuple[str, ...] = ()
    known: tuple[str, ...] = ()  # further texts whose identifiers are not invented
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)  # per phase
    reports: tuple[ClaimReport, ...] = ()
    answers: tuple[tuple[str, Judgement], ...] = ()  # by the statement that was judged

    @property
    def spoken(self) -> frozenset[str]:
        """Return the languages of all texts."""
        return frozenset((*self.languages, *(claim.language for claim in self.claims)))

    @property
    def question(self) -> str:
        """Return the question, empty if none is given."""
        return self.pair.question or ""

    def spending(self, phase: str, seconds: float) -> Findings:
        """Return the pair with more time spent in a phase."""
        spent = self.seconds.get(phase, 0.0) + seconds
        return replace(self, seconds={**self.seconds, phase: spent})

    def noting(self, note: str) -> Findings:
        """Return the pair with a further note."""
        return replace(self, notes=(*self.notes, note))

    def is_english(self, at: int) -> bool:
        """Return True if a claim and all documents are English."""
        return self.claims[at].language == ENGLISH and {ENGLISH, *self.languages[1:]} == {ENGLISH}

    def is_translated(self, at: int) -> bool:
        """Return True if no document has the language of a claim."""
        return self.claims[at].language not in (self.languages[1:] or (ENGLISH,))

    def adding(
        self, reports: Sequence[ClaimReport], answers: Sequence[tuple[str, Judgement]] = ()
    ) -> Findings:
        """Return the findings with other outcomes and further answers."""
        return replace(self, reports=tuple(reports), answers=(*self.answers, *answers))

    def statement(self, at: int) -> str:
        """Return a claim in the form that was judged."""
        return self.reports[at].read_as or self.claims[at].text

    def cited(self, at: int) -> list[tuple[str, int | None]]:
        """Return the label and index of each document that a claim cites."""
        names, count = self.pair.document_names, len(self.documents)
        return [
            found
            for cited in self.claims[at].citations
            for found in cited_documents(cited, names, count)
        ]

    def known_support(self, at: int, document: int) -> bool:
        """Return True if a passage that supports a claim is in this document."""
        report = self.reports[at]
        supported = report.status is Status.SUPPORTED
        return supported and any(passage.document == document for passage in report.passages)


def clean(item: AnyPair, index: int) -> Findings:
    """Return an item of `check_many` as a prepared pair; wrong types become its problem."""
    try:
        if isinstance(item, str):  # a string of two letters would unpack into a pair
            raise TypeError
        return Findings(clean_pair(item if isinstance(item, Pair) else Pair(*item)), index)
    except InputError as error:
        problem = str(error)
    except TypeError:
        problem = "not a pair of source and response"
    return Findings(CleanPair((), "", None), index, problem=problem)


def refuse(prepared: Findings, config: Configuration) -> Findings:
    """Refuse a pair that is empty or too long; an index replaces an empty source."""
    pair = prepared.pair
    if prepared.problem is not None:
        return prepared
    if not has_text(pair.response):
        return replace(prepared, problem="the response is empty")
    if config.knowledge is None and not any(map(has_text, pair.documents)):
        return replace(prepared, problem="the source has no text")
    source = sum(map(len, pair.documents))
    for name, size, limit, advice in (
        ("response", len(pair.response), config.max_response, "check it in parts"),
        ("source", source, config.max_source, "pass the part that matters"),
    ):
        if size > limit:
            why = f"has {size:,} characters, more than the limit of {limit:,}"
            return replace(prepared, problem=f"the {name} {why}; {advice} or raise max_{name}")
    return prepared


def prepare(prepared: Findings, known: Languages, knowledge: Knowledge | None) -> Findings:
    """Read the texts of a pair, and search for evidence if there is an index."""
    if prepared.problem is None:
        prepared = refuse_language(prepared, known)
    if prepared.problem is None:
        prepared = read(prepared, known)
    if prepared.problem is None and knowledge is not None:
        prepared = search(prepared, knowledge)
    return prepared


def refuse_language(prepared: Findings, known: Languages) -> Findings:
    """Find the languages of the texts; refuse texts that no verifier reads."""
    pair = prepared.pair
    if known == (ENGLISH,):
        for name, texts in (("response", [pair.response]), ("source", pair.documents)):
            if is_foreign(*texts):
                return replace(prepared, problem=f"the {name} {_NOT_ENGLISH}")
        return prepared
    found = detect_all(pair.response, pair.documents)
    found = () if set(found) == {ENGLISH} else found
    unread = [code for code in found if known is not None and code not in known]
    known_now = replace(prepared, languages=found)
    if not unread:
        return known_now
    why = _unread(unread[0])
    if found[0] == unread[0]:
        return replace(prepared, problem=f"the response {why}")
    if len(unread) == len(pair.documents):
        return replace(prepared, problem=f"the source {why}")
    return known_now.noting(f"a document of the source {why}")


def _unread(code: str) -> str:
    told = f"is in a language ({code}) that this verifier was not tested in"
    return told if code else "is in a language that could not be told"


def read(prepared: Findings, known: Languages) -> Findings:
    """Read source and response; blank text in the source that addresses the verifier."""
    started = perf_counter()
    pair = prepared.pair
    blanked = [blank_injections(document) for document in pair.documents]
    injections = sum(count for _, count in blanked)
    language = prepared.languages[0] if prepared.languages else ENGLISH
    pure = replace(pair, documents=tuple(text for text, _ in blanked))
    documents, response = read_texts(pure, language)
    given = tuple(replace(claim, language=language) for claim in prepared.claims)
    claims = _judgeable(
        given or read_claims(response, language), response, Copies(documents), known
    )
    if injections:
        were = " in the source was" if injections == 1 else "s in the source were"
        prepared = prepared.noting(f"{injections} prompt injection{were} ignored")
    if has_look_alikes(pair.response):
        prepared = prepared.noting("look-alike characters in the response were normalised")
    abstained = not claims and any(unit.abstains for unit in response.units)
    languages = prepared.languages
    if not languages and any(claim.language not in (ENGLISH, "") for claim in claims):
        languages = (ENGLISH,) * (1 + len(documents))
    prepared = replace(
        prepared,
        languages=languages,
        documents=documents,
        claims=claims,
        length=1 if given else max(len(claims), 1),
        unchecked=unchecked_parts(response),
        problem=None if claims else ABSTAINED if abstained else NOTHING_ASSERTED,
        abstained=abstained,
    )
    return prepared.spending("read", perf_counter() - started)


def _judgeable(
    claims: tuple[Claim, ...], response: Document, copies: Copies, known: Languages
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
        others = known != (ENGLISH,)
        code = (detect(claim.text) or claim.language) if others else ""
        claim = replace(claim, language=code)
        if known is None or code in known or claim.problem or copies.find(claim.text):
            return claim
        return replace(claim, problem=f"it {_unread(code) if others else _NOT_ENGLISH}")

    return tuple(map(judged, claims))


def search(prepared: Findings, knowledge: Knowledge) -> Findings:
    """Add the passages found for the claims to the source."""
    started = perf_counter()
    try:
        pair, documents, not_found = retrieve(prepared.pair, prepared.claims, knowledge)
    except Exception as error:
        return replace(prepared, problem=f"{NOT_SEARCHED}: {described(error)}")
    prepared = replace(
        prepared,
        pair=pair,
        documents=(*prepared.documents, *documents),
        languages=prepared.languages
        and (*prepared.languages, *(detect(item.text) or ENGLISH for item in documents)),
        not_found=not_found,
    )
    return prepared.spending("retrieve", perf_counter() - started)


def keep_claims_from(prepared: Findings, start: int) -> Findings:
    """Drop the claims and parts before a place; set a problem if no claim is left."""
    unchecked = tuple(part for part in prepared.unchecked if part.span.end > start)
    if prepared.problem is not None:
        return replace(prepared, unchecked=unchecked)
    kept = [
        at
        for at, claim in enumerate(prepared.claims)
        if claim.span is None or claim.span.end > start
    ]
    return replace(
        prepared,
        claims=tuple(prepared.claims[at] for at in kept),
        unchecked=unchecked,
        not_found=frozenset(new for new, at in enumerate(kept) if at in prepared.not_found),
        problem=None if kept else NOTHING_ASSERTED,
    )
