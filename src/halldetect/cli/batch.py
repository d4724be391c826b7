"""halldetect batch: check every row of files, on this machine or on a Ray cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.batch.counts import ROW_KINDS, RowCounts
from halldetect.batch.gate import WORSE, Condition, failed_conditions, parse_condition
from halldetect.cli.exits import COULD_NOT_CHECK, INTERRUPTED, OF_VERDICT, interruptible
from halldetect.cli.options import LOADING_PHASES, add_detector_options, detector_for
from halldetect.cli.parser import path_argument
from halldetect.cli.progress import BatchDisplay, ProgressDisplay, duration_text, rate_text
from halldetect.errors import InputError
from halldetect.report import Verdict

if TYPE_CHECKING:
    from halldetect.batch.job import Job
    from halldetect.batch.local import BatchOutcome
    from halldetect.batch.ray.driver import CacheOptions
    from halldetect.detector import Detector

DESCRIPTION = """\
Check every row of IN (.jsonl, .json with an array of objects, .csv, each also .gz or .zst, or
.parquet; - is JSON lines on standard input; several files and patterns such as 'logs/*.jsonl'
are read one after the other) and write one result per row to OUT (.jsonl, .csv or .parquet; - is
JSON lines on standard output), in the same order. A row has source, response and, if you like,
id and question; its other columns are carried through. A row that cannot be read becomes a
result that says why.
"""
EPILOG = """\
exit status: 0 all rows done, 1 a condition of --fail-on or --fail-if is met, 2 wrong usage,
3 nothing could be checked or the results could not be written, 130 interrupted
"""
_RAY_OPTIONS = ("address", "workers", "cpus_per_worker", "gpus_per_worker", "part_rows")

# Does the work with a detector; asks whether to stop, and shows its progress.
Engine = Callable[
    ["Detector", "Job", Callable[[], bool], BatchDisplay, Callable[[str], None]], "BatchOutcome"
]


def add(commands: Any) -> None:
    """Add the command `batch` to the parser."""
    parser = commands.add_parser(
        "batch",
        help="check every row of a file",
        description=DESCRIPTION,
        epilog=EPILOG,
        usage="halldetect batch IN [IN ...] OUT [options]",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("input", metavar="IN", nargs="+", help="the rows to check")
    parser.add_argument("output", metavar="OUT", help="where the results go")
    _add_row_options(parser)
    _add_engine_options(parser)
    add_detector_options(parser)
    parser.set_defaults(run=run)


def _add_row_options(parser: argparse.ArgumentParser) -> None:
    for role, missing in (
        ("id", "the number of the row"),
        ("source", None),
        ("response", None),
        ("question", "none"),
    ):
        parser.add_argument(
            f"--{role}-column",
            metavar="NAME",
            help=f"the column with the {role} (default: {role}"
            + (")" if missing is None else f"; if it is missing, {missing})"),
        )
    parser.add_argument(
        "--level",
        choices=("response", "claim"),
        default="response",
        help="what one result stands for (default: response)",
    )
    parser.add_argument("--strict", action="store_true", help="stop at the first bad row")
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        choices=ROW_KINDS,
        metavar="KIND",
        help=f"exit with 1 if a row is {', '.join(ROW_KINDS[:-1])} or {ROW_KINDS[-1]}; "
        "may be repeated",
    )
    parser.add_argument(
        "--fail-if",
        action="append",
        default=[],
        type=_condition,
        metavar="CONDITION",
        help='exit with 1 if it is met, as in "rate>0.05", "uncheckable>=10" or, with --baseline, '
        '"worse>0"; may be repeated',
    )
    parser.add_argument(
        "--baseline",
        type=path_argument,
        metavar="FILE",
        help="the results of an earlier run over the same rows: say which rows got worse, and why",
    )
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--resume", action="store_true", help="continue an unfinished run")
    existing.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    parser.add_argument(
        "--report",
        type=path_argument,
        metavar="DIR",
        help="also write a report of all results, as HTML",
    )
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="NAME",
        help="in the report, break down by this column; repeatable",
    )
    parser.add_argument("--quiet", action="store_true", help="nothing but errors on standard error")


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    add_option = parser.add_argument_group("how to run").add_argument
    add_option(
        "--batch-size", type=int, metavar="N", help="rows that are checked together (default: 32)"
    )
    cache = parser.add_mutually_exclusive_group()
    cache.add_argument(
        "--cache", metavar="DIR", help="keep reports there, so that the same check costs nothing"
    )
    cache.add_argument("--no-cache", action="store_true", help="check repeated pairs again")
    add_option(
        "--cache-size",
        type=int,
        metavar="MB",
        help="delete the least recently used beyond this (default: 1024)",
    )
    add_option(
        "--engine", choices=("local", "ray"), default="local", help="where to run (default: local)"
    )
    add_option(
        "--address", metavar="HOST:PORT", help="of a Ray cluster (default: this machine alone)"
    )
    add_option(
        "--workers",
        type=int,
        metavar="N",
        help="detectors on the cluster (default: as many as fit)",
    )
    add_option(
        "--cpus-per-worker",
        type=int,
        metavar="N",
        help="processors per detector (default: 1, more where memory is short for large)",
    )
    add_option(
        "--gpus-per-worker",
        type=float,
        metavar="X",
        help="GPUs per detector, may be a fraction (default: 0)",
    )
    add_option(
        "--part-rows", type=int, metavar="N", help="rows per part of a run with ray (default: 256)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check every row; status 0 if all rows are done and no condition of failure is met."""
    from halldetect.batch.local import run_settings
    from halldetect.batch.writer import remove_leftovers

    job = _job(arguments)
    conditions = [*arguments.fail_if, *(Condition(kind, ">", 0) for kind in arguments.fail_on)]
    if arguments.baseline is None and any(item.name == WORSE for item in conditions):
        raise InputError(f"--fail-if {WORSE!r} needs --baseline FILE")
    if job.is_complete and any(item.name != WORSE for item in conditions):
        raise InputError(
            f"{job.target!r} is complete, and --fail-on and --fail-if count the rows of a run: "
            "add --overwrite to check it again"
        )
    _require_results_readable(arguments, job)
    engine = _engine(arguments)
    with ProgressDisplay(quiet=arguments.quiet) as display:
        if job.is_complete:
            if not job.is_folder:
                remove_leftovers(job.out)
            display.notice(f"{job.target!r} is complete; --overwrite would check it all again")
            _write_report(arguments, job, display)
            return _gate(arguments, job, RowCounts(), conditions, display)
        detector = detector_for(arguments, display, phases=LOADING_PHASES)
        interruptible(lambda stop: run_settings(detector), display)  # load the models first
        display.clear()
        outcome = interruptible(
            lambda stop: engine(detector, job, stop, BatchDisplay(display), display.notice),
            display,
            on_first="finishing the rows in hand; Ctrl-C again to leave them",
            on_exit=_interrupted_message(job, None),
        )
        for line in _summary_lines(outcome, arguments.engine):
            display.notice(line)
        if outcome.interrupted:
            message = _interrupted_message(job, outcome.counts.rows)
            print(f"halldetect: {message}", file=sys.stderr)
            return INTERRUPTED
        _write_report(arguments, job, display)
        failed = _gate(arguments, job, outcome.counts, conditions, display)
    return failed or (0 if outcome.counts.checked else COULD_NOT_CHECK)


