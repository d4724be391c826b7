"""The repair procedure: check, change each failing sentence, check again.

A sentence with an unsupported claim goes through these steps: its words are replaced by words of
the source (`corrections`), a phrase is left out (`phrases`), the sentence is removed. A proposal
is accepted only if it repeats one fact of the source (`proposals`) and the verifier supports it;
then the whole text is checked again, sentence by sentence. A sentence that still fails gets the
next step, and after `max_rounds` every failing sentence is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from time import perf_counter
from typing import Protocol

from halldetect.errors import ConfigurationError
from halldetect.inputs import Pair, Source
from halldetect.protocols import Verifier
from halldetect.reading.document import Span
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.references import readings
from halldetect.reading.response import read_response
from halldetect.reading.sentences import read_document
from halldetect.reading.words import NEGATIONS, may_be_verb, normalize, words
from halldetect.repair.outcome import Action, Change, Method, Outcome, Repair, is_mended
from halldetect.repair.proposals import Proposal, Proposals
from halldetect.repair.revision import Revision, Sentence, split_marks
from halldetect.report import ClaimReport, Probabilities, Report, Status, Verdict

STEPS = (Method.REPLACE, Method.SHORTEN)
# Proposals per sentence and step that the verifier judges.
MAX_PROPOSALS = 12
# Changes of one kind per sentence.
MAX_CHANGES = {Method.REPLACE: 2, Method.SHORTEN: 3}
# A proposal longer than the sentence by more than this factor says something else.
MAX_GROWTH = 1.6
# The share of content words that a changed sentence must keep to be the same sentence.
MIN_KEPT = {Method.REPLACE: 0.5, Method.SHORTEN: 0.0}
_REFERRING = frozenset(
    "he she it they his her its their this these those that such both neither".split()
)


class Checks(Protocol):
    """The part of a detector that a repair needs."""

    def check(self, source: Source, response: str, *, question: str | None = None) -> Report:
        """Check a whole response."""
        ...

    def judge(self, items: Sequence[tuple[Source, Sequence[str]]]) -> list[list[ClaimReport]]:
        """Judge statements unchanged, each against its source."""
        ...


class RememberingVerifier:
    """Returns the answers of another verifier and computes each of them once."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._answers: dict[tuple[str, str], Probabilities] = {}
        self.description = verifier.description
        self.max_tokens = verifier.max_tokens
        self.pairs_at_once = verifier.pairs_at_once
        self.reads_whole_sources = verifier.reads_whole_sources
        self.count_tokens = verifier.count_tokens
        self.unknown_words = verifier.unknown_words

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the answers; pairs that were judged before are not judged again."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._answers]
        if new:
            self._answers.update(zip(new, self._verifier.judge(new), strict=True))
        return [self._answers[pair] for pair in pairs]


class Repairer:
    """Repairs responses with one detector; after `max_rounds` failing sentences are removed."""

    def __init__(self, detector: Checks, *, max_rounds: int = 3) -> None:
        if max_rounds < 1:
            raise ConfigurationError(f"max_rounds must be a whole number from 1, not {max_rounds}")
        self._detector = detector
        self._max_rounds = max_rounds

    def repair(self, pair: Pair) -> Repair:
        """Repair one response; the result has passed the check, or the repair has failed."""
        started = perf_counter()
        outcome = self._mend(pair, self._check(pair, pair.response))
        return replace(outcome, seconds=round(perf_counter() - started, 4))

    def _check(self, pair: Pair, text: str) -> Report:
        return self._detector.check(pair.source, text, question=pair.question)

    def _mend(self, pair: Pair, original: Report) -> Repair:
        def failed(reason: str) -> Repair:
            return Repair(Outcome.FAILED, None, reason, None, original, ())

        if not original.claims:
            return failed(original.reason or "the response has nothing that can be checked")
        revision = Revision(read_document(original.response))
        proposals = Proposals(original.response, original.documents)
        report = original
        # The loop ends: each round after the first ones removes a sentence.
        for number in range(self._max_rounds + 2 * len(revision.sentences) + 1):
            text, places = revision.compose()
            if not any(place is not None for place in places):
                return failed("no sentence of the response is left")
            if number:
                report = self._check(pair, text)
            failing = _failing(revision, places, report)
            if not failing and is_mended(report, text):
                outcome = Outcome.UNCHANGED if text == original.response else Outcome.REPAIRED
                return Repair(outcome, text, None, report, original, _changes(revision, original))
            if not failing:
                break
            # The rules that rewrite a sentence know English words only.
            rewrite = number < self._max_rounds and not original.languages
            for step in STEPS if rewrite else ():
                failing = self._change(step, failing, revision, proposals)
            for at in failing:
                revision.sentences[at].remove()
            if not original.languages:
                _remove_referring(revision)
            revision.remove_introductions()
        return failed(report.reason or "the rest is not supported either")

    def _change(
        self, step: Method, failing: list[int], revision: Revision, proposals: Proposals
    ) -> list[int]:
        """Replace sentences by accepted proposals; return those that still fail.

        For shortening, the longest accepted sentence wins; otherwise, the best supported one.
        """
        nearest = {at: revision.sentences[at].before for at in failing}
        changed: set[int] = set()
        for _ in range(MAX_CHANGES[step]):  # one change may not be enough
            said = {_key(other.after) for other in revision.sentences if other.after is not None}
            usable = {}
            for at, text in nearest.items():
                sentence = revision.sentences[at]
                usable[at] = [
                    item
                    for item in proposals.of(step, text)
                    if item.text not in sentence.tried
                    and _key(item.text) not in said
                    and _is_change_of(item.text, sentence.before, step)
                ][:MAX_PROPOSALS]
            claims = self._judge([item for group in usable.values() for item in group])
            nearest = {}
            for at, group in usable.items():
                accepted = [
                    item
                    for item in group
                    if item.one_fact and claims[item].status is Status.SUPPORTED
                ]
                if accepted and step is Method.SHORTEN:
                    best = max(accepted, key=lambda item: len(item.text))
                elif group:
                    best = max(accepted or group, key=lambda item: claims[item].support or 0.0)
                if accepted:
                    revision.sentences[at].change(best.text, step)
                    changed.add(at)
                elif group:
                    nearest[at] = best.text
        return [at for at in failing if at not in changed]

    def _judge(self, proposals: Sequence[Proposal]) -> dict[Proposal, ClaimReport]:
        """Judge each proposal against its evidence only; the whole text is checked later."""
        items = [(item.evidence, [split_marks(item.text)[1]]) for item in proposals]
        judged = self._detector.judge(items) if items else []
        return {item: claim for item, (claim,) in zip(proposals, judged, strict=True)}


