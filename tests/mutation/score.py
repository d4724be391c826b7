"""The mutation score for the documentation, from what a run found.

    python -m tests.mutation --json FILE.jsonl
    python -m tests.mutation.score FILE.jsonl benchmarks/results/mutation.json docs/design.md

Writes how many mutants of each module came to what, and the table of the page.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.__main__ import NOTICED, RUN

# Modules by their path in the package; the last group holds all others.
GROUPS = ("explanation/", "paper/", "reading/", "verification/", "scoring.py")
Counts = dict[str, dict[str, int]]
_TABLE = re.compile(r"\| code \| mutants \|.*?\n(?=\n)", re.DOTALL)


def counted(lines: Iterable[str]) -> Counts:
    """How many mutants of each module came to what; those that were not run are left out."""
    found: dict[str, Counter[str]] = {}
    for mutant in map(json.loads, lines):
        if mutant["status"] in RUN:
            module = mutant["file"].removeprefix("src/halldetect/")
            found.setdefault(module, Counter())[mutant["status"]] += 1
    return {module: dict(sorted(counts.items())) for module, counts in sorted(found.items())}


def table(counts: Counts) -> str:
    """The table of the page."""
    others = [module for module in counts if not module.startswith(GROUPS)]
    groups = {
        f"`{name}`": [module for module in counts if module.startswith(name)] for name in GROUPS
    }
    groups[", ".join(f"`{module}`" for module in others)] = others
    groups["all"] = list(counts)
    lines = ["| code | mutants | noticed | score |", "|---|---|---|---|"]
    for name, modules in groups.items():
        total = sum(sum(counts[module].values()) for module in modules)
        if not total:
            continue
        noticed = sum(counts[module].get(status, 0) for module in modules for status in NOTICED)
        lines.append(f"| {name} | {total:,} | {noticed:,} | {100 * noticed / total:.1f} % |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mutants", type=Path, help="what tests.mutation --json wrote")
    parser.add_argument("out", type=Path, help="where to write the counts")
    parser.add_argument("page", type=Path, help="the page with the table")
    options = parser.parse_args()
    counts = counted(options.mutants.read_text(encoding="utf-8").splitlines())
    options.out.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    text, found = _TABLE.subn(lambda _: table(counts), options.page.read_text(encoding="utf-8"))
    if found != 1:
        raise SystemExit(f"{options.page} has no table of mutants")
    options.page.write_text(text, encoding="utf-8")
    print(table(counts))


if __name__ == "__main__":
    main()
