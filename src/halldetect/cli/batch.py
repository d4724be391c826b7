"""halldetect batch and calibrate: check every row of files, here or on a Ray cluster."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.batch import dataset_report
from halldetect.batch.formats import STANDARD_STREAM, is_pattern, is_url
from halldetect.batch.job import (
    DEFAULT_COLUMNS,
    HOW_TO_RESUME,
    ColumnNames,
    InputFile,
    Job,
    Row,
    read_parts,
)
from halldetect.batch.results import ROW_KINDS, WORSE, Condition, RowCounts, read_results
from halldetect.cli.exits import COULD_NOT_CHECK, OF_VERDICT, fail, interruptible
from halldetect.cli.options import (
    QUIET,
    add_detector_options,
    configuration_for,
    detector_for,
    given_fields,
    with_detector,
)
from halldetect.cli.output import print_result, require_writable, write_file
from halldetect.cli.parser import Options, add_command, file, path_argument, positive, switch, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import InputError, import_extra
from halldetect.files.decoding import no_file
from halldetect.machine.clock import duration_text
from halldetect.report import Verdict
from halldetect.verification.cut import SUFFIX, Cut, fit_cut
from halldetect.verification.presets import CASCADE

if TYPE_CHECKING:
    from halldetect.batch.local import BatchOutcome
    from halldetect.detector import Detector

DESCRIPTION = """\
Check every row of IN and write one result per row to OUT, in the same order. IN is .jsonl or .csv,
also .gz or .zst, .parquet, a pattern such as 'logs/*.jsonl', or - for JSON lines on standard input.
OUT is .jsonl, .csv, .parquet, or - for standard output. A row has source and response, or messages
(a conversation), and may have id and question; other columns are carried through. A row that
cannot be read becomes a result that says why.
"""
EPILOG = """\
exit status: 0 all rows done, 1 a condition of --fail-on is met, 2 wrong usage,
3 nothing could be checked or the results could not be written, 130 interrupted
"""
_OPTIONS = {
    "source": {"metavar": "IN", "nargs": "+", "help": "the rows to check"},
    "target": {"metavar": "OUT", "help": "where the results go"},
    "--id-column": value("NAME", "the column with the id (default: id, or the row's number)"),
    "--source-column": value("NAME", "the column with the source", default="source"),
    "--response-column": value("NAME", "the column with the response", default="response"),
    "--question-column": value("NAME", "the column with the question (default: question)"),
    "--fail-on": value(
        "CONDITION",
        'exit with 1 if there is such a row (hallucinated, bad, ...), or as in "rate>0.05", '
        '"uncheckable>=10" or, with --baseline, worse',
        Condition.parse,
        repeatable=True,
    ),
    "--baseline": file("the results of an earlier run: say which rows got worse, and why"),
    "--report": file("also write a report of all results, as HTML", "DIR"),
    "--by": value("NAME", "in the report, break down by this column", repeatable=True),
    "--quiet": switch("nothing but errors on standard error"),
    "--resume": switch("continue an unfinished run"),
    "--overwrite": switch("replace OUT if it exists"),
    "--cache": file("keep reports there for later runs", "DIR"),
}
_RUN = {
    "--batch-size": value("N", "rows that are checked together", positive, 32),
    "--engine": value(None, "where to run", default="local", choices=("local", "ray")),
}
_RAY = {
    "--address": value("HOST:PORT", "of a Ray cluster (default: this machine alone)"),
    "--workers": value("N", "detectors on the cluster (default: as many as fit)", positive),
    "--cpus-per-worker": value("N", "processors per detector (default: 1)", positive),
    "--gpus-per-worker": value("X", "GPUs per detector (default: 0)", float),
    "--part-rows": value("N", "rows per part of a run with ray (default: 256)", positive),
}

CALIBRATE = """\
Check the rows of LABELLED and fit the threshold that flags at most the given share of faithful
responses. A row has source, response, hallucinated (true or false) and, optionally, question. The
result is a file for --threshold.
"""
LABELS = {"true": True, "1": True, "false": False, "0": False}
_CALIBRATE: Options = {
    "input": {"metavar": "LABELLED", "help": "rows as .jsonl, .csv or .parquet"},
    "output": {"metavar": "OUT.json", "type": path_argument, "help": "the file to write"},
    "--risk": value("SHARE", "flag at most this share of faithful responses", float, 0.05),
    **QUIET,
}


def add(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    help, usage = "check every row of a file", "IN [IN ...] OUT"
    groups = {"": _OPTIONS, "how to run": _RUN | _RAY}
    parser = add_command(commands, "batch", run, help, DESCRIPTION, usage, groups, EPILOG)
    add_detector_options(parser)
    help, usage = "fit the threshold to your own labels", "LABELLED OUT.json"
    options = {"": _CALIBRATE}
    parser = add_command(commands, "calibrate", run_calibrate, help, CALIBRATE, usage, options)
    add_detector_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check every row; return 0 if all rows are done and no failure condition is met."""
    from halldetect.batch.local import counts_of_finished

    job = _job(arguments)
    _require_usable_options(arguments, job)
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display, only_loading=True)
        if job.in_parts and str(detector.configuration.verifier).startswith("object:"):
            raise InputError("--engine ray cannot send a verifier of your own to its workers")
        if job.is_complete:
            counts = counts_of_finished(job, detector.configuration)
            display.notice(f"{job.target!r} is complete; --overwrite would check it all again")
        else:
            hint = "" if job.target == STANDARD_STREAM else f"; {HOW_TO_RESUME}"
            run_job = partial(_run_engine, arguments, detector, job, display)
            outcome = interruptible(run_job, display, f"interrupted{hint}")
            counts = outcome.counts
            _summarise(outcome, display)
        if arguments.report is not None:
            dataset_report.write_report(job.out, arguments.report, arguments.by)
            display.notice(f"the report is in {str(arguments.report / dataset_report.PAGE)!r}")
        failed = _gate(arguments, job, counts, display)
    return failed or (0 if counts.checked else COULD_NOT_CHECK)


