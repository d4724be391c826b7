"""halldetect batch: check every row of files, on this machine or on a Ray cluster."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from typing import TYPE_CHECKING, Any

from halldetect.batch.counts import ROW_KINDS, WORSE, Condition, RowCounts
from halldetect.batch.job import HOW_TO_RESUME, ColumnNames, Job, Level
from halldetect.batch.locations import STANDARD_STREAM, is_url
from halldetect.cli.exits import COULD_NOT_CHECK, INTERRUPTED, OF_VERDICT, interruptible
from halldetect.cli.options import LOADING_PHASES, add_detector_options, detector_for
from halldetect.cli.parser import path_argument
from halldetect.cli.progress import BatchDisplay, ProgressDisplay, duration_text, rate_text
from halldetect.errors import InputError
from halldetect.report import Verdict

if TYPE_CHECKING:
    from halldetect.batch.local import BatchOutcome
    from halldetect.detector import Detector

DESCRIPTION = """\
Check every row of IN (.jsonl or .csv, also .gz or .zst, or .parquet; - is JSON lines on standard
input; several files and patterns such as 'logs/*.jsonl' are read one after the other) and write
one result per row to OUT (.jsonl, .csv or .parquet; - is JSON lines on standard output), in the
same order. A row has source, response and, if you like, id and question; its other columns are
carried through. A row that cannot be read becomes a result that says why.
"""
EPILOG = """\
exit status: 0 all rows done, 1 a condition of --fail-on or --fail-if is met, 2 wrong usage,
3 nothing could be checked or the results could not be written, 130 interrupted
"""


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text!r}")
    return int(text)


def _condition(text: str) -> Condition:
    try:
        return Condition.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


Settings = dict[str, Any]
_FLAG: Settings = {"action": "store_true"}
_NAME: Settings = {"metavar": "NAME"}
_NAMES: Settings = {"metavar": "NAME", "action": "append", "default": []}
_LEVEL: Settings = {"choices": ("response", "claim"), "default": "response"}
_KINDS: Settings = {**_NAMES, "metavar": "KIND", "choices": ROW_KINDS}
_CONDITIONS: Settings = {**_NAMES, "metavar": "CONDITION", "type": _condition}
_FILE: Settings = {"metavar": "FILE", "type": path_argument}
_FOLDER: Settings = {"metavar": "DIR", "type": path_argument}
_COUNT: Settings = {"metavar": "N", "type": _positive}
_ENGINES: Settings = {"choices": ("local", "ray"), "default": "local"}
_ROW_OPTIONS = {
    "--id-column": (_NAME, "the column with the id (default: id; if missing, the row's number)"),
    "--source-column": (_NAME, "the column with the source (default: source)"),
    "--response-column": (_NAME, "the column with the response (default: response)"),
    "--question-column": (_NAME, "the column with the question (default: question)"),
    "--level": (_LEVEL, "the unit of one result (default: response)"),
    "--strict": (_FLAG, "stop at the first bad row"),
    "--fail-on": (_KINDS, "exit with 1 if there is such a row; repeatable"),
    "--fail-if": (
        _CONDITIONS,
        'exit with 1 if it is met, as in "rate>0.05", "uncheckable>=10" or, with --baseline, '
        '"worse>0"; repeatable',
    ),
    "--baseline": (_FILE, "the results of an earlier run: say which rows got worse, and why"),
    "--report": (_FOLDER, "also write a report of all results, as HTML"),
    "--by": (_NAMES, "in the report, break down by this column; repeatable"),
    "--quiet": (_FLAG, "nothing but errors on standard error"),
}
_EXISTING = {
    "--resume": (_FLAG, "continue an unfinished run"),
    "--overwrite": (_FLAG, "replace OUT if it exists"),
}
_CACHE = {
    "--cache": (_FOLDER, "keep reports there for later runs"),
    "--no-cache": (_FLAG, "check repeated pairs again"),
}
_RUN_OPTIONS = {
    "--batch-size": ({**_COUNT, "default": 32}, "rows that are checked together (default: 32)"),
    "--cache-size": ({**_COUNT, "default": 1024}, "megabytes of the cache (default: 1024)"),
    "--engine": (_ENGINES, "where to run (default: local)"),
}
_RAY_OPTIONS = {
    "--address": ({"metavar": "HOST:PORT"}, "of a Ray cluster (default: this machine alone)"),
    "--workers": (_COUNT, "detectors on the cluster (default: as many as fit)"),
    "--cpus-per-worker": (_COUNT, "processors per detector (default: 1)"),
    "--gpus-per-worker": ({"metavar": "X", "type": float}, "GPUs per detector (default: 0)"),
    "--part-rows": (_COUNT, "rows per part of a run with ray (default: 256)"),
}


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
    run_group = parser.add_argument_group("how to run")
    groups: tuple[tuple[Any, dict[str, tuple[Settings, str]]], ...] = (
        (parser, _ROW_OPTIONS),
        (parser.add_mutually_exclusive_group(), _EXISTING),
        (parser.add_mutually_exclusive_group(), _CACHE),
        (run_group, {**_RUN_OPTIONS, **_RAY_OPTIONS}),
    )
    for group, options in groups:
        for flag, (settings, text) in options.items():
            group.add_argument(flag, help=text, **settings)
    add_detector_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check every row; return 0 if all rows are done and no failure condition is met."""
    from halldetect.batch.local import counts_of_finished, run_settings
    from halldetect.batch.resume import remove_leftovers

    job = _job(arguments)
    conditions = [*arguments.fail_if, *(Condition(kind, ">", 0) for kind in arguments.fail_on)]
    _require_usable_options(arguments, job, conditions)
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display, phases=LOADING_PHASES)
        if job.is_complete:
            counts = counts_of_finished(job, detector.configuration)
            remove_leftovers(job.out)
            display.notice(f"{job.target!r} is complete; --overwrite would check it all again")
        else:
            interruptible(lambda stop: run_settings(detector), display)  # load the models first
            display.clear()
            outcome = interruptible(
                lambda stop: _run_engine(arguments, detector, job, stop, display),
                display,
                on_first="finishing the rows in hand; Ctrl-C again to leave them",
                on_exit=_interrupted_message(job, None),
            )
            counts = outcome.counts
            for line in _summary_lines(outcome):
                display.notice(line)
            if outcome.interrupted:
                message = _interrupted_message(job, counts.rows)
                print(f"halldetect: {message}", file=sys.stderr)
                return INTERRUPTED
        if arguments.report is not None:
            from halldetect.batch.dataset_report import PAGE, write_report

            write_report(job.out, arguments.report, arguments.by)
            display.notice(f"the report is in {str(arguments.report / PAGE)!r}")
        failed = _gate(arguments, job, counts, conditions, display)
    return failed or (0 if counts.checked else COULD_NOT_CHECK)


