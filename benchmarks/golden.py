"""Compare the reports of two versions of halldetect on the same rows.

    python -m benchmarks.golden record OUT.json.xz --data DIR
    python -m benchmarks.golden compare BEFORE.json.xz AFTER.json.xz [--json OUT]

`record` checks 674 fixed rows with the verifier `base` and all defaults, in one thread: 20 rows of
each dataset of DIR, and rows of the project's own suites. `OUT` holds, for every claim, its span
in the response, its state, its support and the place of its passage, but no text; for every row,
the verdict, the tokens of the verifier and the seconds of processor time. A run that was stopped
continues where it ended. Another version is recorded with its `src` on PYTHONPATH.

`compare` assigns every claim to one of the CLASSES. Claims are matched by their spans. A claim
without a counterpart is compared with the claims that overlap it. `better` and `worse` are
relative to the label of the sentence, or of the row if the sentence has no label.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.golden_rows import GOOD, WRONG, Label, Row, dataset_rows, own_rows

CLASSES = {
    "same": "same state, passage and support",
    "support": "support moved by less than 0.02",
    "moved": "support moved by 0.02 or more",
    "passage": "another passage",
    "recut": "other span, same state",
    "better": "state changed towards the label",
    "worse": "state changed away from the label",
    "unknown": "state changed, the label does not decide",
    "added": "claim added",
    "removed": "claim removed",
}
SMALL_MOVE = 0.02


def recorded(row: Row, report: Any, seconds: float) -> dict[str, Any]:
    """Return the places and numbers of a report, without text."""

    def claim(item: Any) -> list[Any]:
        found = item.evidence if hasattr(item, "evidence") else item.proof
        place = found and [found.document, found.span.start, found.span.end]
        span = item.span and [item.span.start, item.span.end]
        support = None if item.support is None else round(item.support, 3)
        return [span, str(item.status), support, place]

    return {
        "id": row.id,
        "hallucinated": row.hallucinated,
        "labels": row.labels,
        "verdict": str(report.verdict),
        "tokens": report.cost.verifier_tokens,
        "seconds": round(seconds, 3),
        "claims": [claim(item) for item in report.claims],
    }


def record(out: Path, data: Path, every: int) -> None:
    """Check every row, or each nth one, and write the results; a name in .xz is compressed."""
    from halldetect import Detector

    partial = out.with_name(f"{out.name}.partial")
    lines = partial.read_text("utf-8").splitlines() if partial.exists() else []
    done = {row["id"]: row for row in map(json.loads, lines)}
    detector = Detector(verifier="base", threads=1)
    detector.check_many([("The sky is blue.", "The sky is blue.")])
    rows = [*own_rows(), *dataset_rows(data)][::every]
    with partial.open("a", encoding="utf-8") as file:
        for number, row in enumerate(rows, 1):
            if row.id not in done:
                start = time.process_time()
                (report,) = detector.check_many([(row.source, row.response, row.question)])
                found = recorded(row, report, time.process_time() - start)
                done[found["id"]] = found
                print(json.dumps(found), file=file, flush=True)
                print(f"{number} of {len(rows)}: {found['id']}", flush=True)
    text = "[\n" + ",\n".join(json.dumps(item) for item in done.values()) + "\n]\n"
    out.write_bytes(lzma.compress(text.encode()) if out.suffix == ".xz" else text.encode())
    partial.unlink()


def expected(span: Sequence[int] | None, labels: Sequence[Label]) -> str | None:
    """Return the state that a claim at a span should get, or None if it is not known."""
    touched = [state for start, end, state in labels if span and start < span[1] and span[0] < end]
    return next((state for state in touched if state != GOOD), GOOD if touched else None)


def fitness(state: str, label: str) -> int:
    """Return how well a state, or a verdict, fits a label."""
    if state in ("uncheckable", "abstained"):
        return 1
    flagged = state not in (GOOD, "faithful")
    return 0 if flagged == (label == GOOD) else 3 if state == label else 2


def change(before: str, after: str, label: str | None) -> str:
    """Return the class of a change of state."""
    if label is None:
        return "unknown"
    old, new = fitness(before, label), fitness(after, label)
    return "better" if new > old else "worse" if new < old else "unknown"


def worst(states: Iterable[str]) -> str:
    """Return the worst of the states of several claims."""
    return min(states, key=("contradicted", "unsupported", "uncheckable", GOOD).index)


def classes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Return the class of every claim of a row, with the claims before and after."""
    rest = list(after["claims"])
    unmatched = []
    for old in before["claims"]:
        new = next((claim for claim in rest if claim[0] == old[0]), None)
        if new is None:
            unmatched.append(old)
            continue
        rest.remove(new)
        moved = abs((old[2] or 0) - (new[2] or 0))
        if old[1] != new[1]:
            yield change(old[1], new[1], expected(old[0], before["labels"])), old, new
        elif moved >= SMALL_MOVE:
            yield "moved", old, new
        elif old[3] != new[3]:
            yield "passage", old, new
        else:
            yield "support" if moved else "same", old, new
    for old in unmatched:
        near = [claim for claim in after["claims"] if _overlap(old[0], claim[0])]
        state = worst(claim[1] for claim in near) if near else None
        if state is None:
            yield "removed", old, None
        elif state == old[1]:
            yield "recut", old, near
        else:
            yield change(old[1], state, expected(old[0], before["labels"])), old, near
    for new in rest:
        if not any(_overlap(new[0], old[0]) for old in before["claims"]):
            yield "added", None, new