def require_inputs(names: Iterable[str]) -> None:
    """Raise InputError for a file of this machine that does not exist."""
    for name in names:
        local = name != STANDARD_STREAM and not is_url(name) and not is_pattern(name)
        if local and not Path(name).exists():
            raise no_file(Path(name))


def _job(arguments: argparse.Namespace) -> Job:
    roles = ("source", "response", "id", "question")
    named = given_fields(arguments, Job) | {
        "source": tuple(arguments.source),
        "columns": ColumnNames(*(getattr(arguments, f"{role}_column") for role in roles)),
        "in_parts": arguments.engine == "ray",
        "cache": arguments.cache and os.path.realpath(arguments.cache),
    }
    return Job(**named)


def _require_usable_options(arguments: argparse.Namespace, job: Job) -> None:
    """Raise an error before the long work if options do not fit together."""
    require_inputs(arguments.source)
    for flag in () if job.in_parts else _RAY:
        if getattr(arguments, flag[2:].replace("-", "_")) is not None:
            raise InputError(f"{flag} is for --engine ray")
    if arguments.baseline is None and any(item.name == WORSE for item in arguments.fail_on):
        raise InputError(f"--fail-on {WORSE} needs --baseline FILE")
    if arguments.resume and arguments.overwrite:
        raise InputError("--resume and --overwrite: leave one of the two out")
    if arguments.by and arguments.report is None:
        raise InputError("--by is for --report")
    is_unreadable = job.target == STANDARD_STREAM or is_url(job.target)
    for flag in ("report", "baseline"):
        if getattr(arguments, flag) and is_unreadable:
            raise InputError(f"--{flag} needs results in a file of this machine")
    if arguments.report:
        dataset_report.require_folder(arguments.report)
    if arguments.baseline:
        next(read_results(arguments.baseline), None)
    if job.in_parts:
        import_extra("ray.data", "--engine ray", "ray")