def _job(arguments: argparse.Namespace) -> Job:
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


def _require_usable_options(
    arguments: argparse.Namespace, job: Job, conditions: list[Condition]
) -> None:
    """Raise an error before the long work if options do not fit together."""
    if arguments.baseline is None and any(item.name == WORSE for item in conditions):
        raise InputError(f"--fail-if {WORSE!r} needs --baseline FILE")
    if arguments.by and arguments.report is None:
        raise InputError("--by is for --report")
    is_unreadable = job.target == STANDARD_STREAM or is_url(job.target) or job.level is Level.CLAIM
    for flag in ("report", "baseline"):
        if getattr(arguments, flag) and is_unreadable:
            raise InputError(f"--{flag} needs results per response, in a file of this machine")
    if arguments.report is not None:
        from halldetect.batch.dataset_report import require_folder

        require_folder(arguments.report)
    if arguments.baseline is not None:
        from halldetect.batch.baseline import require_results

        require_results(arguments.baseline)
    if job.in_parts:
        from halldetect.batch.ray import require_ray

        require_ray()
        return
    for flag in _RAY_OPTIONS:
        if getattr(arguments, flag[2:].replace("-", "_")) is not None:
            raise InputError(f"{flag} is for --engine ray")


def _run_engine(
    arguments: argparse.Namespace,
    detector: Detector,
    job: Job,
    stop: Callable[[], bool],
    display: ProgressDisplay,
) -> BatchOutcome:
    from halldetect.batch.cache import ReportCache
    from halldetect.batch.local import run_local, run_settings

    folder = os.path.realpath(arguments.cache) if arguments.cache else None
    limit, progress = arguments.cache_size << 20, BatchDisplay(display)
    if not job.in_parts:
        cache = ReportCache.disabled()
        if not arguments.no_cache:
            settings = run_settings(detector)
            cache = ReportCache(folder, settings, limit=limit, notice=display.notice)
        with closing(cache):
            return run_local(detector, job, cache=cache, stop=stop, progress=progress)
    from halldetect.batch.ray import Cluster, run_on_ray

    cluster = Cluster(
        address=arguments.address,
        workers=arguments.workers,
        cpus=arguments.cpus_per_worker or 1,
        gpus=arguments.gpus_per_worker or 0.0,
        part_rows=arguments.part_rows or 256,
    )
    # Ray prints messages about its workers; standard output is for results.
    messages = io.StringIO() if arguments.quiet or sys.stderr is None else sys.stderr
    kept = None if arguments.no_cache else (folder, limit)
    with redirect_stdout(messages):
        return run_on_ray(detector, job, cluster, cache=kept, stop=stop, progress=progress)


def _gate(
    arguments: argparse.Namespace,
    job: Job,
    counts: RowCounts,
    conditions: list[Condition],
    display: ProgressDisplay,
) -> int:
    """Print changes since the earlier run; return 1 if a failure condition is met."""
    worse = None
    if arguments.baseline is not None:
        from halldetect.batch.baseline import compare_with_baseline

        comparison = compare_with_baseline(arguments.baseline, job.out)
        worse = comparison.changes[WORSE]
        for line in comparison.lines(str(arguments.baseline)):
            display.notice(line)
    failures = list(filter(None, (item.failure(counts, worse) for item in conditions)))
    for line in failures:
        print(f"halldetect: {line}", file=sys.stderr)
    return OF_VERDICT[Verdict.HALLUCINATED] if failures else 0


def _interrupted_message(job: Job, rows: int | None) -> str:
    done = "interrupted" if rows is None else f"interrupted after {rows} rows"
    return done if job.target == STANDARD_STREAM else f"{done}; {HOW_TO_RESUME}"


def _summary_lines(outcome: BatchOutcome) -> list[str]:
    counts = outcome.counts
    new_rows = counts.rows - outcome.rows_before
    pace = f"{new_rows:,} in {duration_text(outcome.seconds)}"
    if rate := rate_text(new_rows, outcome.seconds):
        pace += f", {rate}"
    kinds = ", ".join(f"{counts.by_kind[kind]:,} {kind}" for kind in ROW_KINDS)
    lines = [f"{counts.rows:,} rows ({pace}): {kinds}"]
    if counts.first_bad is not None:
        lines.append(f"the first bad row: {counts.first_bad}")
    return lines
