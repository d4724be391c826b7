"""Measure the seconds of a check against words of source and claims, for both verifiers.

    python -m benchmarks.growth [--longest 120] [--verifiers base,large]
    python -m benchmarks.growth --page      # the page alone

Texts are made up, so no dataset is needed. A verifier gets growing texts until the next check would
take too long. Seconds are processor time of one thread, which other load hardly changes. Writes
results/growth.json, docs/growth.svg and the tables of docs/speed.md.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.batch import made_rows
from benchmarks.speed import PAGE, fill, table
from benchmarks.store import command, processor, store, stored
from benchmarks.svg import Panel, curves
from halldetect import Detector
from halldetect_bench.code_digest import code_digest

# Sizes of the source with three claims, and numbers of claims with 1,000 words.
SIZES = {
    "words": (100, 300, 1_000, 3_000, 10_000, 30_000, 50_000),
    "claims": (1, 3, 10, 30, 100, 300),
}
USUAL = {"words": 1_000, "claims": 3}
LABELS = {"words": "words of source", "claims": "claims"}


def texts(words: int, claims: int) -> tuple[str, str]:
    """Return a source and a response; every third claim has a wrong year, none is a copy."""
    rows = made_rows(words // 60 + 2, 10)
    source = " ".join(" ".join(row["source"] for row in rows).split()[:words])
    said = []
    for at in range(claims):
        opened = rows[at % max(words // 60, 1)]["source"].split(".")[0].split()
        year = int(opened[-1]) + (307 if at % 3 == 1 else 0)  # a year of no other row
        name = " ".join(opened[1:-3])
        said.append(f"The {name} has been open since {year}, as note {at} says.")
    return source, " ".join(said)


def measured(detector: Detector, size: dict[str, int]) -> dict[str, Any]:
    """Return the cost of a check."""
    source, response = texts(**size)
    spent = time.process_time()
    tokens = detector.check(source, response).cost.verifier_tokens
    return {**size, "tokens": tokens, "seconds": round(time.process_time() - spent, 3)}


def series(verifier: str, longest: float) -> dict[str, Any]:
    """Measure a verifier on growing sources, then on growing responses to one source.

    `large` keeps what it has read, so it reads that source only once.
    """
    detector, load = Detector(verifier=verifier, threads=1), os.getloadavg()[0]
    detector.check("It rained in Kyoto.", "It was wet in Kyoto.")
    found: dict[str, Any] = {"verifier": detector.verifier.description, "code": code_digest()}
    for key, sizes in SIZES.items():
        found[key] = []
        for size in sizes:
            before = found[key][-1] if found[key] else None  # the first size is always measured
            if before and before["seconds"] * size / before[key] > longest:
                break
            found[key].append(measured(detector, USUAL | {key: size}))
            print(verifier, json.dumps(found[key][-1]), flush=True)
    return found | {"load": [round(one, 1) for one in (load, os.getloadavg()[0])]}


def plot(found: dict[str, Any]) -> str:
    """Return the curves of all verifiers as an SVG with logarithmic axes."""
    every = [row["seconds"] for one in found.values() for key in SIZES for row in one[key]]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    return curves(
        [
            Panel(
                f"seconds against {LABELS[key]}",
                {math.log10(size): "" for size in sizes}
                | {math.log10(size): f"{size:,}" for size in sizes[::2]},
                {power: f"{10.0**power:g}" for power in range(low, high + 1)},
                {
                    name: [(math.log10(row[key]), math.log10(row["seconds"])) for row in one[key]]
                    for name, one in found.items()
                },
            )
            for key, sizes in SIZES.items()
        ]
    )


def section(result: dict[str, Any]) -> str:
    """Return the tables of the page."""
    found = result["verifiers"]
    lines = [f"Seconds of processor time (tokens read), one thread, {result['processor']}:"]
    for key, sizes in SIZES.items():
        cells = {
            name: {row[key]: f"{row['seconds']} ({row['tokens']:,})" for row in one[key]}
            for name, one in found.items()
        }
        rows = [(f"{size:,}", *(cells[name].get(size, "") for name in found)) for size in sizes]
        lines.append(table((LABELS[key], *found), rows))
    for name, one in found.items():
        about = one["verifier"]
        lines.append(
            f"`{name}`: weights {about['digest'][:8]}, {about['runtime']}, load average "
            f"{one['load'][0]} before and {one['load'][1]} after."
        )
    return "\n\n".join([*lines, "![seconds against size](growth.svg)"])


def written(result: dict[str, Any]) -> dict[Path, str]:
    """Return the page and the plot by their files."""
    page = fill(PAGE.read_text(encoding="utf-8"), {"growth": section(result)})
    return {PAGE: page, PAGE.with_name("growth.svg"): plot(result["verifiers"])}


def main() -> None:
    """Run the command."""
    parser = command(__doc__, "growth.json")
    parser.add_argument("--longest", type=float, default=120.0, help="seconds of the longest check")
    parser.add_argument("--verifiers", default="base,large")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    options = parser.parse_args()
    if not options.page:
        known = stored(options.out).get("verifiers", {})
        for name in options.verifiers.split(","):
            known[name] = series(name, options.longest)
            store(options.out, {"processor": processor(), "verifiers": known})
    for path, text in written(stored(options.out)).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