def _overlap(one: Sequence[int] | None, other: Sequence[int] | None) -> bool:
    return bool(one and other and one[0] < other[1] and other[0] < one[1])


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a recording by their ids."""
    content = path.read_bytes()
    rows = json.loads(lzma.decompress(content) if path.suffix == ".xz" else content)
    return {row["id"]: row for row in rows}


def compare(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return counts, and every difference beyond a small change of the support."""
    shared = [name for name in before if name in after]
    claims: dict[str, Counter[str]] = {}
    verdicts: Counter[str] = Counter()
    differences = []
    for name in shared:
        old, new = before[name], after[name]
        counts = claims.setdefault(name.split("/")[0], Counter())
        for kind, one, other in classes(old, new):
            counts[kind] += 1
            if kind not in ("same", "support"):
                differences.append({"row": name, "class": kind, "before": one, "after": other})
        if old["verdict"] == new["verdict"]:
            verdicts["same"] += 1
        else:
            one, other = old["verdict"], new["verdict"]
            kind = change(one, other, WRONG if old["hallucinated"] else GOOD)
            verdicts[kind] += 1
            kind = f"verdict {kind}"
            differences.append({"row": name, "class": kind, "before": one, "after": other})
    total = sum(claims.values(), Counter())

    def ratio(key: str) -> float:
        total = sum(before[name][key] for name in shared)
        return sum(after[name][key] for name in shared) / total if total else 1.0

    return {
        "rows": len(shared),
        "rows_missing": sorted(before.keys() ^ after.keys()),
        "claims": {kind: total[kind] for kind in CLASSES},
        "verdicts": dict(verdicts),
        "worse_share": total["worse"] / max(1, sum(total.values())),
        "tokens_ratio": ratio("tokens"),
        "seconds_ratio": ratio("seconds"),
        "groups": {group: dict(counts) for group, counts in claims.items()},
        "differences": differences,
    }


def table(result: dict[str, Any]) -> str:
    """Return the comparison as text."""
    kinds = [kind for kind in CLASSES if result["claims"][kind]]
    lines = [f"{kind:9} {result['claims'][kind]:6}  {CLASSES[kind]}" for kind in CLASSES]
    lines += ["", f"{'group':20}" + "".join(f"{kind:>9}" for kind in kinds)]
    for group, counts in result["groups"].items():
        lines.append(f"{group:20}" + "".join(f"{counts.get(kind, 0):9}" for kind in kinds))
    return "\n".join([
        *lines, "",
        f"rows      {result['rows']}, in one recording only: {len(result['rows_missing'])}",
        f"verdicts  {result['verdicts']}",
        f"worse     {result['worse_share']:.2%} of the claims",
        f"tokens    x {result['tokens_ratio']:.3f}",
        f"seconds   x {result['seconds_ratio']:.3f}",
    ])  # fmt: skip


def main() -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="check the rows and keep the findings")
    recording.add_argument("out", type=Path)
    recording.add_argument("--data", type=Path, default=Path("../shared/datasets"))
    recording.add_argument("--every", type=int, default=1, help="take each nth row only")
    comparing = commands.add_parser("compare", help="classify the differences of two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--json", type=Path, help="write the counts and differences")
    options = parser.parse_args()
    if options.command == "record":
        record(options.out, options.data, options.every)
    else:
        result = compare(read(options.before), read(options.after))
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(table(result))


if __name__ == "__main__":
    main()
