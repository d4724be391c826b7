"""The repair procedure: check, change each failing sentence, check again.

A sentence with an unsupported claim goes through these steps: its words are replaced by words of
the source (`corrections`), a language model rewrites it (`rewriters`), a phrase is left out
(`shortening`), the sentence is removed. A proposal is accepted only if the verifier supports it;
then the whole text is checked again, like any response. A sentence that still fails gets the next
step, and after `max_rounds` every failing sentence is removed.

With a threshold above the default, a claim may be unclear: not supported, but not past the
threshold. Only facts of its sentence are replaced, and it is restored if that does not help.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Protocol

from halldetect.errors import ConfigurationError, HallDetectError
from halldetect.facts import WordUsage
from halldetect.inputs import Pair, Source
from halldetect.reading.document import Span
from halldetect.reading.overlap import WordIndex, content_keys, shared_part
from halldetect.reading.references import readings
from halldetect.reading.response import read_units
from halldetect.reading.sentences import read_document
from halldetect.reading.words import NEGATIONS, normalize, words
from halldetect.repair.corrections import corrections
from halldetect.repair.outcome import Action, Change, Method, Outcome, Repair, is_mended, passes
from halldetect.repair.revision import Revision, Sentence, split_marks
from halldetect.repair.rewriters import MAX_EVIDENCE, Rewriter, first_sentence
from halldetect.repair.shortening import shortened
from halldetect.report import ClaimReport, Report, Status, Verdict

STEPS = (Method.REPLACE, Method.REWRITE, Method.SHORTEN)
# Proposals per sentence and step that the verifier judges.
MAX_PROPOSALS = 12
# Changes of one kind per sentence.
MAX_CHANGES = {Method.REPLACE: 2, Method.REWRITE: 1, Method.SHORTEN: 3}
# Sentences of the source used for corrections, and to judge proposals.
CLOSEST = 3
SHOWN = 5
# A proposal longer than the sentence by more than this factor says something else.
MAX_GROWTH = 1.6
# The share of content words that a changed sentence must keep to be the same sentence.
MIN_KEPT = {Method.REPLACE: 0.5, Method.REWRITE: 0.4, Method.SHORTEN: 0.0}
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


class Proposals:
    """Proposes changes of sentences, based on the sentences of a source.

    Args:
        response: The text to repair.
        documents: The texts of the source.
        rewriter: Rewrites sentences; None to use no language model.
        notice: Gets one-line messages for the user.
    """

    def __init__(
        self,
        response: str,
        documents: Sequence[str],
        rewriter: Rewriter | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self._rewriter = rewriter
        self._notice = notice
        self._usage = WordUsage([response, *documents])
        read = [read_document(text) for text in documents]
        self._index = WordIndex(read)
        self._places = [(at, span) for at, item in enumerate(read) for span in item.sentences]
        self._texts = [span.cut(documents[at]) for at, span in self._places]

    def of(self, step: Method, sentence: str, *, facts_only: bool = False) -> list[str]:
        """Return the proposals of one step for a sentence, the most likely ones first.

        With `facts_only`, only numbers, dates, names and negations are replaced.
        """
        mark, text, citations = split_marks(sentence)
        if step is Method.REPLACE:
            found = []
            for at in self._ranked(text)[:CLOSEST]:
                near = self._texts[at]
                found += corrections(text, near, self._usage, facts_only=facts_only)
        elif step is Method.SHORTEN:
            found = shortened(text, self.around(text))
        else:
            found = self._rewritten(text)
        return [mark + item + citations for item in dict.fromkeys(found)]

    def around(self, sentence: str) -> str:
        """Return the sentences of the source closest to a sentence, in source order."""
        chosen: list[int] = []
        size = 0
        for at in self._ranked(sentence)[:SHOWN]:
            size += len(self._texts[at]) + 1
            if size > MAX_EVIDENCE and chosen:
                break
            chosen.append(at)
        return "\n".join(self._texts[at] for at in sorted(chosen))

    def _ranked(self, sentence: str) -> list[int]:
        shares = self._index.shares(sentence, self._places)
        return sorted(range(len(shares)), key=lambda at: -shares[at])

    def _rewritten(self, sentence: str) -> list[str]:
        """Ask the language model; after a failure it proposes nothing."""
        assert self._rewriter is not None
        try:
            answer = self._rewriter.rewrite(sentence, self.around(sentence))
            text = first_sentence(answer) if isinstance(answer, str) else ""
            problem = None if isinstance(answer, str) else "its answer is not text"
        except HallDetectError as error:
            text, problem = "", str(error)
        except Exception as error:
            text, problem = "", f"{type(error).__name__}: {error}"
        if problem is not None and self._notice is not None:
            self._notice(f"the rewriter failed: {' '.join(problem.split())[:200]}")
        if text and sentence[:1].isupper():
            text = text[0].upper() + text[1:]
        ending = sentence.rstrip()[-1:]
        if text and text[-1] not in ".!?…" and ending in (".", "!"):
            text += ending
        return [text] if text else []


class Repairer:
    """Repairs responses with one detector.

    Args:
        detector: Checks the texts.
        rewriter: Rewrites sentences; None to use no language model.
        max_rounds: Rounds of changes before every failing sentence is removed.
        steps: The methods to try before a sentence is removed, in order.
        unclear: True to replace facts of unclear sentences.
        notice: Gets one-line messages for the user, such as a failure of the rewriter.
    """

    def __init__(
        self,
        detector: Checks,
        rewriter: Rewriter | None = None,
        *,
        max_rounds: int = 3,
        steps: Sequence[Method] = STEPS,
        unclear: bool = True,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        if max_rounds < 1:
            raise ConfigurationError(f"max_rounds must be a whole number from 1, not {max_rounds}")
        self._detector = detector
        self._rewriter = rewriter
        self._max_rounds = max_rounds
        self._steps = tuple(step for step in steps if step is not Method.REWRITE or rewriter)
        self._unclear = unclear
        self._notice = notice

    def repair(self, pair: Pair) -> Repair:
        """Repair one response; the result has passed the check, or the repair has failed."""
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
        revision = Revision(read_document(original.response))
        proposals = Proposals(original.response, original.documents, self._rewriter, self._notice)
        report = original
        # The loop ends: each round after the first ones removes or restores a sentence.
        for number in range(self._max_rounds + 2 * len(revision.sentences) + 1):
            text, places = revision.compose()
            if not any(place is not None for place in places):
                return _failed("no sentence of the response is left", original)
            if number:
                report = self._check(pair, text)
            failing = _failing(revision, places, report, unclear=self._unclear and not number)
            if not failing and is_mended(report, text):
                outcome = Outcome.UNCHANGED if text == original.response else Outcome.REPAIRED
                return Repair(outcome, text, None, report, original, _changes(revision, original))
            if not failing:
                break
            waiting = failing
            for step in self._steps if number < self._max_rounds else ():
                waiting = self._change(step, waiting, revision, proposals)
            for at in waiting:
                revision.sentences[at].give_up()
            self._name_referents(revision, proposals)
            revision.remove_introductions()
        return _failed(report.reason or "the rest is not supported either", original)

    def _change(
        self, step: Method, failing: list[int], revision: Revision, proposals: Proposals
    ) -> list[int]:
        """Replace sentences by supported proposals; return those that still fail."""
        unclear = {at for at in failing if revision.sentences[at].unclear}
        nearest = {
            at: revision.sentences[at].before
            for at in failing
            if at not in unclear or step is Method.REPLACE
        }
        for _ in range(MAX_CHANGES[step]):  # one change may not be enough
            proposed = {
                at: proposals.of(step, text, facts_only=at in unclear)
                for at, text in nearest.items()
            }
            supported, nearest = self._choose(step, proposed, revision, proposals)
            for at, text in supported.items():
                revision.sentences[at].change(text, step)
            failing = [at for at in failing if at not in supported]
        return failing

    def _choose(
        self, step: Method, proposed: dict[int, list[str]], revision: Revision, proposals: Proposals
    ) -> tuple[dict[int, str], dict[int, str]]:
        """Return the best supported proposal of each sentence, else the one nearest to support.

        For shortening, the longest supported sentence wins; otherwise, the best supported one.
        """
        said = {_key(other.after) for other in revision.sentences if other.after is not None}
        usable: dict[int, list[str]] = {}
        for at, texts in proposed.items():
            sentence = revision.sentences[at]
            fitting = [
                text
                for text in texts
                if text not in sentence.tried
                and _key(text) not in said
                and _is_change_of(text, sentence.before, step)
            ]
            if fitting:
                usable[at] = fitting[:MAX_PROPOSALS]
        supported: dict[int, str] = {}
        nearest: dict[int, str] = {}
        judged = self._judge(proposals, usable, revision) if usable else []
        for (at, group), claims in zip(usable.items(), judged, strict=True):
            reports = dict(zip(group, claims, strict=True))
            passed = [text for text in group if reports[text].status is Status.SUPPORTED]
            if passed and step is Method.SHORTEN:
                supported[at] = max(passed, key=len)
            else:
                best = max(passed or group, key=lambda text: reports[text].support or 0.0)
                (supported if passed else nearest)[at] = best
        return supported, nearest

    def _judge(
        self, proposals: Proposals, proposed: dict[int, list[str]], revision: Revision
    ) -> list[list[ClaimReport]]:
        """Judge proposals against the closest sentences only; the whole text is checked later."""
        return self._detector.judge(
            [
                (
                    proposals.around(revision.sentences[at].before),
                    [split_marks(item)[1] for item in texts],
                )
                for at, texts in proposed.items()
            ]
        )

    def _name_referents(self, revision: Revision, proposals: Proposals) -> None:
        """Name the referent in a sentence that refers to a removed one, or remove it too."""
        text = revision.response.text
        for at, sentence in enumerate(revision.sentences[1:], 1):
            before = revision.sentences[at - 1]
            if sentence.after is None or before.after is not None or not _refers(sentence.after):
                continue
            if "\n" in text[before.span.end : sentence.span.start]:
                continue
            reading = readings([before.before, sentence.after])[1]
            sentence.why = "it refers to a sentence that was removed"
            if reading is not None and reading.resolved and reading.text not in sentence.tried:
                ((claim,),) = self._judge(proposals, {at: [reading.text]}, revision)
                if claim.status is Status.SUPPORTED:
                    sentence.change(reading.text, Method.NAME)
                    continue
            sentence.remove()


def _failed(reason: str, original: Report) -> Repair:
    return Repair(Outcome.FAILED, None, reason, None, original, ())


def _failing(
    revision: Revision, places: Sequence[Span | None], report: Report, *, unclear: bool
) -> list[int]:
    """Return the indices of the sentences to change, and record the reason for each.

    These are the sentences of unsupported claims, and changed sentences without a claim, which
    would pass unchecked.

    Args:
        revision: The sentences.
        places: Their places in the text.
        report: The report of the text.
        unclear: True to include unchanged sentences with unclear claims.
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
        own = [claim for claim in wrong if claim.span is not None and claim.span.overlaps(place)]
        worst = min(own, key=lambda claim: claim.support or 0.0, default=None)
        checked = any(span.overlaps(place) for span in spans)
        if worst is None and (sentence.method is None or checked):
            continue
        may_stay = worst is not None and (
            worst.status is not Status.SUPPORTED and passes(worst, report)
        )
        sentence.unclear = may_stay and (unclear or sentence.unclear)
        if may_stay and sentence.method is None and not unclear:
            continue
        sentence.why = sentence.why or _why(worst)
        if worst is not None:
            sentence.evidence = sentence.evidence or worst.proof
        found.append(at)
    return found


def _why(claim: ClaimReport | None) -> str:
    if claim is None:
        return "it could not be checked"
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
    units = read_units(text)
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
    _, places = revision.compose()
    changes: list[Change] = []
    for sentence, place in zip(revision.sentences, places, strict=True):
        change = Change(Action.KEPT, sentence.before, sentence.after, sentence.span, place)
        if sentence.after != sentence.before:
            change = replace(
                change,
                action=Action.REMOVED if sentence.after is None else Action.CHANGED,
                method=sentence.method,
                why=sentence.why,
                evidence=sentence.evidence,
                lost=_lost(sentence, original),
            )
        changes.append(change)
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
