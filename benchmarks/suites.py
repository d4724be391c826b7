"""The project's own suites, checked by the real detector.

    python -m benchmarks.suites --verifier base
    python -m benchmarks.suites --verifier large --device cuda [--base BASE.gguf]
    python -m benchmarks.suites --suites long_answers two_documents copies --out FILE

`--base` as in `benchmarks.verifiers`. tests/data/README.md describes the suites. Every claim,
answer or copied sentence is a response of its own. Answers, copies and conversations are checked
only if named. A turn of a conversation is unsupported if it is flagged, else supported.

Reported: true responses that are flagged, false ones that pass, responses with the wrong state,
precision and recall of the state "contradicted", and the marked sentences of answers with a failing
claim. A response has the worst state of its claims. Writes benchmarks/results/suites/VERIFIER.json
with digests of weights and rows, and the state and support of every claim; no text.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.forms.answers import read_marked
from benchmarks.store import DATA, RESULTS, command, entries, store
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect.detector import Detector
from halldetect.inputs import Pair, Source
from halldetect.machine.integrity import digest_of
from halldetect.reading.document import Span
from halldetect.report import Report, Status, Verdict
from tests.support.copied_sentences import copies

SUITES = ("cases", "checks", "everyday", "hostile", "contexts", "recombined")
INDEPENDENT = ("long_answers_independent", "two_documents_independent", "long_answers_fresh")
FILES = (*SUITES, "long_answers", "two_documents", "quantities", "quotations", *INDEPENDENT)
CONVERSATIONS = "conversations"
EXPECTED = {
    "entailment": Status.SUPPORTED, "neutral": Status.UNSUPPORTED,
    "contradiction": Status.CONTRADICTED,
}  # fmt: skip
# The fields of an entry with true or false responses: a text, a list, or an answer to a question.
FIELDS = {
    "true": Status.SUPPORTED, "right": Status.SUPPORTED, "contradicted": Status.CONTRADICTED,
    "false": Status.UNSUPPORTED, "wrong": Status.UNSUPPORTED,
}  # fmt: skip
# The state of a response is the worst of its claims.
WORST_FIRST = (Status.CONTRADICTED, Status.UNSUPPORTED, Status.UNCHECKABLE, Status.SUPPORTED)


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """A claim or an answer with its source and its expected state.

    `marked` has the false sentences of an answer, or the one that combines documents.
    """

    suite: str
    id: str
    kind: str
    source: Source
    claim: str
    expected: Status
    question: str | None = None
    marked: tuple[Span, ...] = ()
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a conversation, by the index of its message."""

    conversation: dict[str, Any]
    index: int


def suite_rows(suite: str) -> list[SuiteRow]:
    """Return the rows of a suite, in the order of its file."""
    if suite == "copies":
        return copied_rows()
    rows = turn_rows if suite == CONVERSATIONS else _rows
    return [row for entry in entries(suite) for row in rows(suite, entry)]


def turn_rows(suite: str, entry: dict[str, Any]) -> Iterator[SuiteRow]:
    """Yield the labelled turns of a conversation."""
    for index, label in entry["labels"].items():
        state, turn = FIELDS[label], Turn(entry, int(index))
        yield SuiteRow(suite, f"{entry['id']}-{index}", entry["kind"], entry["id"], "", state,
                       turn=turn)  # fmt: skip


def _rows(suite: str, entry: dict[str, Any]) -> Iterator[SuiteRow]:
    kinds = [entry[name] for name in ("domain", "phenomenon", "kind") if name in entry]
    documents = [{"id": name, "text": text} for name, text in entry.get("documents", {}).items()]
    source = documents or entry.get("source") or entry["premise"]
    for end, response, state in _responses(entry):
        row = SuiteRow(suite, entry["id"] + end, (*kinds, suite)[0], source, "", state)
        if isinstance(response, dict):
            text, statements = read_marked(response["answer"])
            marked = tuple(span for span, _ in statements)
            yield replace(row, claim=text, question=response["question"], marked=marked)
        else:
            yield replace(row, claim=f"{entry.get('lead', '')} {response}".strip())


def _responses(entry: dict[str, Any]) -> Iterator[tuple[str, Any, Status]]:
    """Yield the end of the id, the response and the expected state."""
    if "label" in entry:
        yield "", entry["hypothesis"], EXPECTED[entry["label"]]
    elif "expected" in entry:
        yield "", entry["response"], Status(entry["expected"])
    for field in (field for field in FIELDS if field in entry):
        listed = isinstance(entry[field], list)
        for at, response in enumerate(entry[field] if listed else [entry[field]], 1):
            yield f"-{field}-{at}" if listed else f"-{field}", response, FIELDS[field]


def copied_rows() -> list[SuiteRow]:
    """Return copied sentences of the sources of all suites but the hostile ones."""
    rows = (row for suite in FILES if suite != "hostile" for row in suite_rows(suite))
    return [
        SuiteRow("copies", f"{row.suite} {row.id} {at}", kind, row.source, text, Status.SUPPORTED)
        for row in {str(row.source): row for row in rows}.values()
        for at, kind, text in copies(row.source)
    ]


def state_of(report: Report) -> Status:
    """Return the worst state of the claims; uncheckable without claims."""
    states = {claim.status for claim in report.claims}
    return next((state for state in WORST_FIRST if state in states), Status.UNCHECKABLE)


def state_of_turn(report: Report) -> Status:
    """Return the state of a turn, which counts as supported unless it is flagged."""
    flagged = report.verdict is Verdict.HALLUCINATED
    return Status.UNSUPPORTED if flagged else Status.SUPPORTED