def _run_engine(
    arguments: argparse.Namespace, detector: Detector, job: Job, display: ProgressDisplay
) -> BatchOutcome:
    from halldetect.batch.local import run_local

    def progress(counts: RowCounts, fraction: float, is_new: bool) -> None:
        done = f"{counts.rows:,} rows, {counts.by_kind[Verdict.HALLUCINATED]:,} hallucinated"
        display.update("", done, fraction, restart=not is_new)

    if not job.in_parts:
        return run_local(detector, job, progress=progress, notice=display.notice)
    from halldetect.batch.ray import Cluster, run_on_ray

    # Ray prints messages about its workers; standard output is for results.
    messages = io.StringIO() if arguments.quiet or sys.stderr is None else sys.stderr
    with redirect_stdout(messages):
        cluster = Cluster(**given_fields(arguments, Cluster))
        return run_on_ray(detector, job, cluster, progress=progress)


def _gate(
    arguments: argparse.Namespace, job: Job, counts: RowCounts, display: ProgressDisplay
) -> int:
    """Print changes since the earlier run; return 1 if a failure condition is met."""
    worse = None
    if arguments.baseline is not None:
        changes, lines = dataset_report.compare_with_baseline(arguments.baseline, job.out)
        worse = changes[WORSE]
        for line in lines:
            display.notice(line)
    status = 0
    for line in filter(None, (item.failure(counts, worse) for item in arguments.fail_on)):
        status = fail(line, OF_VERDICT[Verdict.HALLUCINATED])
    return status


def _summarise(outcome: BatchOutcome, display: ProgressDisplay) -> None:
    counts = outcome.counts
    new_rows = counts.rows - outcome.rows_before
    pace = f"{new_rows:,} in {duration_text(outcome.seconds)}"
    if new_rows:
        pace += f", {new_rows / outcome.seconds:,.1f} rows/s"
    kinds = ", ".join(f"{counts.by_kind[kind]:,} {kind}" for kind in ROW_KINDS)
    display.notice(f"{counts.rows:,} rows ({pace}): {kinds}")
    if counts.unchecked:
        display.notice(f"{counts.unchecked:,} rows have parts that were not checked")
    if counts.first_bad is not None:
        display.notice(f"the first bad row: {counts.first_bad}")


def run_calibrate(arguments: argparse.Namespace) -> int:
    """Check the rows, write the file and print the threshold."""
    if arguments.output.suffix != SUFFIX:
        raise InputError(f"the output must end in {SUFFIX}, unlike {str(arguments.output)!r}")
    if arguments.verifier == CASCADE:
        raise InputError(f"{CASCADE} has two verifiers: calibrate one of them")
    require_inputs([arguments.input])
    file = InputFile(0, arguments.input)
    parts = read_parts(file, DEFAULT_COLUMNS, configuration_for(arguments), 256)
    rows = [row for part in parts for row in part.rows]
    labels = [_label(row) for row in rows]
    require_writable(arguments.output)
    fit_cut([0.0] * labels.count(False), (), arguments.risk, {})  # raises if too few

    def fitted(detector: Detector) -> Cut:
        reports = detector.check_many([row.pair for row in rows if row.pair is not None])
        scores: dict[bool, list[float]] = {True: [], False: []}
        for label, report in zip(labels, reports, strict=True):
            if report.score is not None:
                scores[label].append(report.score)
        return fit_cut(scores[False], scores[True], arguments.risk, detector.verifier.description)

    cut = with_detector(arguments, fitted)
    write_file(arguments.output, cut.json)
    unscored = len(rows) - cut.faithful - cut.hallucinated
    print_result(
        f"threshold {cut.threshold:g} flags at most {cut.risk:.3g} of faithful responses\n"
        f"labels    {cut.faithful} faithful, {cut.hallucinated} hallucinated\n"
        f"found     {cut.found} of {cut.hallucinated} hallucinated responses\n"
        + (f"left out  {unscored} responses that could not be checked\n" if unscored else "")
        + f"use it    halldetect check --threshold {arguments.output} ...\n"
    )
    return 0


def _label(row: Row) -> bool:
    """Return the label of a row; raise InputError for a row that cannot be used."""
    if row.problem is not None:
        raise InputError(f"row {row.number}: {row.problem}")
    found = row.columns.get("hallucinated")
    label = LABELS.get(str(found).lower())
    if label is None:
        raise InputError(f"row {row.number}: hallucinated must be true or false, not {found!r}")
    return label
