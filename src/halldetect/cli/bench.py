"""halldetect bench run|ablate|report|pack|list"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli import bench_extract, bench_pack
from halldetect.cli.interrupt import interruptible
from halldetect.cli.options import write
from halldetect.cli.pace import Pace
from halldetect.cli.screen import Screen, put
from halldetect.errors import ConfigurationError, InputError
from halldetect.scoring import SCORINGS
from halldetect.windows.scales import GRANULARITIES

if TYPE_CHECKING:
    from halldetect_bench.datasets import Loaded

# Less has no room for a question and its answer.
LEAST_CONTEXT = 512
EXTRACTORS = ("whole", "sentences", "groups:2")
RUN = """\
Score the rows of datasets with methods and add the predictions to a folder of results, one
file for each dataset, method and configuration. A run that was stopped, in whatever way, goes
on where it was; rows that are there are not made again.
"""
ABLATE = """\
Judge every claim against every window of every scale once for each extractor, and keep what
each scale says. `bench report` then tells how each set of scales and each scoring would do.
Results are added to a folder, and a run that was stopped goes on, as with `bench run`.
"""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="compare methods on datasets",
        description="Run methods over labelled datasets, and make tables of the results.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every dataset and method", allow_abbrev=False)
    listing.set_defaults(run=run_list)
    _add_run(actions)
    _add_ablate(actions)
    _add_report(actions)
    bench_pack.add(actions)
    bench_extract.add(actions)


def _add_run(actions: Any) -> None:
    parser = actions.add_parser(
        "run", help="score datasets with methods", description=RUN, allow_abbrev=False
    )
    add = parser.add_argument
    add("--method", type=_names, required=True, metavar="NAME,...", help="see `bench list`")
    add("--extractor", default="auto", metavar="NAME", help="as for `check`; halldetect only")
    add(
        "--granularities",
        type=_scales,
        default=GRANULARITIES,
        metavar="M,M,...",
        help="as for `check`; halldetect only",
    )
    add("--scoring", choices=SCORINGS, default="calibrated", help="halldetect only")
    add("--embedder", metavar="NAME", help="a GGUF model or an ONNX folder; default: the --llm")
    _add_shared(parser)
    parser.set_defaults(run=run_run)


def _add_ablate(actions: Any) -> None:
    parser = actions.add_parser(
        "ablate",
        help="what each part of HallDetect is worth",
        description=ABLATE,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--extractors",
        type=_names,
        default=list(EXTRACTORS),
        metavar="NAME,...",
        help="whole, groups:N, llm (the --llm), or as for `check`: whole,sentences,groups:2",
    )
    _add_shared(parser)
    parser.set_defaults(run=run_ablate)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dataset", type=_names, required=True, metavar="NAME,...", help="see `bench list`")
    add("--data", type=Path, metavar="DIR", help="where the datasets are; or HALLDETECT_DATA")
    add("-o", "--out", type=Path, required=True, metavar="DIR", help="the folder of results")
    add("--limit", type=int, metavar="N", help="a random sample of so many rows a dataset")
    add("--batch", type=int, default=1, metavar="N", help="rows scored together: 1")
    add("--verifier", metavar="NAME", help="as for `check`")
    add("--llm", metavar="NAME", help="a GGUF model by name or path, for methods that ask one")
    add("--context", type=int, metavar="N", help="tokens the --llm reads: 8192")
    add(
        "--device",
        choices=("cpu", "cuda"),
        help="the --llm in PyTorch, there; default: in llama.cpp",
    )
    add("--seed", type=int, default=0, metavar="N", help="of the sample and the models: 0")
    add("--threads", type=int, metavar="N", help="default: as many as there are cores")
    add("--quiet", action="store_true", help="no notices and no progress on standard error")


def _add_report(actions: Any) -> None:
    parser = actions.add_parser("report", help="make tables of results", allow_abbrev=False)
    add = parser.add_argument
    add("results", type=Path, metavar="DIR", help="the folder that `bench run` wrote to")
    add("-o", "--out", type=Path, metavar="DIR", help="where to write; default: the same folder")
    add("--against", metavar="NAME", help="compare with this method; default: halldetect")
    add("--samples", type=int, default=1000, metavar="N", help="bootstrap samples: 1000")
    add("--markdown", type=Path, metavar="FILE", help="write the text of the report there too")
    add("--no-figures", action="store_true", help="tables only, without matplotlib")
    parser.set_defaults(run=run_report)


def run_list(arguments: argparse.Namespace) -> int:
    from halldetect_bench.datasets import ADVERSARIAL, DATASETS, OWN
    from halldetect_bench.methods.registry import METHODS

    lines = ["DATASETS (name, folder under --data)"]
    wide = max(map(len, DATASETS))
    lines += [f"  {item.name.ljust(wide)}  {item.folder}/" for item in DATASETS.values()]
    lines += [f"  {OWN}FILE".ljust(wide + 4) + "your own rows"]
    lines += [f"  {ADVERSARIAL}NAME".ljust(wide + 4) + "faithful rows of NAME, made wrong"]
    lines += ["", "METHODS (name, needs, what it is)"]
    wide = max(map(len, METHODS))
    needs = max(len(item.needs) for item in METHODS.values())
    lines += [
        f"  {item.name.ljust(wide)}  {item.needs.ljust(needs)}  {item.summary}"
        for item in METHODS.values()
    ]
    put("\n".join(lines) + "\n")
    return 0


def run_run(arguments: argparse.Namespace) -> int:
    from halldetect_bench.methods.registry import METHODS, Models, Options

    for name in arguments.method:
        if name not in METHODS:
            raise ConfigurationError(f"no method named {name!r}; there are {', '.join(METHODS)}")

    def methods(notice: Callable[[str], None]) -> list[Any]:
        models = Models(
            Options(
                **_chosen(arguments),
                extractor=arguments.extractor,
                granularities=arguments.granularities,
                scoring=arguments.scoring,
                embedder=arguments.embedder,
                notice=notice,
            )
        )
        return [METHODS[name].build(models) for name in arguments.method]

    return _run(arguments, methods)


def run_ablate(arguments: argparse.Namespace) -> int:
    from halldetect_bench.methods import Ablation
    from halldetect_bench.methods.registry import Models, Options

    def methods(notice: Callable[[str], None]) -> list[Any]:
        models = Models(Options(**_chosen(arguments), notice=notice))
        return [Ablation(models.splitter(name), models.verifier) for name in arguments.extractors]

    return _run(arguments, methods)


def _chosen(arguments: argparse.Namespace) -> dict[str, Any]:
    """What every method takes of the options."""
    if arguments.context is not None and arguments.context < LEAST_CONTEXT:
        raise ConfigurationError(f"--context must be at least {LEAST_CONTEXT}")
    names = ("verifier", "seed", "threads", "llm", "context", "device")
    return {name: getattr(arguments, name) for name in names}


def _run(arguments: argparse.Namespace, build: Callable[[Callable[[str], None]], list[Any]]) -> int:
    from halldetect_bench.datasets import load_dataset
    from halldetect_bench.runner import sample

    with Screen(quiet=arguments.quiet) as screen:
        # All data first: a name that is wrong must not come out after hours.
        rows = {}
        for name in arguments.dataset:
            loaded = load_dataset(name, arguments.data)
            _tell_dropped(name, loaded, screen)
            rows[name] = sample(loaded.rows, arguments.limit, arguments.seed)
            if not rows[name]:
                raise InputError(f"{name} has no usable row")
        methods = build(screen.notice)

        def work() -> None:
            for name, chosen in rows.items():
                for method in methods:
                    _one(name, chosen, method, arguments)

        interruptible(work, screen)
    return 0


def _remarks(folder: Path) -> list[str]:
    """What the one who made the results wrote beside them, paragraph by paragraph."""
    from halldetect.cli.inputs import read_file

    path = folder / "remarks.md"
    return read_file(path, "remarks").strip().split("\n\n") if path.is_file() else []


def run_report(arguments: argparse.Namespace) -> int:
    from halldetect_bench.blocks import markdown, page
    from halldetect_bench.document import document
    from halldetect_bench.packing import LATENCY
    from halldetect_bench.predictions import read_all
    from halldetect_bench.sheets import csv_sheets

    results = read_all(arguments.results)
    made = _tables(results, arguments)
    latency = {
        folder.name: _tables(read_all(folder), arguments, first=None)
        for folder in sorted(arguments.results.glob(f"{LATENCY}*"))
        if folder.is_dir()
    }
    out = arguments.out or arguments.results
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {str(out)!r}: {error.strerror}") from error
    drawings: list[Path] = []
    if not arguments.no_figures:
        from halldetect_bench.figures import draw

        drawings = draw(results, made, out)
    blocks = document(made, latency, drawings, _remarks(arguments.results))
    texts = {
        out / "report.md": markdown(blocks),
        out / "report.html": page(blocks, "HallDetect: results"),
        **{out / name: text for name, text in csv_sheets(made).items()},
    }
    if arguments.markdown is not None:
        texts[arguments.markdown] = markdown(blocks)
    for path, text in texts.items():
        write(path, text)
    put("".join(f"{path}\n" for path in (*texts, *drawings)))
    return 0


def _tables(results: Any, arguments: argparse.Namespace, **chosen: Any) -> Any:
    from halldetect_bench.methods.registry import METHODS
    from halldetect_bench.tables import tables

    first = chosen.get("first", arguments.against)
    return tables(results, order=tuple(METHODS), first=first, samples=arguments.samples)


def _one(dataset: str, rows: Any, method: Any, arguments: argparse.Namespace) -> None:
    from halldetect_bench.runner import run

    pace = Pace(f"{dataset}, {method.description['name']}", quiet=arguments.quiet)
    try:
        ran = run(
            dataset, rows, method, arguments.out, batch=arguments.batch, progress=pace.advance
        )
    finally:
        pace.finish()
    put(f"{ran.path}: {ran.new} new, {ran.kept} already there\n")


def _tell_dropped(name: str, loaded: Loaded, screen: Screen) -> None:
    if loaded.dropped:
        reasons = Counter(reason for _, reason in loaded.dropped).most_common(3)
        told = "; ".join(f"{count} x {reason}" for reason, count in reasons)
        screen.notice(f"{name}: {len(loaded.dropped)} records left out ({told})")


def _names(text: str) -> list[str]:
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise argparse.ArgumentTypeError("no name given")
    return names


def _scales(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of whole numbers such as 1,2,4"
        ) from None
