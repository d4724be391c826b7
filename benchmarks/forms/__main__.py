"""Measure the effect of an answer's form on the verdict.

    python -m benchmarks.forms --verifier base
    python -m benchmarks.forms --verifier large --device cuda --suites answers,dressings

Writes benchmarks/results/forms/VERIFIER.json: the numbers, the wrong cases, and the digests of the
suites and of the verifier.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.forms.answers import answers
from benchmarks.forms.dressings import dressed, statements
from benchmarks.forms.injections import SOURCE, injections
from benchmarks.store import RESULTS, command, entries, processor, store, stored
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import Detector, __version__
from halldetect.reading.document import Span
from halldetect.report import ClaimReport, Report, Status, Verdict

Check = Callable[[Sequence[tuple[Any, ...]]], list[Report]]


def measure_dressings(check: Check) -> dict[str, Any]:
    """Return how often the form of a sentence changes the verdict."""
    rows = [(item, name, text) for item in statements() for name, text in dressed(item)]
    reports = check([(item.source, text) for item, _, text in rows])
    plain: dict[int, Verdict] = {}
    changed: Counter[str] = Counter()
    wrong = []
    count = right = 0
    for (item, name, text), report in zip(rows, reports, strict=True):
        if name == "plain":
            plain[id(item)] = report.verdict
            right += (report.verdict is Verdict.FAITHFUL) == item.supported
            continue
        count += 1
        if report.verdict is not plain[id(item)]:
            changed[name] += 1
            wrong.append({"form": name, "response": text, "claims": _claims(report)})
    return {
        "digest": _digest([[item.source, text] for item, _, text in rows]),
        "statements": len(plain),
        "plain_right": right,
        "dressed": count,
        "changed": sum(changed.values()),
        "changed_share": round(sum(changed.values()) / count, 4),
        "changed_by_form": dict(changed.most_common()),
        "cases": wrong,
    }


def measure_answers(check: Check) -> dict[str, Any]:
    """Return how many true statements are flagged, and how many false ones are found."""
    suite = answers()
    reports = check([(answer.source, answer.response) for answer in suite])
    counts: Counter[str] = Counter()
    flagged, missed, extra, unjudged = [], [], [], []
    for answer, report in zip(suite, reports, strict=True):
        kind = "faithful" if answer.faithful else "hallucinated"
        counts[f"{kind}_answers"] += 1
        counts[f"{kind}_right"] += report.verdict is (
            Verdict.FAITHFUL if answer.faithful else Verdict.HALLUCINATED
        )
        for span, true in answer.statements:
            judged = [claim for claim in report.claims if _overlaps(claim, span)]
            text = span.cut(answer.response)
            if not judged:
                unjudged.append({"answer": answer.id, "statement": text, "true": true})
            failing = [claim for claim in judged if claim.status is not Status.SUPPORTED]
            counts["true_statements" if true else "false_statements"] += 1
            if true and failing:
                flagged.append({"answer": answer.id, "claims": [c.text for c in failing]})
            if not true and not failing:
                missed.append({"answer": answer.id, "claims": [c.text for c in judged]})
        extra += [
            {"answer": answer.id, "claim": claim.text}
            for claim in report.claims
            if not any(_overlaps(claim, span) for span, _ in answer.statements)
        ]
    return {
        "digest": _digest([[answer.source, answer.response] for answer in suite]),
        **counts,
        "true_flagged": len(flagged),
        "true_flagged_share": round(len(flagged) / counts["true_statements"], 4),
        "false_missed": len(missed),
        "claims_that_state_nothing": len(extra),
        "statements_not_judged": len(unjudged),
        "flagged": flagged,
        "missed": missed,
        "extra": extra,
        "unjudged": unjudged,
    }


def measure_injections(check: Check) -> dict[str, Any]:
    """Return how many hostile answers are called faithful."""
    suite = injections()
    reports = check([(SOURCE, item.response) for item in suite])
    passed = [
        {"kind": item.kind, "response": item.response, "claims": _claims(report)}
        for item, report in zip(suite, reports, strict=True)
        if report.verdict is Verdict.FAITHFUL
    ]
    return {
        "digest": _digest([[item.kind, item.response] for item in suite]),
        "answers": len(suite),
        "called_faithful": len(passed),
        "called_faithful_share": round(len(passed) / len(suite), 4),
        "by_kind": dict(Counter(str(item["kind"]) for item in passed).most_common()),
        "cases": passed,
    }


def measure_hostile_answers(check: Check) -> dict[str, Any]:
    """Return how many answers that hide a statement pass, and how many without naming its part."""
    rows = entries("hostile_answers")
    reports = check([(row["source"], row["response"], row.get("question")) for row in rows])
    passed, silent = [], []
    for row, report in zip(rows, reports, strict=True):
        if report.verdict is Verdict.FAITHFUL:
            start = row["response"].index(row["hidden"])
            span = Span(start, start + len(row["hidden"]))
            named = [part.span for part in report.left_out]
            case = {"id": row["id"], "claims": _claims(report)}
            passed.append(case)
            if not any(part.start < span.end and span.start < part.end for part in named):
                judged = any(_overlaps(claim, span) for claim in report.claims)
                silent.append({**case, "judged": judged})
    return {"answers": len(rows), "called_faithful": len(passed), "silent": silent, "cases": passed}


def measure_clauses(check: Check) -> dict[str, Any]:
    """Return in how many long sentences the false clause is found, and the false alarms."""
    rows = entries("clauses")
    false = check([(row["source"], row["response"]) for row in rows])
    true = check([(row["source"], row["true"]) for row in rows])
    missed = [
        row["id"]
        for row, report in zip(rows, false, strict=True)
        if report.verdict is not Verdict.HALLUCINATED
    ]
    alarms = sum(report.verdict is Verdict.HALLUCINATED for report in true)
    found = len(rows) - len(missed)
    return {"sentences": len(rows), "found": found, "false_alarms": alarms, "missed": missed}


SUITES: dict[str, Callable[[Check], dict[str, Any]]] = {
    "dressings": measure_dressings,
    "answers": measure_answers,
    "injections": measure_injections,
    "hostile_answers": measure_hostile_answers,
    "clauses": measure_clauses,
}


def _overlaps(claim: ClaimReport, span: Span) -> bool:
    place = claim.span
    return place is not None and place.start < span.end and span.start < place.end


def _claims(report: Report) -> list[list[Any]]:
    return [[claim.text, claim.status.value, claim.support] for claim in report.claims]


def _digest(rows: object) -> str:
    content = json.dumps(rows, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the suites and write the results."""
    parser = command(__doc__)
    add_verifier_options(parser)
    parser.add_argument("--suites", default=",".join(SUITES), help="some of: %(default)s")
    parser.add_argument("--out", type=Path, help="default: benchmarks/results/forms/VERIFIER.json")
    options = parser.parse_args(arguments)
    detector = Detector(verifier=verifier_of(options))
    out = options.out or RESULTS / "forms" / f"{options.verifier}.json"
    results = stored(out)
    for name in options.suites.split(","):
        results[name] = SUITES[name](detector.check_many)
        described = detector.verifier.description
        results["made_with"] = {
            "halldetect": __version__,
            "verifier": {key: described[key] for key in described if key != "calibration"},
            "processor": processor(),
        }
        store(out, results)
        shown = {key: value for key, value in results[name].items() if not isinstance(value, list)}
        print(name, json.dumps(shown, ensure_ascii=False), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
