"""The procedure of a repair: check, change what fails, check again.

For each sentence with a claim that the source does not support, in this order: words of it are
replaced by words of the source (`replacements`), a language model writes it again (`rewriters`),
a part of it is left out, the sentence is removed. A proposal is taken only if the verifier
supports it; then the whole text is checked anew, as any response is. A sentence that still fails
gets what comes next in the order, and after `max_rounds` all that fails is removed.

With a threshold above the usual one, a claim may be unclear: not supported, but not past the
threshold either. Its sentence gets the first step only, for numbers, dates, names and negations,
and stays as it was if that does not help.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

from halldetect.errors import ConfigurationError
from halldetect.inputs import Pair, Source
from halldetect.reading.document import Document, Span
from halldetect.reading.references import readings
from halldetect.reading.sentences import read_document
from halldetect.reading.words import NEGATIONS, words
from halldetect.repair.introductions import left_alone
from halldetect.repair.outcome import Action, Change, Method, Outcome, Repair, is_mended, passes
from halldetect.repair.proposals import Proposals, is_change_of, sentence_key
from halldetect.repair.revision import Revision, Sentence, split_marks
from halldetect.repair.rewriters import Rewriter
from halldetect.report import ClaimReport, Report, Status, Verdict

# Proposals per sentence and step that the verifier is asked about.
MAX_PROPOSALS = 12
# Changes of one kind that are combined in one sentence.
MAX_CHANGES = {Method.REPLACE: 2, Method.REWRITE: 1, Method.SHORTEN: 3}
STEPS = (Method.REPLACE, Method.REWRITE, Method.SHORTEN)
# What is tried for unclear sentences: nothing that takes words out of what may be true.
UNCLEAR_STEPS = (Method.REPLACE,)
_REFERRING = frozenset(
    "he she it they his her its their this these those that such both neither".split()
)


class Checks(Protocol):
    """What a repair needs of a detector."""

    def check(self, source: Source, response: str, *, question: str | None = None) -> Report:
        """Check a whole response."""
        ...

    def judge(self, items: Sequence[tuple[Source, Sequence[str]]]) -> list[list[ClaimReport]]:
        """Judge statements as they are, each against the source beside it."""
        ...


@dataclass(frozen=True, slots=True)
class _Choice:
    """For each sentence, by its index, the proposal that is supported; else the nearest to it."""

    supported: dict[int, str]
    nearest: dict[int, str]


class Repairer:
    """Repairs responses with one detector.

    detector       checks
    rewriter       writes sentences again; None: no language model is asked
    max_rounds     after so many rounds of changes, what still fails is removed
    steps          what is tried before a sentence is removed, in this order
    unclear_steps  what is tried before an unclear sentence is left as it is
    notice         gets one-line messages for a person, such as that the rewriter failed
    """

    def __init__(
        self,
        detector: Checks,
        rewriter: Rewriter | None = None,
        *,
        max_rounds: int = 3,
        steps: Sequence[Method] = STEPS,
        unclear_steps: Sequence[Method] = UNCLEAR_STEPS,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        if max_rounds < 1:
            raise ConfigurationError(f"max_rounds must be a whole number from 1, not {max_rounds}")
        self._detector = detector
        self._rewriter = rewriter
        self._max_rounds = max_rounds
        self._steps = tuple(step for step in steps if step is not Method.REWRITE or rewriter)
        self._unclear_steps = tuple(unclear_steps)
        self._notice = notice

    def repair(self, pair: Pair) -> Repair:
        """Repair one response; the result has passed the check, or the repair has failed.

        pair  source and response
        """
        started = perf_counter()
        outcome = self._mend(pair, self._check(pair, pair.response))
        return replace(
            outcome,
            rewriter=None if self._rewriter is None else dict(self._rewriter.description),
            seconds=round(perf_counter() - started, 4),
        )

    def _check(self, pair: Pair, text: str) -> Report:
        return self._detector.check(pair.source, text, question=pair.question)

    def _mend(self, pair: Pair, original: Report) -> Repair:
        if not original.claims:
            reason = original.reason or "the response has nothing that can be checked"
            return _failed(reason, original)
        response = read_document(original.response)
        revision = Revision(response)
        proposals = Proposals(original.response, original.documents, self._rewriter, self._notice)
        report = original
        # Every round after the first ones removes or restores a sentence, so it comes to an end.
        for number in range(self._max_rounds + 2 * len(revision.sentences) + 1):
            text, places = revision.compose()
            if not any(place is not None for place in places):
                return _failed("no sentence of the response is left", original)
            if number:
                report = self._check(pair, text)
            failing = self._failing(revision, places, report, first=not number)
            if not failing and is_mended(report, text):
                outcome = Outcome.UNCHANGED if text == original.response else Outcome.REPAIRED
                return Repair(outcome, text, None, report, original, _changes(revision, original))
            if not failing:
                break
            if number < self._max_rounds:
                self._change(failing, revision, proposals, first=not number)
            else:
                for at in failing:
                    revision.sentences[at].give_up()
            self._name_referents(revision, response, proposals)
            for at in left_alone(response, revision.sentences):
                revision.sentences[at].why = "what it introduces was removed"
                revision.sentences[at].remove()
        return _failed(report.reason or "what is left is not supported either", original)

    def _failing(
        self, revision: Revision, places: Sequence[Span | None], report: Report, *, first: bool
    ) -> list[int]:
        """The sentences that are to be changed, by index; each of them gets its reason."""
        found = []
        for at, claim in _worst_claims(revision, places, report).items():
            sentence = revision.sentences[at]
            unclear = claim is not None and _is_unclear(claim, report)
            sentence.optional = unclear and (first or sentence.optional)
            if unclear and sentence.method is None and not (first and self._unclear_steps):
                continue
            sentence.why = sentence.why or _why(claim)
            if claim is not None:
                sentence.evidence = sentence.evidence or claim.evidence
            found.append(at)
        return found

    def _change(
        self, failing: list[int], revision: Revision, proposals: Proposals, *, first: bool
    ) -> None:
        """Put the first proposal that is supported in the place of each sentence, or remove it."""
        waiting = failing
        for step in self._steps:
            tried = [
                at
                for at in waiting
                if not revision.sentences[at].optional or (first and step in self._unclear_steps)
            ]
            # What may be true keeps its words: only facts are replaced in it.
            careful = {at: revision.sentences[at].optional for at in tried}
            proposed = {
                at: proposals.of(step, revision.sentences[at].before, facts_only=careful[at])
                for at in tried
            }
            choice = self._choose(step, proposed, revision, proposals)
            supported = choice.supported
            # Where one change was not enough, add others.
            for _ in range(MAX_CHANGES[step] - 1):
                proposed = {
                    at: proposals.further(step, text, facts_only=careful[at])
                    for at, text in choice.nearest.items()
                }
                choice = self._choose(step, proposed, revision, proposals)
                supported |= choice.supported
            for at, text in supported.items():
                revision.sentences[at].change(text, step)
            waiting = [at for at in waiting if at not in supported]
        for at in waiting:
            revision.sentences[at].give_up()

    def _choose(
        self, step: Method, proposed: dict[int, list[str]], revision: Revision, proposals: Proposals
    ) -> _Choice:
        """The best supported proposal of each sentence, all judged together.

        A shortened sentence is the longest that is supported; otherwise the most support wins.
        """
        said = {
            sentence_key(other.after) for other in revision.sentences if other.after is not None
        }
        usable = {
            at: [
                text
                for text in dict.fromkeys(texts)
                if text not in revision.sentences[at].tried
                and sentence_key(text) not in said
                and is_change_of(text, revision.sentences[at].before, step)
            ][:MAX_PROPOSALS]
            for at, texts in proposed.items()
        }
        usable = {at: texts for at, texts in usable.items() if texts}
        if not usable:
            return _Choice({}, {})
        judged = self._judge(proposals, usable, revision)
        supported: dict[int, str] = {}
        nearest: dict[int, str] = {}
        for (at, group), claims in zip(usable.items(), judged, strict=True):
            reports = dict(zip(group, claims, strict=True))
            passed = [text for text in group if reports[text].status is Status.SUPPORTED]
            if passed and step is Method.SHORTEN:
                supported[at] = max(passed, key=len)
            else:
                best = max(passed or group, key=lambda text: reports[text].support or 0.0)
                (supported if passed else nearest)[at] = best
        return _Choice(supported, nearest)

    def _judge(
        self, proposals: Proposals, proposed: dict[int, list[str]], revision: Revision
    ) -> list[list[ClaimReport]]:
        """Judge proposals against the closest sentences only: the whole text is checked later."""
        items = [
            (
                proposals.around(revision.sentences[at].before),
                [split_marks(item)[1] for item in texts],
            )
            for at, texts in proposed.items()
        ]
        return self._detector.judge(items)

    def _name_referents(self, revision: Revision, response: Document, proposals: Proposals) -> None:
        """A sentence that refers to a removed one gets the name meant, or is removed too."""
        for at, sentence in enumerate(revision.sentences[1:], 1):
            before = revision.sentences[at - 1]
            if sentence.after is None or not before.removed or not _refers(sentence.after):
                continue
            same_line = "\n" not in response.text[before.span.end : sentence.span.start]
            if not same_line:
                continue
            reading = readings([before.before, sentence.after])[1]
            named = sentence.after if reading is None or not reading.resolved else reading.text
            sentence.why = "it refers to a sentence that was removed"
            if named != sentence.after and named not in sentence.tried:
                ((claim,),) = self._judge(proposals, {at: [named]}, revision)
                if claim.status is Status.SUPPORTED:
                    sentence.change(named, Method.NAME)
                    continue
            sentence.remove()


def _failed(reason: str, original: Report) -> Repair:
    return Repair(Outcome.FAILED, None, reason, None, original, ())


def _worst_claims(
    revision: Revision, places: Sequence[Span | None], report: Report
) -> dict[int, ClaimReport | None]:
    """The sentences, by index, with a claim that is not supported, each with its worst claim."""
    wrong = [claim for claim in report.claims if claim.status is not Status.SUPPORTED]
    if not wrong and report.verdict is not Verdict.FAITHFUL and report.claims:
        wrong = [min(report.claims, key=lambda claim: claim.support or 0.0)]
    failing: dict[int, ClaimReport | None] = {}
    for claim in sorted(wrong, key=lambda claim: claim.support or 0.0):
        if claim.span is None:  # nobody knows what to change
            return {}
        for at, place in enumerate(places):
            if place is not None and _overlap(place, claim.span):
                failing.setdefault(at, claim)
    for at in _unchecked_changes(revision, places, report):
        failing.setdefault(at, None)
    return dict(sorted(failing.items()))


def _is_unclear(claim: ClaimReport, report: Report) -> bool:
    """Whether a claim is not supported, but may stay."""
    return claim.status is not Status.SUPPORTED and passes(claim, report)


def _unchecked_changes(
    revision: Revision, places: Sequence[Span | None], report: Report
) -> list[int]:
    """The changed sentences that the check found no claim in: they would pass unchecked."""
    spans = [claim.span for claim in report.claims if claim.span is not None]
    return [
        at
        for at, (sentence, place) in enumerate(zip(revision.sentences, places, strict=True))
        if sentence.method is not None
        and place is not None
        and not any(_overlap(place, span) for span in spans)
    ]


def _refers(sentence: str) -> bool:
    """Whether a sentence begins with a word that refers to the sentence before."""
    spoken = words(split_marks(sentence)[1][:100])
    return bool(spoken) and spoken[0].norm in _REFERRING


def _why(claim: ClaimReport | None) -> str:
    if claim is None:
        return "it could not be checked"
    if claim.status is Status.CONTRADICTED:
        return "the source says otherwise"
    if claim.status is Status.UNCHECKABLE:
        return f"it could not be checked: {claim.reason}"
    return claim.reason or "nothing in the source says so"


def _changes(revision: Revision, original: Report) -> tuple[Change, ...]:
    """What became of each sentence, with the supported claims that the change takes out."""
    _, places = revision.compose()
    changes: list[Change] = []
    for sentence, place in zip(revision.sentences, places, strict=True):
        if sentence.after == sentence.before:
            changes.append(
                Change(Action.KEPT, sentence.before, sentence.after, sentence.span, place)
            )
            continue
        changes.append(
            Change(
                action=Action.REMOVED if sentence.after is None else Action.CHANGED,
                before=sentence.before,
                after=sentence.after,
                span=sentence.span,
                new_span=place,
                method=sentence.method,
                why=sentence.why,
                evidence=sentence.evidence,
                lost=_lost(sentence, original),
            )
        )
    return tuple(changes)


def _lost(sentence: Sentence, original: Report) -> tuple[str, ...]:
    """The supported claims of a sentence whose words are not all, in order, in the new one."""
    after = [word.norm for word in words(sentence.after or "")]
    return tuple(
        claim.text
        for claim in original.claims
        if claim.status is Status.SUPPORTED
        and claim.span is not None
        and _overlap(sentence.span, claim.span)
        and not _says(after, claim.text)
    )


def _says(spoken: Sequence[str], claim: str) -> bool:
    """Whether words hold those of a claim in their order, and no negation besides."""
    wanted = [word.norm for word in words(claim)]
    remaining = iter(spoken)
    if not all(norm in remaining for norm in wanted):
        return False
    return {norm for norm in spoken if norm in NEGATIONS} <= set(wanted)


def _overlap(left: Span, right: Span) -> bool:
    return left.start < right.end and right.start < left.end
