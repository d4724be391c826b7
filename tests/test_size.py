"""Ceilings for the size of every part, and the goals that the ceilings come down to.

A ceiling is raised only in a commit that says why. `python -m tests.test_size` prints the table
with the actual numbers.
"""

from __future__ import annotations

import pytest

from tests.support.paths import ROOT
from tests.support.shape import files, functions, lines, sizes

# part: (ceiling, goal). The core is every module on the path of a check.
# Parts of halldetect without a goal of their own share that of halldetect.
CEILINGS: dict[str, tuple[int, int | None]] = {
    "halldetect": (24309, 20500),
    "core": (14393, 10000),
    "halldetect_serve": (4475, 4400),
    "halldetect_serve JavaScript": (1504, 1600),
    "halldetect_bench": (6591, 7000),
    "training and benchmarks": (18054, 11500),
    "Python files in src": (252, 240),
    "modules in the package root": (12, 12),
    "halldetect.agents": (880, None),
    "halldetect.batch": (2112, None),
    "halldetect.cli": (2157, None),
    "halldetect.facts": (870, None),
    "halldetect.faults": (1437, None),
    "halldetect.files": (484, None),
    "halldetect.integrations": (1117, None),
    "halldetect.knowledge": (714, None),
    "halldetect.large": (1357, None),
    "halldetect.machine": (638, None),
    "halldetect.models": (278, None),
    "halldetect.paper": (820, None),
    "halldetect.reading": (4032, 3000),
    "halldetect.render": (1008, None),
    "halldetect.repair": (821, None),
    "halldetect.report": (1110, None),
    "halldetect.verification": (2106, None),
}
# Parts that have no ceiling.
FREE = {"tests", "files in src"}
MODULE_LINES = 400
FUNCTION_LINES = 60
LONG_FUNCTIONS = 0


@pytest.fixture(scope="module")
def actual() -> dict[str, int]:
    return sizes(ROOT)


@pytest.mark.parametrize("part", CEILINGS)
def test_part_is_below_its_ceiling(part: str, actual: dict[str, int]) -> None:
    assert actual.get(part, 0) <= CEILINGS[part][0]


def test_every_part_has_a_ceiling(actual: dict[str, int]) -> None:
    assert actual.keys() - CEILINGS.keys() - FREE == set()


def test_no_module_is_too_long() -> None:
    assert [str(path) for path in files(ROOT, "src") if lines([path]) > MODULE_LINES] == []


def test_few_functions_are_too_long() -> None:
    long = [name for name, length in functions(ROOT).items() if length > FUNCTION_LINES]
    assert len(long) <= LONG_FUNCTIONS, "\n".join(long)


def main() -> None:
    """Print actual numbers, ceilings and goals."""
    actual = sizes(ROOT)
    print(f"{'part':32}{'actual':>8}{'ceiling':>9}{'goal':>8}")
    for part in [*CEILINGS, *sorted(actual.keys() - CEILINGS.keys())]:
        ceiling, goal = CEILINGS.get(part, (None, None))
        print(
            f"{part:32}{actual.get(part, 0):8}{ceiling or '':>9}{'' if goal is None else goal:>8}"
        )
    print(f"{'longest module':32}{max(lines([path]) for path in files(ROOT, 'src')):8}")
    lengths = functions(ROOT).values()
    print(f"{'longest function':32}{max(lengths):8}")
    long = sum(length > FUNCTION_LINES for length in lengths)
    print(f"{f'functions over {FUNCTION_LINES} lines':32}{long:8}{LONG_FUNCTIONS:9}{0:8}")


if __name__ == "__main__":
    main()
