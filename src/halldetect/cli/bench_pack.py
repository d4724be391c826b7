"""halldetect bench pack"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from halldetect.cli.screen import put

PACK = """\
Write results to another folder, gzipped and without a word of the datasets, so that they can be
kept or passed on. Every figure that `bench report` makes of them stays the same.
"""


def add(actions: Any) -> None:
    parser = actions.add_parser(
        "pack", help="results without the datasets' texts", description=PACK, allow_abbrev=False
    )
    parser.add_argument("results", type=Path, metavar="DIR", help="a folder of results")
    parser.add_argument("out", type=Path, metavar="OUT", help="where to write them")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from halldetect_bench.packing import pack

    for path in pack(arguments.results, arguments.out):
        put(f"{path}\n")
    return 0
