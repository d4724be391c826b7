"""`halldetect bench reproduce`: run stored results again and compare."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from halldetect.cli.output import print_result
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import ConfigurationError

REPRODUCE = """\
Run the methods behind a folder of results again, on the same rows with the same settings, and
compare AUROC and balanced accuracy with the stored 95 % intervals. What needs a model that is not
here is listed and left out. Exit status 1 if a figure lies outside, 0 if none does. All rows of
all methods take hours on a CPU: --limit, --dataset and --method choose.
"""


def add(actions: Any) -> None:
    """Add the action.

    actions: the subparsers of `bench`.
    """
    parser = actions.add_parser(
        "reproduce",
        help="run stored results again and compare",
        description=REPRODUCE,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("results", type=Path, metavar="DIR", help="a folder of stored results")
    add("-o", "--out", type=Path, required=True, metavar="DIR", help="where to write the new ones")
    add("--data", type=Path, metavar="DIR", help="the datasets; default: HALLDETECT_DATA")
    add("--dataset", metavar="NAME,...", help="only these datasets")
    add("--method", metavar="NAME,...", help="only these methods")
    add("--limit", type=int, metavar="N", help="rows per dataset, a random sample; default: all")
    add("--batch", type=int, default=1, metavar="N", help="rows per call of a method: 1")
    add(
        "--device",
        choices=("cpu", "cuda"),
        help="run language models in PyTorch on this device; default: in llama.cpp",
    )
    add("--quiet", action="store_true", help="no notices on standard error")
    parser.set_defaults(run=run_reproduce)


def run_reproduce(arguments: argparse.Namespace) -> int:
    """Run stored results again and print the comparison.

    arguments: of `bench reproduce`.
    """
    from halldetect_bench.predictions import read_all
    from halldetect_bench.reproduction import reproduce
    from halldetect_bench.stats.method_labels import method_labels
    from halldetect_bench.stats.selection import read_settings, select

    kept = select(read_all(arguments.results), read_settings(arguments.results)).kept
    labels = method_labels(one.header for one in kept)
    chosen = [
        (labels[one.header.digest], one)
        for one in kept
        if _wanted(arguments.dataset, one.header.dataset)
        and _wanted(arguments.method, labels[one.header.digest], one.header.method["name"])
    ]
    if not chosen:
        raise ConfigurationError(
            f"nothing to run: {arguments.results} has "
            f"{', '.join(sorted({one.header.dataset for one in kept}))} and "
            f"{', '.join(sorted(set(labels.values())))}"
        )
    with ProgressDisplay(quiet=arguments.quiet) as display:
        found = reproduce(
            chosen,
            arguments.out,
            data=arguments.data,
            limit=arguments.limit,
            batch=arguments.batch,
            device=arguments.device,
            notice=display.notice,
        )
    lines = []
    for one in found:
        what = f"{one.dataset}, {one.method}"
        if one.reason is not None:
            lines.append(f"not run  {what}: {one.reason}")
            continue
        state = "inside " if one.inside else "OUTSIDE"
        lines.append(
            f"{state}  {what}: {one.metric} {_text(one.now)}, stored {_text(one.stored.value)} "
            f"({_text(one.stored.low)} to {_text(one.stored.high)}), {one.rows} rows"
        )
    print_result("\n".join(lines) + "\n")
    return int(any(one.reason is None and not one.inside for one in found))


def _wanted(names: str | None, *given: str) -> bool:
    return names is None or bool({part.strip() for part in names.split(",")} & set(given))


def _text(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