def measured(rows: Sequence[SuiteRow], states: Sequence[Status]) -> dict[str, Any]:
    """Return counts and shares of some rows; None for a share of nothing."""
    both = Counter(zip((row.expected for row in rows), states, strict=True))
    expected, found = Counter(row.expected for row in rows), Counter(states)
    supported, contradicted = Status.SUPPORTED, Status.CONTRADICTED
    true, false = expected[supported], len(rows) - expected[supported]
    flagged = true - both[supported, supported]
    passed = found[supported] - both[supported, supported]
    right, hits = sum(both[state, state] for state in Status), both[contradicted, contradicted]
    shares = {
        "right_state_share": (right, len(rows)),
        "true_claims_flagged_share": (flagged, true),
        "false_claims_passed_share": (passed, false),
        "contradiction_precision": (hits, found[contradicted]),
        "contradiction_recall": (hits, expected[contradicted]),
    }
    return {
        "claims": len(rows), "right_state": right, "true_claims": true, "false_claims": false,
        "true_claims_flagged": flagged, "false_claims_passed": passed,
        **{key: round(part / whole, 4) if whole else None for key, (part, whole) in shares.items()},
    }  # fmt: skip


def checked(detector: Detector, rows: Sequence[SuiteRow]) -> list[Report]:
    """Return the reports of all rows; rows of one source are checked together."""
    turns = {str(row.source): row.turn.conversation for row in rows if row.turn is not None}
    if turns:
        checks = {
            (id, turn.index): turn.report
            for id, entry in turns.items()
            for turn in detector.check_conversation(
                entry["messages"], documents=entry.get("documents")
            ).turns
        }
        return [checks[str(row.source), row.turn.index] for row in rows if row.turn is not None]
    order = sorted(range(len(rows)), key=lambda index: str(rows[index].source))
    pairs = [Pair(row.source, row.claim, row.question) for row in map(rows.__getitem__, order)]
    found = dict(zip(order, detector.check_many(pairs), strict=True))
    return [found[index] for index in range(len(rows))]


def marked_sentences(rows: Sequence[SuiteRow], reports: Sequence[Report]) -> dict[str, int]:
    """Count the sentences of answers and those with a failing claim; unmarked ones by claim."""
    counts: Counter[str] = Counter()
    for row, report in zip(rows, reports, strict=True):
        side = "true" if row.expected is Status.SUPPORTED else "false"
        spans = [(claim.span, claim.status in WORST_FIRST[:2]) for claim in report.claims]
        named = [any(bad and at and at.overlaps(one) for at, bad in spans) for one in row.marked]
        counts[f"{side}_sentences_marked"] += len(named)
        counts[f"{side}_sentences_flagged"] += sum(named)
        counts["false_answers_named"] += side == "false" and any(named)
        for at, bad in spans:
            if not any(at and at.overlaps(one) for one in row.marked):
                counts["other_claims_flagged" if bad else "other_claims_passed"] += 1
    return dict(counts)


def main() -> None:
    """Check the suites, print the figures and write the results."""
    parser = command(__doc__)
    add_verifier_options(parser)
    parser.add_argument(
        "--suites", nargs="+", choices=(*FILES, "copies", CONVERSATIONS), default=SUITES
    )
    parser.add_argument("--limit", type=int, help="the first rows of every suite only")
    parser.add_argument("--out", type=Path, help="default: results/suites/VERIFIER.json")
    options = parser.parse_args()
    detector = Detector(verifier=verifier_of(options))
    named = FILES if "copies" in options.suites else options.suites
    rows = [row for suite in options.suites for row in suite_rows(suite)[: options.limit]]
    began = time.perf_counter()
    if CONVERSATIONS in options.suites and len(options.suites) > 1:
        parser.error("conversations are measured alone")
    reports = checked(detector, rows)
    seconds = time.perf_counter() - began
    states = [
        state_of(report) if row.turn is None else state_of_turn(report)
        for row, report in zip(rows, reports, strict=True)
    ]
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row.suite,].append(index)
        groups[row.suite, row.kind].append(index)

    def figures(indices: Sequence[int]) -> dict[str, Any]:
        some = [rows[index] for index in indices]
        found = measured(some, [states[index] for index in indices])
        if any(row.marked for row in some):
            found |= marked_sentences(some, [reports[index] for index in indices])
        return found

    description = detector.verifier.description
    kept = {"name", "kind", "runtime", "calibration"}
    result = {
        "verifier": {k: v for k, v in description.items() if "digest" in k or k in kept},
        "configuration": detector.configuration.to_dict(),
        "rows_sha256": {suite: digest_of(DATA / f"{suite}.jsonl") for suite in named},
        "limit": options.limit,
        "suites": {key[0]: figures(found) for key, found in groups.items() if len(key) == 1},
        "all": figures(range(len(rows))),
        "kinds": {" ".join(key): figures(found) for key, found in groups.items() if len(key) == 2},
        # Expected state, state, support and contradiction of the worst claim; wrong copies only.
        "predictions": {
            f"{row.suite} {row.id}": [row.expected, state, *_worst(report)]
            for row, state, report in zip(rows, states, reports, strict=True)
            if row.suite != "copies" or state != row.expected
        },
    }
    out = options.out or RESULTS / "suites" / f"{description['name']}.json"
    store(out, result)
    for name, values in {**result["suites"], "all": result["all"]}.items():
        print(name, json.dumps(values))
    print(f"{len(rows)} claims in {seconds:.1f} s; {out}")


def _worst(report: Report) -> tuple[float | None, float | None]:
    claims = [claim for claim in report.claims if claim.support is not None]
    worst = min(claims, key=lambda claim: claim.support or 0.0, default=None)
    return (worst.support, worst.contradiction) if worst else (None, None)


if __name__ == "__main__":
    main()