def _gate(
    arguments: argparse.Namespace,
    job: Job,
    counts: RowCounts,
    conditions: list[Condition],
    display: ProgressDisplay,
) -> int:
    """Say what got worse since the earlier run; status 1 if a condition of failure is met."""
    worse = None
    if arguments.baseline is not None:
        from halldetect.batch.baseline import compare_with_baseline

        comparison = compare_with_baseline(arguments.baseline, job.out)
        worse = comparison.worse
        for line in comparison.lines(str(arguments.baseline)):
            display.notice(line)
    failures = failed_conditions(conditions, counts, worse)
    for line in failures:
        print(f"halldetect: {line}", file=sys.stderr)
    return OF_VERDICT[Verdict.HALLUCINATED] if failures else 0


def _condition(text: str) -> Condition:
    try:
        return parse_condition(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _job(arguments: argparse.Namespace) -> Job:
    from halldetect.batch.job import Job
    from halldetect.batch.results import Level
    from halldetect.batch.rows import ColumnNames

    return Job(
        source=tuple(arguments.input),
        target=arguments.output,
        columns=ColumnNames(
            source=arguments.source_column or "source",
            response=arguments.response_column or "response",
            id=arguments.id_column,
            question=arguments.question_column,
        ),
        level=Level(arguments.level),
        strict=arguments.strict,
        resume=arguments.resume,
        overwrite=arguments.overwrite,
        batch_size=arguments.batch_size,
        in_parts=arguments.engine == "ray",
    )


def _require_results_readable(arguments: argparse.Namespace, job: Job) -> None:
    """Refuse a report or a comparison of results that could not be read back."""
    from halldetect.batch.locations import STANDARD_STREAM, is_url
    from halldetect.batch.results import Level

    if arguments.by and arguments.report is None:
        raise InputError("--by is for --report")
    for flag in ("report", "baseline"):
        unreadable = job.target == STANDARD_STREAM or is_url(job.target)
        if getattr(arguments, flag) and (unreadable or job.level is Level.CLAIM):
            raise InputError(
                f"--{flag} needs results per response, in a file or folder of this machine"
            )
    if arguments.report is not None:
        from halldetect.batch.dataset_report import require_folder

        require_folder(arguments.report)
    if arguments.baseline is not None:
        from halldetect.batch.baseline import require_results

        require_results(arguments.baseline)


def _write_report(arguments: argparse.Namespace, job: Job, display: ProgressDisplay) -> None:
    if arguments.report is None:
        return
    from halldetect.batch.dataset_report import PAGE, write_report

    write_report(job.out, arguments.report, arguments.by)
    display.notice(f"the report is in {str(arguments.report / PAGE)!r}")


def _engine(arguments: argparse.Namespace) -> Engine:
    if arguments.cache_size is not None and arguments.cache_size < 1:
        raise InputError(f"--cache-size must be 1 or more, not {arguments.cache_size}")
    return _ray_engine(arguments) if arguments.engine == "ray" else _local_engine(arguments)


def _local_engine(arguments: argparse.Namespace) -> Engine:
    from halldetect.batch.cache import ReportCache
    from halldetect.batch.local import run_local, run_settings

    for name in _RAY_OPTIONS:
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name.replace('_', '-')} is for --engine ray")

    def engine(
        detector: Detector,
        job: Job,
        stop: Callable[[], bool],
        progress: BatchDisplay,
        notice: Callable[[str], None],
    ) -> BatchOutcome:
        cache_options = _cache_options(arguments)
        if cache_options is None:
            cache = ReportCache.disabled()
        else:
            folder, limit = cache_options
            path = None if folder is None else Path(folder)
            cache = ReportCache(path, run_settings(detector), limit=limit, notice=notice)
        with closing(cache):
            return run_local(detector, job, cache=cache, stop=stop, progress=progress)

    return engine


