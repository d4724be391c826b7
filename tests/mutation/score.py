"""The mutation score for the documentation, from what a run found.

    python -m tests.mutation --sample 600 --seed 23 --json FILE.jsonl
    python -m tests.mutation.score FILE.jsonl "--sample 600 --seed 23" \
        benchmarks/results/mutation.json

Writes how many mutants of each module came to what.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.__main__ import RUN

LEFT_OUT = "mutants that only change `strict=` of a `zip` over lists of one length"


def counted(lines: Iterable[str]) -> dict[str, dict[str, int]]:
    """How many mutants of each module came to what; those that were not run are left out."""
    found: dict[str, Counter[str]] = {}
    for mutant in map(json.loads, lines):
        if mutant["status"] in RUN:
            module = mutant["file"].removeprefix("src/halldetect/")
            found.setdefault(module, Counter())[mutant["status"]] += 1
    return {module: dict(sorted(counts.items())) for module, counts in sorted(found.items())}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mutants", type=Path, help="what tests.mutation --json wrote")
    parser.add_argument("options", help="the options of that run")
    parser.add_argument("out", type=Path, help="where to write the counts")
    options = parser.parse_args()
    found = {
        "command": f"python -m tests.mutation {options.options}",
        "left_out": LEFT_OUT,
        "modules": counted(options.mutants.read_text(encoding="utf-8").splitlines()),
    }
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
