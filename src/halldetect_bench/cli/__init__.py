"""The command `halldetect bench`: list, run, ablate; `results` adds report and reproduce.

`halldetect.cli.bench` adds these to the detector's command line. Modules that are slow to import
are imported where they are used.
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
from halldetect.cli.output import print_result
from halldetect.cli.progress import ProgressDisplay
from halldetect.config import PAPER_EXTRACTOR, options
from halldetect.errors import ConfigurationError, InputError
from halldetect_bench.cli.results import add_action, add_names, add_report, add_reproduce

if TYPE_CHECKING:
    from halldetect_bench.datasets.labelled_rows import Loaded, Row
    from halldetect_bench.methods.method import Method

# A smaller context has no room for a question and its answer.
MIN_CONTEXT = 512
EXTRACTORS = ("sentences", PAPER_EXTRACTOR)
RUN = """\
Score the rows of datasets with methods and append the predictions to a folder of results, one
file per dataset, method and configuration. A run that was stopped, even killed, continues where
it was; rows that are already there are not scored again.
"""
ABLATE = """\
Judge every claim against every window of the paper's scales, once with the sentences as claims and
once with those of a language model. `bench report` then shows the quality on the whole source and
on all scales, by the paper's score and by support.
Results are appended to a folder, and a run that was stopped continues, as with `bench run`.
"""
BuildMethods = Callable[[Callable[[str], None]], "list[Method]"]


def add(commands: Any) -> None:
    """Add the command and its actions."""
    parser = commands.add_parser(
        "bench",
        help="compare methods on datasets",
        description="Run methods over labelled datasets and report the results.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list every dataset and method", allow_abbrev=False)
    listing.set_defaults(run=run_list)
    _add_run(actions)
    _add_ablate(actions)
    add_report(actions)
    add_reproduce(actions)


def _add_run(actions: Any) -> None:
    parser = add_action(actions, "run", run_methods, "score datasets with methods", RUN)
    add = parser.add_argument
    add_names(parser, "--method", "see `bench list`", required=True)
    add("--embedder", metavar="NAME", help="a model for sentence vectors: FOLDER or hf:NAME")
    add(
        "--llm",
        metavar="NAME",
        help="a GGUF model by name or path, for methods that ask a language model",
    )
    add("--context", type=int, metavar="N", help="tokens that the --llm reads: 8192")
    add(
        "--device",
        choices=("cpu", "cuda"),
        help="run the --llm in PyTorch on this device; default: in llama.cpp",
    )
    # Another name than the option of a check, which requires the paper's method.
    add(
        "--extractor",
        dest="claims_of",
        metavar="NAME",
        help=f"what writes the claims of the method paper: {PAPER_EXTRACTOR}",
    )
    _add_common(parser)


def _add_ablate(actions: Any) -> None:
    text = "measure what each part of HallDetect contributes"
    parser = add_action(actions, "ablate", run_ablate, text, ABLATE)
    add_names(parser, "--extractors", f"what makes the claims: {','.join(EXTRACTORS)}")
    _add_common(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_names(parser, "--dataset", "see `bench list`", required=True)
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="the folder of the datasets; default: HALLDETECT_DATA",
    )
    add("-o", "--out", type=Path, required=True, metavar="DIR", help="the folder of results")
    add("--limit", type=int, metavar="N", help="rows per dataset, a random sample; default: all")
    add("--batch", type=int, default=1, metavar="N", help="rows per call of a method: 1")
    for option in options():
        if option.name in ("verifier", "threads"):
            add_option(parser, option)
    add("--seed", type=int, default=0, metavar="N", help="seed of the sample and of the models: 0")
    add("--quiet", action="store_true", help="no notices and no progress on standard error")


def run_list(arguments: argparse.Namespace) -> int:
    """Print every dataset and method."""
    from halldetect_bench.registry import ADVERSARIAL, DATASETS, METHODS, USER_FILE

    lines = ["DATASETS (name, folder under --data)"]
    width = max(map(len, DATASETS))
    lines += [f"  {item.name.ljust(width)}  {item.folder}/" for item in DATASETS.values()]
    lines += [f"  {USER_FILE}FILE".ljust(width + 4) + "rows of your own"]
    lines += [f"  {ADVERSARIAL}NAME".ljust(width + 4) + "faithful rows of NAME, each made wrong"]
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


def run_ablate(arguments: argparse.Namespace) -> int:
    """Run the ablation with each extractor."""
    from halldetect_bench.models.selection import RunModels, RunOptions
    from halldetect_bench.registry import ablation

    def build(notice: Callable[[str], None]) -> list[Method]:
        models = RunModels(RunOptions(configuration_for(arguments), notice=notice))
        names = dict.fromkeys(arguments.extractors or EXTRACTORS)
        return [ablation(models, name) for name in names]

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

        def work(stop: Callable[[], bool]) -> None:
            for (name, (rows, drawn)), method in product(chosen.items(), methods):
                outcome = run(
                    name,
                    rows,
                    method,
                    arguments.out,
                    batch=arguments.batch,
                    progress=partial(display.rows, f"{name}, {method.description['name']}"),
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
