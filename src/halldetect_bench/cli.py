"""The command `halldetect bench`: list, run, report and reproduce.

Modules that are slow to import are imported where they are used.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.exits import interruptible
from halldetect.cli.options import add_option, configuration_for
from halldetect.cli.output import print_result, write_file
from halldetect.cli.parser import add_command, file, switch, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.config import PAPER_EXTRACTOR, options
from halldetect.errors import ConfigurationError, InputError
from halldetect.files.decoding import read_file

if TYPE_CHECKING:
    from halldetect_bench.datasets.labelled_rows import Loaded, Row
    from halldetect_bench.methods.method import Method
    from halldetect_bench.stats.tables import Tables

# A smaller context has no room for a question and its answer.
MIN_CONTEXT = 512
RUN = """\
Score the rows of datasets with methods and append the predictions to a folder of results, one
file per dataset, method and configuration. A run that was stopped continues where it was.
"""
REPORT = """\
Write the report of a folder of results: results.md, and every table as CSV in results/. A file
`settings.toml` in the folder may say which weights the report is about.
"""
REPRODUCE = """\
Run the methods behind a folder of results again, on the same rows with the same settings, and
compare AUROC and balanced accuracy with the stored 95 % intervals; nine in ten verdicts must be the
same. Methods without their model are listed and left out. Exit status 1 if a figure lies outside.
All rows take hours on a CPU: --limit, --dataset and --method choose.
"""
BuildMethods = Callable[[Callable[[str], None]], "list[Method]"]


def _names(text: str) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ValueError("no name given")
    return names


def _list(help: str) -> dict[str, Any]:
    """Describe an option that collects names over all its uses."""
    return {**value("NAME,...", help, _names), "action": "extend"}


_ROWS = {
    "--data": file("the folder of the datasets; default: HALLDETECT_DATA", "DIR"),
    "--limit": value("N", "rows per dataset, a random sample; default: all", int),
    "--batch": value("N", "rows per call of a method", int, 1),
    "--device": value(
        None,
        "run language models in PyTorch on this device; default: in llama.cpp",
        choices=("cpu", "cuda"),
    ),
    "--quiet": switch("no notices and no progress on standard error"),
}
_RUN = {
    "--dataset": {"required": True, **_list("see `bench list`")},
    "--method": {"required": True, **_list("see `bench list`")},
    "-o --out": {"required": True, **file("the folder of results", "DIR")},
    "--embedder": value("NAME", "a model for sentence vectors: FOLDER or hf:NAME"),
    "--llm": value("NAME", "a GGUF model by name or path, for methods that ask a language model"),
    "--context": value("N", "tokens that the --llm reads; default: 8192", int),
    # Another name than the option of a check, which requires the paper's method.
    "--extractor": {
        "dest": "claims_of",
        **value("NAME", f"what writes the claims of the method paper: {PAPER_EXTRACTOR}"),
    },
    "--seed": value("N", "seed of the sample and of the models", int, 0),
    **_ROWS,
}
_REPORT = {
    "results": {"type": Path, "metavar": "DIR", "help": "a folder of results of `bench run`"},
    "-o --out": file("where to write; default: the same folder", "DIR"),
    "--against": value("NAME", "compare with this method; default: halldetect"),
    "--samples": value("N", "bootstrap samples", int, 500),
    "--readme": file("rewrite the block of numbers in this file too"),
    "--peers": file("figures of `benchmarks.peers`, for the README and OUT/comparison.md"),
}
_REPRODUCE = {
    "results": {"type": Path, "metavar": "DIR", "help": "a folder of stored results"},
    "-o --out": {"required": True, **file("where to write the new ones", "DIR")},
    "--dataset": _list("only these datasets"),
    "--method": _list("only these methods"),
    **_ROWS,
}


def add(commands: Any) -> None:
    """Add the command and its actions."""
    text = "Run methods over labelled datasets and report the results."
    bench = add_command(commands, "bench", None, "compare methods on datasets", text)
    actions = bench.add_subparsers(metavar="ACTION", required=True)
    add_command(actions, "list", run_list, "list every dataset and method")
    help, usage = "score datasets with methods", "--dataset NAME,... --method NAME,... -o DIR"
    parser = add_command(actions, "run", run_methods, help, RUN, usage, {"": _RUN})
    for option in options():
        if option.name in ("verifier", "threads"):
            add_option(parser, option)
    help = "write the report of a folder of results"
    add_command(actions, "report", run_report, help, REPORT, "DIR", {"": _REPORT})
    help = "run stored results again and compare"
    usage = "DIR -o DIR"
    add_command(actions, "reproduce", run_reproduce, help, REPRODUCE, usage, {"": _REPRODUCE})


def run_list(arguments: argparse.Namespace) -> int:
    """Print every dataset and method."""
    from halldetect_bench.registry import DATASETS, METHODS, USER_FILE

    lines = ["DATASETS (name, folder under --data)"]
    width = max(map(len, DATASETS))
    lines += [f"  {item.name.ljust(width)}  {item.folder}/" for item in DATASETS.values()]
    lines += [f"  {USER_FILE}FILE".ljust(width + 4) + "rows of your own"]
    lines += ["", "METHODS (name, needs, what it is)"]
    width = max(map(len, METHODS))
    needs = max(len(item.needs) for item in METHODS.values())
    lines += [
        f"  {item.name.ljust(width)}  {item.needs.ljust(needs)}  {item.summary}"
        for item in METHODS.values()
    ]
    print_result("\n".join(lines) + "\n")
    return 0


def run_methods(arguments: argparse.Namespace) -> int:
    """Score datasets with methods."""
    from halldetect_bench.models.selection import RunModels, RunOptions
    from halldetect_bench.registry import METHODS

    for name in arguments.method:
        if name not in METHODS:
            raise ConfigurationError(f"no method named {name!r}; there are {', '.join(METHODS)}")
    if arguments.context is not None and arguments.context < MIN_CONTEXT:
        raise ConfigurationError(f"--context must be at least {MIN_CONTEXT}")

    def build(notice: Callable[[str], None]) -> list[Method]:
        models = RunModels(
            RunOptions(
                configuration_for(arguments),
                extractor=arguments.claims_of,
                llm=arguments.llm,
                context=arguments.context,
                device=arguments.device,
                embedder=arguments.embedder,
                notice=notice,
            )
        )
        return [METHODS[name].build(models) for name in dict.fromkeys(arguments.method)]

    return _run(arguments, build)


def _run(arguments: argparse.Namespace, build: BuildMethods) -> int:
    from halldetect_bench.predictions import portable_command
    from halldetect_bench.registry import load_dataset
    from halldetect_bench.runner import run, sample

    with ProgressDisplay(quiet=arguments.quiet) as display:
        # Load all data first, so that a wrong name does not fail after hours.
        chosen: dict[str, tuple[list[Row], dict[str, int]]] = {}
        for name in arguments.dataset:
            loaded = load_dataset(name, arguments.data)
            _report_dropped(name, loaded, display)
            rows = sample(loaded.rows, arguments.limit, arguments.seed)
            if not rows:
                raise InputError(f"{name} has no usable row")
            drawn = {"rows": len(rows), "of": len(loaded.rows), "seed": arguments.seed}
            chosen[name] = rows, drawn
        methods = build(display.notice)

        def show(task: str, done: int, total: int) -> None:
            display.update(task, f"{done}/{total} rows", done / total, at_once=done == total)

        def work() -> None:
            for (name, (rows, drawn)), method in product(chosen.items(), methods):
                outcome = run(
                    name,
                    rows,
                    method,
                    arguments.out,
                    batch=arguments.batch,
                    progress=partial(show, f"{name}, {method.description['name']}"),
                    command=portable_command("halldetect", sys.argv[1:]),
                    sample=drawn,
                )
                display.clear()
                print_result(f"{outcome.path}: {outcome.new} new, {outcome.kept} already there\n")

        interruptible(work, display)
    return 0


def _report_dropped(name: str, loaded: Loaded, display: ProgressDisplay) -> None:
    if loaded.dropped:
        reasons = Counter(reason for _, reason in loaded.dropped).most_common(3)
        summary = "; ".join(f"{count} x {reason}" for reason, count in reasons)
        display.notice(f"{name}: {len(loaded.dropped)} records dropped ({summary})")


def run_report(arguments: argparse.Namespace) -> int:
    """Write the report of a folder of results."""
    from halldetect_bench.peers_page import page, read_peers, readme_table
    from halldetect_bench.report import csv_files, readme_text, summary, with_block

    tables = read_tables(arguments.results, arguments.against, arguments.samples)
    out = arguments.out or arguments.results
    texts = {
        out / "results.md": summary(tables),
        **{out / "results" / name: text for name, text in csv_files(tables).items()},
    }
    peers = None if arguments.peers is None else read_peers(arguments.peers)
    if peers is not None:
        comparison = out / "comparison.md"
        texts[comparison] = with_block(read_file(comparison, "the page of --peers"), page(peers))
    if arguments.readme is not None:
        block = "" if peers is None else f"{readme_table(peers)}\n\n"
        text = read_file(arguments.readme, "the file of --readme")
        texts[arguments.readme] = with_block(text, block + readme_text(tables))
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
    from halldetect_bench.predictions import latency_folders
    from halldetect_bench.registry import DATASETS, METHODS
    from halldetect_bench.results_folder import read_all
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
    if evidence.methods and not evidence.on_shared_rows.count:
        methods = ", ".join(evidence.methods)
        raise InputError(f"no row was scored by all of {methods}: run them on the same rows")
    return Tables(evidence)


def run_reproduce(arguments: argparse.Namespace) -> int:
    """Run stored results again and print the comparison."""
    from halldetect_bench.reproduction import reproduce
    from halldetect_bench.results_folder import read_all
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
