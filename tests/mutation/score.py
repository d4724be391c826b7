"""The mutation score for the documentation, from what a run found.

    python -m tests.mutation --sample 600 --seed 23 --json FILE.jsonl
    python -m tests.mutation.score FILE.jsonl "--sample 600 --seed 23" \
        benchmarks/results/mutation.json

Writes how many mutants of each module came to what, and the share noticed by package.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.__main__ import NOTICED, RUN, room

LEFT_OUT = (
    "mutants that only change `strict=` of a `zip` over lists of one length, "
    "and those of the index in PostgreSQL, which need a server"
)


def counted(lines: Iterable[str]) -> dict[str, dict[str, int]]:
    """How many mutants of each module came to what; those that were not run are left out."""
    found: dict[str, Counter[str]] = {}
    for mutant in map(json.loads, lines):
        if mutant["status"] in RUN:
            module = mutant["file"].removeprefix("src/").removeprefix("halldetect/")
            found.setdefault(module, Counter())[mutant["status"]] += 1
    return {module: dict(sorted(counts.items())) for module, counts in sorted(found.items())}


def shares(lines: Iterable[str]) -> dict[str, dict[str, float]]:
    """How many mutants of each package were run and noticed, and the share of these."""
    found: dict[str, Counter[bool]] = {}
    for mutant in map(json.loads, lines):
        if mutant["status"] in RUN:
            counts = found.setdefault(room(mutant["file"]), Counter())
            counts[mutant["status"] in NOTICED] += 1
    return {
        name: {
            "mutants": counts.total(),
            "noticed": counts[True],
            "share": round(counts[True] / counts.total(), 4),
        }
        for name, counts in sorted(found.items())
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mutants", type=Path, help="what tests.mutation --json wrote")
    parser.add_argument("options", help="the options of that run")
    parser.add_argument("out", type=Path, help="where to write the counts")
    options = parser.parse_args()
    lines = options.mutants.read_text(encoding="utf-8").splitlines()
    found = {
        "command": f"python -m tests.mutation {options.options}",
        "left_out": LEFT_OUT,
        "packages": shares(lines),
        "modules": counted(lines),
    }
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
