"""halldetect calibrate: fit the threshold to labelled responses."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from halldetect.cli.batch import require_inputs
from halldetect.cli.options import QUIET, add_detector_options, configuration_for, with_detector
from halldetect.cli.output import print_result
from halldetect.cli.parser import Options, add_command, path_argument, value
from halldetect.errors import InputError
from halldetect.verification.cut import SUFFIX, Cut, fit_cut
from halldetect.verification.presets import CASCADE

if TYPE_CHECKING:
    from halldetect.batch.job import Row
    from halldetect.detector import Detector

DESCRIPTION = """\
Check the rows of LABELLED and fit the threshold that flags at most the given share of faithful
responses. A row has source, response, hallucinated (true or false) and, if you like, question. The
result is a file for --threshold of every other command.
"""
ROWS_AT_ONCE = 256
LABELS = {"true": True, "1": True, "false": False, "0": False}
_OPTIONS: dict[str, Options] = {
    "": {
        "input": {"metavar": "LABELLED", "help": "rows as .jsonl, .csv or .parquet"},
        "output": {"metavar": "OUT.json", "type": path_argument, "help": "the file to write"},
        "--risk": value("SHARE", "flag at most this share of faithful responses", float, 0.05),
        **QUIET,
    }
}


def add(commands: Any) -> None:
    """Add the command `calibrate` to the parser."""
    help = "fit the threshold to your own labels"
    usage = "LABELLED OUT.json"
    parser = add_command(commands, "calibrate", run, help, DESCRIPTION, usage, _OPTIONS)
    add_detector_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check the rows, write the file and print the threshold."""
    from halldetect.batch.job import DEFAULT_COLUMNS, InputFile, read_parts

    if arguments.output.suffix != SUFFIX:
        raise InputError(f"the output must end in {SUFFIX}, unlike {str(arguments.output)!r}")
    if arguments.verifier == CASCADE:
        raise InputError(f"{CASCADE} has two verifiers: calibrate one of them")
    require_inputs([arguments.input])
    file = InputFile(0, arguments.input, None)
    parts = read_parts(file, DEFAULT_COLUMNS, configuration_for(arguments), ROWS_AT_ONCE)
    rows = [row for part in parts for row in part.rows]
    labels = [_label(row) for row in rows]

    def fitted(detector: Detector) -> Cut:
        reports = detector.check_many([row.pair for row in rows if row.pair is not None])
        scores: dict[bool, list[float]] = {True: [], False: []}
        for label, report in zip(labels, reports, strict=True):
            if report.score is not None:
                scores[label].append(report.score)
        return fit_cut(scores[False], scores[True], arguments.risk, detector.verifier.description)

    cut = with_detector(arguments, fitted)
    cut.write(arguments.output)
    unscored = len(rows) - cut.faithful - cut.hallucinated
    print_result(
        f"threshold {cut.threshold:g} flags at most {cut.risk:.3g} of faithful responses\n"
        f"labels    {cut.faithful} faithful, {cut.hallucinated} hallucinated\n"
        f"found     {cut.found} of {cut.hallucinated} hallucinated responses\n"
        + (f"left out  {unscored} responses that could not be checked\n" if unscored else "")
        + f"use it    halldetect check --threshold {arguments.output} ..."
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
