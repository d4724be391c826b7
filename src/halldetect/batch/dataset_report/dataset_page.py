"""The report of a dataset: an HTML page, and the folder with all that belongs to it."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from halldetect.batch.counts import ROW_KINDS, RowCounts
from halldetect.batch.dataset_report.dataset_charts import histogram, stack, whisker
from halldetect.batch.dataset_report.dataset_markdown import dataset_markdown
from halldetect.batch.dataset_report.summary import (
    NO_VALUE,
    Summary,
    WorstRow,
    page_name,
    summarise,
    worst_row,
)
from halldetect.batch.results import read_results
from halldetect.errors import CheckError, InputError
from halldetect.render.html import html
from halldetect.render.phrases import STATES, one_line, visible
from halldetect.report import Report

_ENDS = '<span class="ends"><span>0 %</span><span>100 %</span></span>'
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
    style = (resources.files("halldetect.batch.dataset_report") / "dataset.css").read_text(
        encoding="utf-8"
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    parts = [
        _head(summary, title),
        _scores(summary),
        f'<div class="pair">{_verdicts(summary)}{_claims(summary)}</div>',
        _groups(summary),
        _worst(summary),
        _reasons(summary),
        _cost(summary),
        _foot(summary),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_safe(title)}: HallDetect dataset report</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _safe(text: object) -> str:
    return escape(visible(str(text)))


def percent(value: float) -> str:
    """A share as text."""
    return f"{value:.1%}"


def _head(summary: Summary, title: str) -> str:
    counts = summary.counts
    if counts.rate is None or counts.interval is None:
        rate, words = "–", "Nothing could be checked"
        note = f"{counts.rows:,} rows"
        figure = ""
    else:
        low, high = counts.interval
        rate = percent(counts.rate)
        words = "of the checked responses are hallucinated"
        note = (
            f"95 % interval {percent(low)} to {percent(high)} (Wilson), over "
            f"{counts.checked:,} of {counts.rows:,} rows"
        )
        figure = whisker(counts.rate, counts.interval, None) + _ENDS
    return (
        f'<header><p class="brand">HallDetect dataset report</p><h1>{_safe(title)}</h1></header>'
        f'<section class="headline"><div class="rate">{rate}</div>'
        f'<div><p class="what">{words}<span>{note}</span></p>{figure}</div></section>'
    )


def _scores(summary: Summary) -> str:
    scored = sum(bin.total() for bin in summary.histogram)
    if not scored:
        return ""
    return (
        f"<section><h2>Scores</h2><p>{scored:,} responses with a score, by "
        f"{_safe(summary.scoring)} scoring; 0 is faithful, 1 hallucinated.</p>"
        f'<div class="scroll">{histogram(summary.histogram, summary.threshold)}</div></section>'
    )


def _legend(counts: Mapping[str, float], unit: str = "") -> str:
    total = sum(counts.values()) or 1
    items = "".join(
        f'<li class="{escape(kind)}">{escape(kind)} <b>{count:,.6g}{unit}</b> '
        f"<span>{percent(count / total)}</span></li>"
        for kind, count in counts.items()
    )
    return f'<ul class="legend">{items}</ul>'


def _verdicts(summary: Summary) -> str:
    counts = {kind: summary.counts.by_kind[kind] for kind in ROW_KINDS}
    return (
        f"<section><h2>Responses</h2><p>{summary.counts.rows:,} rows by how they came out</p>"
        f"{stack(counts, 'Responses by verdict')}{_legend(counts)}</section>"
    )


def _claims(summary: Summary) -> str:
    counts = {state.value: summary.claims[state.value] for state in reversed(STATES)}
    return (
        f"<section><h2>Claims</h2><p>{summary.claims.total():,} claims by their state</p>"
        f"{stack(counts, 'Claims by state')}{_legend(counts)}</section>"
    )


def _groups(summary: Summary) -> str:
    if not summary.groups:
        return ""
    tables = "".join(
        f"<h3>{_safe(one_line(name))}</h3>{_group(values, summary.counts.rate)}"
        for name, values in summary.groups.items()
    )
    return (
        '<section class="groups"><h2>By column</h2><p>The share of hallucinated responses among '
        "those checked, with its 95 % interval; the post is the share of all rows.</p>"
        f"{tables}</section>"
    )


def _group(values: Mapping[str, RowCounts], overall: float | None) -> str:
    rows = []
    for value, counts in values.items():
        rate, span = counts.rate, counts.interval
        if rate is None or span is None:
            cells = '<td class="figure"></td><td class="number">–</td><td class="number">–</td>'
        else:
            cells = (
                f'<td class="figure">{whisker(rate, span, overall)}</td>'
                f'<td class="number">{percent(rate)}</td>'
                f'<td class="number">{percent(span[0])} to {percent(span[1])}</td>'
            )
        rows.append(
            f'<tr><td class="value" dir="auto">{_safe(one_line(value)) or "&nbsp;"}</td>{cells}'
            f'<td class="number">{counts.checked:,} / {counts.rows:,}</td></tr>'
        )
    return (
        '<div class="scroll"><table class="rates"><thead><tr><th>value</th>'
        f'<th class="figure">{_ENDS}</th>'
        '<th class="number">rate</th><th class="number">interval</th>'
        f'<th class="number">checked / rows</th></tr></thead><tbody>{"".join(rows)}</tbody>'
        "</table></div>"
    )


def _worst(summary: Summary) -> str:
    if not summary.worst:
        return ""
    rows = "".join(_worst_row(worst_row(number, result)) for number, result in summary.worst)
    return (
        f"<section><h2>The {len(summary.worst)} highest scores</h2>"
        "<p>Each id leads to the audit page of its row.</p>"
        '<div class="scroll"><table class="worst"><thead><tr><th>row</th>'
        '<th class="number">score</th><th>its weakest claim, and what the source says</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div></section>"
    )


def _worst_row(row: WorstRow) -> str:
    claim = "–"
    if row.claim is not None:
        claim = (
            f'<span class="state {escape(row.status or "")}">{escape(row.status or "")}</span> '
            f'<span dir="auto">{_safe(row.claim)}</span>'
        )
    quote = "" if row.quote is None else f'<q dir="auto">{_safe(row.quote)}</q>'
    return (
        f'<tr><td class="value"><a href="{ROWS}/{row.page}" dir="auto">{_safe(row.id)}</a></td>'
        f'<td class="number">{row.score:.3f}</td><td class="claim">{claim}{quote}</td></tr>'
    )


def _reasons(summary: Summary) -> str:
    if not summary.reasons:
        return ""
    rows = "".join(
        f'<tr><td dir="auto">{_safe(one_line(reason)[:300])}</td>'
        f'<td class="number">{count:,}</td></tr>'
        for reason, count in summary.reasons.most_common(10)
    )
    return (
        "<section><h2>Why rows were not checked</h2><p>The most frequent reasons</p>"
        f'<div class="scroll"><table><tbody>{rows}</tbody></table></div></section>'
    )


def _cost(summary: Summary) -> str:
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{total:,}</td>'
        f'<td class="number">{each:,.1f}</td></tr>'
        for name, total, each in cost_rows(summary)
    )
    times = {phase: round(spent, 1) for phase, spent in summary.seconds.items()}
    figure = ""
    if sum(times.values()):
        figure = f"{stack(times, 'Time by phase')}{_legend(times, ' s')}"
    return (
        "<section><h2>Cost</h2><p>Of all checks; time is that of this run, none for what came "
        f"from a cache.</p>{figure}"
        '<div class="scroll"><table><thead><tr><th></th><th class="number">total</th>'
        f'<th class="number">per row</th></tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


def cost_rows(summary: Summary) -> list[tuple[str, int, float]]:
    """Each cost: its name, its total and its mean per row."""
    rows = summary.counts.rows or 1
    return [(name.replace("_", " "), total, total / rows) for name, total in summary.cost.items()]


def _foot(summary: Summary) -> str:
    made: dict[str, Any] = summary.made_with
    words = ", ".join(f"{name} {value}" for name, value in made.items() if value)
    return f"<footer>HallDetect {_safe(words)}</footer>" if words else ""
