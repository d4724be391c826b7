"""`halldetect bench report` and `reproduce`: commands on a folder of results."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.output import print_result, write_file
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import read_file
from halldetect.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from halldetect_bench.stats.tables import Tables

REPORT = """\
Write the report of a folder of results: results.md, and every table as CSV in results/. A file
`settings.toml` in the folder may say which weights the report is about.
"""
REPRODUCE = """\
Run the methods behind a folder of results again, on the same rows with the same settings, and
compare AUROC and balanced accuracy with the stored 95 % intervals. What needs a model that is not
here is listed and left out. Exit status 1 if a figure lies outside, 0 if none does. All rows of
all methods take hours on a CPU: --limit, --dataset and --method choose.
"""


def add_action(
    actions: Any, name: str, run: Callable[..., int], help: str, description: str
) -> argparse.ArgumentParser:
    """Add an action of `bench`, and return its parser."""
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=help, description=description, allow_abbrev=False
    )
    parser.set_defaults(run=run)
    return parser


def add_report(actions: Any) -> None:
    """Add the action `report`."""
    text = "write the report of a folder of results"
    add = add_action(actions, "report", run_report, text, REPORT).add_argument
    add("results", type=Path, metavar="DIR", help="a folder of results of `bench run`")
    add("-o", "--out", type=Path, metavar="DIR", help="where to write; default: the same folder")
    add("--against", metavar="NAME", help="compare with this method; default: halldetect")
    add("--samples", type=int, default=500, metavar="N", help="bootstrap samples: 500")
    add("--readme", type=Path, metavar="FILE", help="rewrite the block of numbers in this file too")


def add_reproduce(actions: Any) -> None:
    """Add the action `reproduce`."""
    text = "run stored results again and compare"
    parser = add_action(actions, "reproduce", run_reproduce, text, REPRODUCE)
    add = parser.add_argument
    add("results", type=Path, metavar="DIR", help="a folder of stored results")
    add("-o", "--out", type=Path, required=True, metavar="DIR", help="where to write the new ones")
    add("--data", type=Path, metavar="DIR", help="the datasets; default: HALLDETECT_DATA")
    add_names(parser, "--dataset", "only these datasets")
    add_names(parser, "--method", "only these methods")
    add("--limit", type=int, metavar="N", help="rows per dataset, a random sample; default: all")
    add("--batch", type=int, default=1, metavar="N", help="rows per call of a method: 1")
    add(
        "--device",
        choices=("cpu", "cuda"),
        help="run language models in PyTorch on this device; default: in llama.cpp",
    )
    add("--quiet", action="store_true", help="no notices on standard error")


def run_report(arguments: argparse.Namespace) -> int:
    """Write the report of a folder of results."""
    from halldetect_bench.report import csv_files, summary, with_block

    tables = read_tables(arguments.results, arguments.against, arguments.samples)
    out = arguments.out or arguments.results
    texts = {
        out / "results.md": summary(tables),
        **{out / "results" / name: text for name, text in csv_files(tables).items()},
    }
    if arguments.readme is not None:
        text = read_file(arguments.readme, "the file of --readme")
        texts[arguments.readme] = with_block(text, tables)
    try:
        (out / "results").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {str(out)!r}: {error.strerror}") from error
    for path, text in texts.items():
        write_file(path, text)
    print_result("".join(f"{path}\n" for path in texts))
    return 0


def read_tables(folder: Path, reference: str | None = None, samples: int = 500) -> Tables:
    """Return the tables of a folder of results, with every method compared with the reference."""
    from halldetect_bench.predictions import latency_folders, read_all
    from halldetect_bench.registry import DATASETS, METHODS
    from halldetect_bench.stats.evidence import Evidence
    from halldetect_bench.stats.selection import read_settings
    from halldetect_bench.stats.tables import Tables

    evidence = Evidence(
        read_all(folder),
        read_settings(folder),
        order=tuple(METHODS),
        datasets=tuple(DATASETS),
        reference=reference,
        samples=samples,
        latency={inner.name: read_all(inner) for inner in latency_folders(folder)},
    )
    return Tables(evidence)


def run_reproduce(arguments: argparse.Namespace) -> int:
    """Run stored results again and print the comparison."""
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


def _wanted(names: list[str] | None, *given: str) -> bool:
    return names is None or bool(set(names) & set(given))


def _text(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def add_names(
    parser: argparse.ArgumentParser, option: str, help: str, *, required: bool = False
) -> None:
    """Add an option that collects names over all its uses."""
    parser.add_argument(
        option, action="extend", type=_names, required=required, metavar="NAME,...", help=help
    )


def _names(text: str) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise argparse.ArgumentTypeError("no name given")
    return names
