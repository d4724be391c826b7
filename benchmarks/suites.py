"""The project's own suites, checked by the real detector.

    python -m benchmarks.suites --verifier base
    python -m benchmarks.suites --verifier large --device cuda [--base BASE.gguf]
    python -m benchmarks.suites --pairs vitaminc.jsonl.xz --limit 3000 --out FILE

`--base` as in `benchmarks.verifiers`. Suites (tests/data, never trained on), every claim checked as
a response of its own with all defaults:

    cases     realistic sources, each with claims that are true and plain contradictions
    checks    minimal pairs by phenomenon
    everyday  minimal pairs of contracts, tables, settings, dialogue, data sheets and the like
    hostile   sources and claims that try to manipulate the verifier
    contexts  a sentence that needs the one before it, once true and once false
    recombined  a sentence whose parts are each true of something in the source, but not together

With `--pairs`, the pairs of a file are checked instead: one JSON object a line with premise,
hypothesis and label, as `checks` has them; `--limit` then draws rows at random, with a fixed seed.

Reported: true claims that are flagged, false claims that pass, claims with the wrong state, and
precision and recall of the state "contradicted". A response has the worst state of its claims.
Writes benchmarks/results/suites/VERIFIER.json with digests of weights and rows, and the state and
support of every claim; no text.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect.detector import Detector
from halldetect.models.integrity import digest_of
from halldetect.report import Report, Status

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
RESULTS = Path(__file__).parent / "results" / "suites"
SUITES = ("cases", "checks", "everyday", "hostile", "contexts", "recombined")
EXPECTED = {
    "entailment": Status.SUPPORTED,
    "neutral": Status.UNSUPPORTED,
    "contradiction": Status.CONTRADICTED,
}
# The state of a response is the worst of its claims.
WORST_FIRST = (Status.CONTRADICTED, Status.UNSUPPORTED, Status.UNCHECKABLE, Status.SUPPORTED)


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """A claim with its source and its expected state.

    Attributes:
        kind: the phenomenon or domain.
    """

    suite: str
    id: str
    kind: str
    source: str
    claim: str
    expected: Status


def suite_rows(suite: str, folder: Path = DATA) -> list[SuiteRow]:
    """Return the rows of a suite, in the order of its file."""
    rows = []
    for line in (folder / f"{suite}.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if suite == "cases":
            for field, state in (("true", Status.SUPPORTED), ("contradicted", Status.CONTRADICTED)):
                rows += [
                    SuiteRow(suite, f"{entry['id']}-{field}-{at}", entry["domain"], entry["source"],
                             claim, state)
                    for at, claim in enumerate(entry[field], 1)
                ]  # fmt: skip
        elif suite in ("contexts", "recombined"):
            for field, state in (("true", Status.SUPPORTED), ("false", Status.UNSUPPORTED)):
                claim = f"{entry.get('lead', '')} {entry[field]}".strip()
                rows.append(
                    SuiteRow(suite, f"{entry['id']}-{field}", entry.get("kind", suite),
                             entry["source"], claim, state)
                )  # fmt: skip
        elif suite == "hostile":
            rows.append(
                SuiteRow(suite, entry["id"], entry["kind"], entry["source"], entry["response"],
                         Status(entry["expected"]))
            )  # fmt: skip
        else:
            rows.append(
                SuiteRow(suite, entry["id"], entry["phenomenon"], entry["premise"],
                         entry["hypothesis"], EXPECTED[entry["label"]])
            )  # fmt: skip
    return rows


def pair_rows(file: Path, limit: int | None) -> list[SuiteRow]:
    """Return the pairs of a file, with line numbers as ids.

    Args:
        file: a .jsonl or .jsonl.xz file.
        limit: the number of pairs to draw; by default all.
    """
    if not file.is_file():
        raise SystemExit(f"{file} is not there")
    read = lzma.open if file.suffix == ".xz" else open
    with read(file, "rt", encoding="utf-8") as lines:
        entries = list(enumerate(map(json.loads, lines), 1))
    if limit is not None and limit < len(entries):
        entries = sorted(random.Random(0).sample(entries, limit), key=lambda numbered: numbered[0])
    for line, entry in entries:
        if entry["label"] not in EXPECTED:
            raise SystemExit(f"{file}, line {line}: the label is not one of {', '.join(EXPECTED)}")
    return [
        SuiteRow("pairs", str(line), entry["label"], entry["premise"], entry["hypothesis"],
                 EXPECTED[entry["label"]])
        for line, entry in entries
    ]  # fmt: skip


def state_of(report: Report) -> Status:
    """Return the worst state of the claims; uncheckable without claims."""
    states = {claim.status for claim in report.claims}
    return next((state for state in WORST_FIRST if state in states), Status.UNCHECKABLE)


def measured(rows: Sequence[SuiteRow], states: Sequence[Status]) -> dict[str, Any]:
    """Return counts and shares of some rows; None for a share of nothing."""

    def share(part: int, whole: int) -> float | None:
        return round(part / whole, 4) if whole else None

    pairs = list(zip((row.expected for row in rows), states, strict=True))
    expected, found = Counter(row.expected for row in rows), Counter(states)
    both = Counter(pairs)
    supported, contradicted = Status.SUPPORTED, Status.CONTRADICTED
    true, false = expected[supported], len(rows) - expected[supported]
    flagged = true - both[supported, supported]
    passed = found[supported] - both[supported, supported]
    right = sum(wanted == state for wanted, state in pairs)
    hits = both[contradicted, contradicted]
    return {
        "claims": len(rows),
        "right_state": right,
        "right_state_share": share(right, len(rows)),
        "true_claims": true,
        "true_claims_flagged": flagged,
        "true_claims_flagged_share": share(flagged, true),
        "false_claims": false,
        "false_claims_passed": passed,
        "false_claims_passed_share": share(passed, false),
        "contradictions": expected[contradicted],
        "contradictions_in_another_state_share": share(
            expected[contradicted] - hits, expected[contradicted]
        ),
        "contradiction_precision": share(hits, found[contradicted]),
        "contradiction_recall": share(hits, expected[contradicted]),
    }


def checked(detector: Detector, rows: Sequence[SuiteRow]) -> list[Report]:
    """Return the reports of all rows; rows of one source are checked together."""
    order = sorted(range(len(rows)), key=lambda index: rows[index].source)
    reports = detector.check_many([(rows[index].source, rows[index].claim) for index in order])
    found = dict(zip(order, reports, strict=True))
    return [found[index] for index in range(len(rows))]


def main() -> None:
    """Check the suites, print the figures and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_verifier_options(parser)
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=SUITES)
    parser.add_argument("--pairs", type=Path, help="check this file of labelled pairs instead")
    parser.add_argument("--limit", type=int, help="the first rows of every suite only")
    parser.add_argument("--out", type=Path, help="default: results/suites/VERIFIER.json")
    options = parser.parse_args()
    detector = Detector(verifier=verifier_of(options))
    if options.pairs:
        files = {"pairs": options.pairs}
        rows = pair_rows(options.pairs, options.limit)
    else:
        files = {suite: DATA / f"{suite}.jsonl" for suite in options.suites}
        rows = [row for suite in options.suites for row in suite_rows(suite)[: options.limit]]
    began = time.perf_counter()
    reports = checked(detector, rows)
    seconds = time.perf_counter() - began
    states = [state_of(report) for report in reports]
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row.suite,].append(index)
        groups[row.suite, row.kind].append(index)

    def figures(indices: Sequence[int]) -> dict[str, Any]:
        return measured([rows[index] for index in indices], [states[index] for index in indices])

    description = detector.verifier.description
    result = {
        "verifier": {
            key: value
            for key, value in description.items()
            if "digest" in key or key in ("name", "kind", "runtime", "calibration")
        },
        "configuration": detector.configuration.to_dict(),
        "rows_sha256": {suite: digest_of(file) for suite, file in files.items()},
        "limit": options.limit,
        "seconds": round(seconds, 2),
        "suites": {key[0]: figures(indices) for key, indices in groups.items() if len(key) == 1},
        "all": figures(range(len(rows))),
        "kinds": {
            " ".join(key): figures(indices) for key, indices in groups.items() if len(key) == 2
        },
        # Expected state, state, and the support and contradiction of the worst claim.
        "predictions": {
            f"{row.suite} {row.id}": [row.expected, state, *_worst(report)]
            for row, state, report in zip(rows, states, reports, strict=True)
        },
    }
    out = options.out or RESULTS / f"{description['name']}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, values in {**result["suites"], "all": result["all"]}.items():
        print(name, json.dumps(values))
    print(f"{len(rows)} claims in {seconds:.1f} s; {out}")


def _worst(report: Report) -> tuple[float | None, float | None]:
    claims = [claim for claim in report.claims if claim.support is not None]
    if not claims:
        return None, None
    worst = min(claims, key=lambda claim: claim.support or 0.0)
    return worst.support, worst.contradiction


if __name__ == "__main__":
    main()
