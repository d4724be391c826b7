"""The suites of the project's own tests, judged by an adapter.

    python -m training.large.suites prepare WORK                    # own_groups.jsonl.xz
    python -m training.large.label WORK --groups own_groups.jsonl.xz --adapter A --out WORK/own
    python -m training.large.suites report WORK WORK/own/labels_0000.npz OUT.json

`cases.jsonl` has true claims and plain contradictions of forty realistic sources, `checks.jsonl`
minimal pairs. Neither was ever trained on.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parents[2] / "tests" / "data"
LABELS = {"entailment": "E", "neutral": "N", "contradiction": "C"}


def groups() -> Iterator[dict[str, Any]]:
    """Sources with their claims, in the form that `label` reads."""
    for line in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        claims = [{"text": text, "label": "E"} for text in case["true"]]
        claims += [{"text": text, "label": "C"} for text in case["contradicted"]]
        yield {"premise": case["source"], "source": "cases", "claims": claims}
    checks: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for line in (DATA / "checks.jsonl").read_text(encoding="utf-8").splitlines():
        check = json.loads(line)
        claim = {"text": check["hypothesis"], "label": LABELS[check["label"]]}
        checks[check["premise"]].append(claim)
    for premise, claims in checks.items():
        yield {"premise": premise, "source": "checks", "claims": claims}


def prepare(options: argparse.Namespace) -> None:
    """Write WORK/own_groups.jsonl.xz."""
    with lzma.open(options.work / "own_groups.jsonl.xz", "wt", encoding="utf-8") as file:
        for group in groups():
            file.write(json.dumps(group, ensure_ascii=False) + "\n")


def report(options: argparse.Namespace) -> None:
    """Count the likeliest answer per suite and label, and claims above one half."""
    with np.load(options.labels) as stored:
        probabilities = stored["probabilities"].astype(np.float64)
    rows: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    place = 0
    for group in groups():
        for claim in group["claims"]:
            rows[group["source"], claim["label"]].append(probabilities[place])
            place += 1
    if place != len(probabilities):
        raise SystemExit(f"{len(probabilities)} answers for {place} claims")
    table: dict[str, Any] = {}
    for (suite, label), answers in rows.items():
        values = np.array(answers)
        likeliest = np.bincount(values.argmax(1), minlength=3)
        table.setdefault(suite, {})[label] = {
            "claims": len(values),
            "entailment": int(likeliest[0]),
            "neutral": int(likeliest[1]),
            "contradiction": int(likeliest[2]),
            "entailment_at_most_half": int((values[:, 0] <= 0.5).sum()),
        }
    options.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(table, indent=1))


def main() -> None:
    """Run one of the two steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("prepare")
    step.add_argument("work", type=Path)
    step.set_defaults(run=prepare)
    step = steps.add_parser("report")
    step.add_argument("work", type=Path)
    step.add_argument("labels", type=Path)
    step.add_argument("out", type=Path)
    step.set_defaults(run=report)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