def _ray_engine(arguments: argparse.Namespace) -> Engine:
    from halldetect.batch.ray.cluster import DEFAULT_PART_ROWS, Cluster, require_ray
    from halldetect.batch.ray.driver import run_on_ray

    cluster = Cluster(
        address=arguments.address,
        workers=arguments.workers,
        cpus=arguments.cpus_per_worker,
        gpus=arguments.gpus_per_worker or 0.0,
        part_rows=DEFAULT_PART_ROWS if arguments.part_rows is None else arguments.part_rows,
    )
    require_ray()

    def engine(
        detector: Detector,
        job: Job,
        stop: Callable[[], bool],
        progress: BatchDisplay,
        notice: Callable[[str], None],
    ) -> BatchOutcome:
        # Ray prints messages about its workers; standard output is for results.
        with Path(os.devnull).open("w") as null:
            messages = null if arguments.quiet or sys.stderr is None else sys.stderr
            with redirect_stdout(messages):
                cache = _cache_options(arguments)
                return run_on_ray(detector, job, cluster, cache=cache, stop=stop, progress=progress)

    return engine


def _cache_options(arguments: argparse.Namespace) -> CacheOptions | None:
    """The folder (None: for this run only) and the limit in bytes, or None for no cache."""
    if arguments.no_cache:
        return None
    limit = None if arguments.cache_size is None else arguments.cache_size << 20
    return arguments.cache and os.path.realpath(arguments.cache), limit


def _interrupted_message(job: Job, rows: int | None) -> str:
    from halldetect.batch.locations import STANDARD_STREAM
    from halldetect.batch.resume import HOW_TO_RESUME

    done = "interrupted" if rows is None else f"interrupted after {rows} rows"
    return done if job.target == STANDARD_STREAM else f"{done}; {HOW_TO_RESUME}"


def _summary_lines(outcome: BatchOutcome, engine: str) -> list[str]:
    counts = outcome.counts
    new_rows = counts.rows - outcome.rows_before
    pace = f"{new_rows:,} in {duration_text(outcome.seconds)}"
    if rate := rate_text(new_rows, outcome.seconds):
        pace += f", {rate}"
    kinds = ", ".join(
        f"{counts.by_kind[kind]:,} {kind}"
        for kind in ("faithful", "hallucinated", "abstained", "uncheckable", "bad")
    )
    lines = [f"{counts.rows:,} rows ({pace}): {kinds}"]
    if counts.first_bad is not None:
        lines.append(f"the first bad row: {counts.first_bad}")
    if engine == "ray":  # rows are read in many places at once, so ids are not compared
        return lines
    if outcome.repeated_ids is None:
        lines.append("no room for temporary files: repeated ids were not counted")
    elif outcome.repeated_ids:
        lines.append(f"rows with an id that was there before: {outcome.repeated_ids:,}")
    return lines
