"""The report of a dataset: an HTML page, and the folder with all that belongs to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from halldetect.batch.counts import ROW_KINDS
from halldetect.batch.dataset_report.dataset_charts import histograms, stack, whisker
from halldetect.batch.dataset_report.dataset_markdown import dataset_markdown
from halldetect.batch.dataset_report.summary import (
    NO_VALUE,
    Summary,
    page_name,
    summarise,
    worst_row,
)
from halldetect.batch.results import read_results
from halldetect.errors import CheckError, InputError
from halldetect.render.html import html
from halldetect.render.html_page import html_page, shared_style
from halldetect.render.phrases import STATES, one_line
from halldetect.report import Report

PAGE, MARKDOWN, DATA, ROWS = "index.html", "report.md", "summary.json", "rows"


def require_folder(folder: Path) -> None:
    """Raise InputError before the long work if the report could not be written to the folder."""
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{str(folder)!r} is not a folder")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / DATA).is_file():
            raise InputError(f"{str(folder)!r} holds other files; name a new folder for the report")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {str(folder)!r}: {error.strerror}") from error


def write_report(results: Path, folder: Path, by: Sequence[str] = ()) -> Summary:
    """Read the results of a finished run and write the report of the dataset.

    Args:
        results: a file of results, one per response, or a folder of parts.
        folder: where the report goes.
        by: the carried columns to break down by; without it, those with few values.
    """
    require_folder(folder)
    summary = summarise(read_results(results), by)
    if missing := [name for name in by if _is_unknown_column(summary, name)]:
        raise InputError(f"no row has a column {missing[0]!r} to break down by")
    try:
        shutil.rmtree(folder / ROWS, ignore_errors=True)
        (folder / ROWS).mkdir()
        for number, result in summary.worst:
            report = Report.from_dict(result["report"])
            _write(folder / ROWS / page_name(number), html(report))
        title = results.name
        _write(folder / DATA, json.dumps(summary.to_dict(), indent=1))
        _write(folder / MARKDOWN, dataset_markdown(summary, title))
        _write(folder / PAGE, dataset_page(summary, title))
    except OSError as error:
        raise CheckError(f"cannot write {str(folder)!r}: {error.strerror}") from error
    return summary


def _is_unknown_column(summary: Summary, name: str) -> bool:
    return set(summary.groups.get(name, {})) <= {NO_VALUE} and summary.counts.rows > 0


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "replace"))


def dataset_page(summary: Summary, title: str) -> str:
    """The report as one HTML page that loads nothing and runs no script.

    Args:
        summary: what the results come to.
        title: the name of the dataset.
    """
    rows = summary.counts.rows or 1
    package = "halldetect.batch.dataset_report"
    style = (resources.files(package) / "dataset.css").read_text(encoding="utf-8")
    made_with = ", ".join(f"{name} {value}" for name, value in summary.made_with.items() if value)
    return html_page(
        package,
        "dataset.html.jinja",
        title=f"{title}: HallDetect dataset report",
        style=shared_style() + style,
        name=title,
        summary=summary,
        scored=sum(bin.total() for bin in summary.histogram),
        rows={kind: summary.counts.by_kind[kind] for kind in ROW_KINDS},
        claims={state.value: summary.claims[state.value] for state in reversed(STATES)},
        worst=[worst_row(number, result) for number, result in summary.worst],
        folder=ROWS,
        seconds={phase: round(spent, 1) for phase, spent in summary.seconds.items()},
        cost=[
            (name.replace("_", " "), total, total / rows) for name, total in summary.cost.items()
        ],
        made_with=made_with,
        histograms=histograms,
        stack=stack,
        whisker=whisker,
        one_line=one_line,
        percent="{:.1%}".format,
    )
