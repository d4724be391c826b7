"""halldetect batch IN OUT"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import Future, wait
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from halldetect.cli.engines import Work, add_running_options, engine_for
from halldetect.cli.exits import COULD_NOT_CHECK, INTERRUPTED
from halldetect.cli.interrupt import interruptible
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.screen import Screen
from halldetect.errors import InputError

if TYPE_CHECKING:
    from halldetect.batch.job import Job
    from halldetect.batch.progress import Progress
    from halldetect.batch.run import Outcome

DESCRIPTION = """\
Check every row of IN (.jsonl, .csv, each also .gz or .zst, or .parquet; - is JSON lines on
standard input; several files and patterns such as 'logs/*.jsonl' are read one after the other)
and write one result a row to OUT (.jsonl or .parquet; - is JSON lines on standard output), in
the same order. A row has source, response and, if you like, id and question; its other columns
are carried through. A row that cannot be read becomes a result that says why.
"""
EPILOG = """\
exit status: 0 all rows done, whatever the verdicts, 2 wrong usage, 3 nothing could be checked
or the results could not be written, 130 interrupted
"""


def add(commands: Any) -> None:
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
    for role, missing in (
        ("id", "the number of the row"),
        ("source", None),
        ("response", None),
        ("question", "none"),
    ):
        parser.add_argument(
            f"--{role}-column",
            metavar="NAME",
            help=f"the column with the {role}: {role}"
            + ("" if missing is None else f"; if missing: {missing}"),
        )
    parser.add_argument(
        "--level",
        choices=("response", "claim"),
        default="response",
        help="one result a response (default) or one a claim",
    )
    parser.add_argument("--strict", action="store_true", help="stop at the first bad row")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--resume", action="store_true", help="go on with an unfinished run")
    existing.add_argument("--overwrite", action="store_true", help="replace OUT if it is there")
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help="also write what the results come to, as HTML"
    )
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="NAME",
        help="in the report, break down by this column; may be given again",
    )
    parser.add_argument("--quiet", action="store_true", help="nothing but errors on standard error")
    add_running_options(parser)
    add_detector_options(parser)
    parser.set_defaults(run=run)


class Loading(Screen):
    """Of the detector's own progress, the fetching of a model: the rows have their own."""

    def progress(self, phase: str, done: int, of: int) -> None:
        if phase == "fetch":
            super().progress(phase, done, of)


def run(arguments: argparse.Namespace) -> int:
    from halldetect.batch.progress import Progress
    from halldetect.batch.run import settings
    from halldetect.batch.sinks import tidy

    job = _job(arguments)
    _require_report(arguments, job)
    engine = engine_for(arguments)
    with Loading(quiet=arguments.quiet) as screen:
        if job.is_complete:
            if not job.is_folder:
                tidy(job.out)
            screen.notice(f"{job.target!r} is complete; --overwrite would check it all again")
            _report(arguments, job, screen)
            return 0
        detector = detector_for(arguments, screen)
        made_with = interruptible(lambda: settings(detector), screen)  # the models, first of all
        screen.wipe()
        with Progress(quiet=arguments.quiet) as progress:
            work = engine(detector, job, made_with, screen, progress)
            outcome = _until_interrupted(work, job, progress)
        for line in _summary(outcome, arguments.engine):
            screen.notice(line)
    if outcome.interrupted:
        print(f"halldetect: {_how_to_go_on(job, outcome.tally.rows)}", file=sys.stderr)
        return INTERRUPTED
    _report(arguments, job, screen)
    return 0 if outcome.tally.checked else COULD_NOT_CHECK


def _require_report(arguments: argparse.Namespace, job: Job) -> None:
    from halldetect.batch.places import STANDARD, is_address
    from halldetect.batch.results import Level

    if arguments.report is None:
        if arguments.by:
            raise InputError("--by is for --report")
        return
    if job.target == STANDARD or is_address(job.target) or job.level is Level.CLAIM:
        raise InputError("--report needs results a response, in a file or folder of this machine")
    from halldetect.batch.dataset import require_folder

    require_folder(arguments.report)


def _report(arguments: argparse.Namespace, job: Job, screen: Screen) -> None:
    if arguments.report is None:
        return
    from halldetect.batch.dataset import PAGE, write_report

    write_report(job.out, arguments.report, arguments.by)
    screen.notice(f"the report is in {str(arguments.report / PAGE)!r}")


def _job(arguments: argparse.Namespace) -> Job:
    from halldetect.batch.job import Job
    from halldetect.batch.results import Level
    from halldetect.batch.rows import Columns

    return Job(
        source=tuple(arguments.input),
        target=arguments.output,
        columns=Columns(
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
        parted=arguments.engine == "ray",
    )


def _until_interrupted(work: Work, job: Job, progress: Progress) -> Outcome:
    """Work in a thread, so that Ctrl-C is noticed at once: the first one lets the rows in hand
    be finished, the second does not wait for them."""
    future: Future[Outcome] = Future()
    stop = Event()

    def run() -> None:
        try:
            future.set_result(work(stop.is_set))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    while True:
        try:
            # Not Thread.join: interrupted, it may take the thread for finished.
            while not future.done():
                wait([future], timeout=0.2)
            break
        except KeyboardInterrupt:
            if stop.is_set():
                progress.stop()
                print(f"halldetect: {_how_to_go_on(job, None)}", file=sys.stderr, flush=True)
                # An orderly exit would wait for native code, or crash under it.
                os._exit(INTERRUPTED)
            stop.set()
            words = "finishing the rows in hand; Ctrl-C again to leave them"
            print(f"halldetect: {words}", file=sys.stderr, flush=True)
    return future.result()


def _how_to_go_on(job: Job, rows: int | None) -> str:
    from halldetect.batch.places import STANDARD
    from halldetect.batch.sinks import HOW_TO_RESUME

    done = "interrupted" if rows is None else f"interrupted after {rows} rows"
    return done if job.target == STANDARD else f"{done}; {HOW_TO_RESUME}"


def _summary(outcome: Outcome, engine: str) -> list[str]:
    from halldetect.batch.progress import duration

    tally = outcome.tally
    new = tally.rows - outcome.rows_before
    pace = f"{new:,} in {duration(outcome.seconds)}"
    if new and outcome.seconds:
        pace += f", {new / outcome.seconds:.1f} a second"
    lines = [
        f"{tally.rows:,} rows ({pace}): {tally.faithful:,} faithful, "
        f"{tally.hallucinated:,} hallucinated, {tally.uncheckable:,} uncheckable, {tally.bad:,} bad"
    ]
    if tally.first_bad is not None:
        lines.append(f"the first bad row: {tally.first_bad}")
    if engine == "ray":  # rows are read in many places at once
        return lines
    if outcome.repeated_ids is None:
        lines.append("no room for temporary files: ids that occur again were not counted")
    elif outcome.repeated_ids:
        lines.append(f"rows with an id that was there before: {outcome.repeated_ids:,}")
    return lines