def _remove_referring(revision: Revision) -> None:
    """Remove the sentences that refer to a removed one."""
    text = revision.response.text
    for before, sentence in pairwise(revision.sentences):
        if sentence.after is None or before.after is not None:
            continue
        refers = readings([before.before, sentence.after])[1] or _refers(sentence.after)
        if refers and "\n" not in text[before.span.end : sentence.span.start]:
            sentence.remove("it refers to a sentence that was removed")


def _failing(revision: Revision, places: Sequence[Span | None], report: Report) -> list[int]:
    """Return the indices of the sentences to change, and record the reason for each.

    These are the sentences of unsupported claims, and changed sentences without a claim, which
    would pass unchecked. An unchanged claim may stay if it is below a high threshold.
    """
    wrong = [claim for claim in report.claims if claim.status is not Status.SUPPORTED]
    if not wrong and report.verdict is not Verdict.FAITHFUL and report.claims:
        wrong = [min(report.claims, key=lambda claim: claim.support or 0.0)]
    if any(claim.span is None for claim in wrong):  # their sentence is unknown
        return []
    spans = [claim.span for claim in report.claims if claim.span is not None]
    found = []
    for at, (sentence, place) in enumerate(zip(revision.sentences, places, strict=True)):
        if place is None:
            continue
        own = [
            claim
            for claim in wrong
            if claim.span is not None
            and claim.span.overlaps(place)
            and (claim.status is Status.SUPPORTED or sentence.method or not report.passes(claim))
        ]
        if own:
            worst = min(own, key=lambda claim: claim.support or 0.0)
            sentence.why = sentence.why or _why(worst)
            sentence.evidence = sentence.evidence or worst.proof
        elif sentence.method is None or any(span.overlaps(place) for span in spans):
            continue
        sentence.why = sentence.why or "it could not be checked"
        found.append(at)
    return found


def _why(claim: ClaimReport) -> str:
    if claim.status is Status.CONTRADICTED:
        return "the source says otherwise"
    if claim.status is Status.UNCHECKABLE:
        return f"it could not be checked: {claim.reason}"
    return claim.reason or "nothing in the source says so"


def _is_change_of(text: str, before: str, step: Method) -> bool:
    """Return True if a proposal is one asserting sentence on the same topic."""
    if len(text) > MAX_GROWTH * len(before) + 40 or "\n" in text.strip():
        return False
    if shared_part(content_keys(before), content_keys(text)) < MIN_KEPT[step]:
        return False
    verbs = [any(may_be_verb(word.norm) for word in words(part)) for part in (before, text)]
    if verbs == [True, False]:
        return False
    units = read_response(text).units
    return len(units) == 1 and units[0].asserts


def _key(text: str) -> str:
    """Return a key that is equal for sentences with the same words."""
    return " ".join(normalize(split_marks(text)[1]).split()).rstrip(".!")


def _refers(sentence: str) -> bool:
    """Return True if a sentence begins with a reference to the previous one."""
    spoken = words(split_marks(sentence)[1][:100])
    return bool(spoken) and spoken[0].norm in _REFERRING


def _changes(revision: Revision, original: Report) -> tuple[Change, ...]:
    """Return the treatment of each sentence, with the supported claims it removes."""
    changes: list[Change] = []
    for item, place in zip(revision.sentences, revision.compose()[1], strict=True):
        if item.after == item.before:
            changes.append(Change(Action.KEPT, item.before, item.after, item.span, place))
            continue
        action = Action.REMOVED if item.after is None else Action.CHANGED
        why = (item.method, item.why, item.evidence, _lost(item, original))
        changes.append(Change(action, item.before, item.after, item.span, place, *why))
    return tuple(changes)


def _lost(sentence: Sentence, original: Report) -> tuple[str, ...]:
    """Return the supported claims whose words are not all, in order, in the new sentence."""
    after = [word.norm for word in words(sentence.after or "")]
    found = []
    for claim in original.claims:
        own = claim.span is not None and claim.span.overlaps(sentence.span)
        if own and claim.status is Status.SUPPORTED:
            wanted = [word.norm for word in words(claim.text)]
            remaining = iter(after)
            said = all(norm in remaining for norm in wanted)
            if not said or not NEGATIONS.intersection(after) <= set(wanted):
                found.append(claim.text)
    return tuple(found)
