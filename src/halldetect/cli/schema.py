"""halldetect schema"""

from __future__ import annotations

import argparse
import json
from typing import Any

from halldetect.cli.screen import put


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "schema",
        help="print the JSON Schema of a report",
        description="Print the JSON Schema that every report of check --json fulfils.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from halldetect import render

    put(json.dumps(render.json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
