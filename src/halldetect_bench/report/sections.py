"""The report for readers: every table with its explanation, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from halldetect_bench.predictions import slug
from halldetect_bench.report import table_blocks as shown
from halldetect_bench.report.blocks import Block, Drawing, Heading, Paragraph, Table
from halldetect_bench.report.published import AGGREFACT, PAPER
from halldetect_bench.report.table_blocks import NONE
from halldetect_bench.stats.per_dataset import THRESHOLD
from halldetect_bench.stats.tables import COMPARED, Tables, significant_losses, speed_comparisons

_SIGNIFICANT = 0.05
_SPEED_TITLES = "dataset,chunked,one call,seconds,of one call,ratio,joules,of one call"


def report_blocks(
    tables: Tables,
    latency: Mapping[str, Tables] | None = None,
    drawings: Sequence[Path] = (),
    remarks: Sequence[str] = (),
) -> list[Block]:
    """The report as blocks.

    tables: all tables.
    latency: tables of rows that were scored one at a time, by the name of their folder.
    drawings: the SVG files that the page shows.
    remarks: paragraphs that open the report.
    """
    drawn = {path.name: path for path in drawings}
    blocks: list[Block] = [
        Heading("Results", 1),
        Paragraph(
            "Written by `halldetect bench report`. The hallucinated class is the positive one; "
            f"precision, recall, F1 and balanced accuracy are at the threshold {THRESHOLD}. Best "
            "F1 is taken at the threshold that suits the same data best, so it is an upper bound. "
            "ECE is the expected calibration error, lower is better. In brackets: 95 % bootstrap "
            f"intervals ({tables.samples} samples of documents). {NONE} marks what does not exist "
            "on the data."
        ),
        *map(Paragraph, remarks),
    ]
    if any(one.datasets > 1 for one in tables.means):
        blocks += [Heading("Mean over the datasets that these methods share"), shown.means(tables)]
    blocks += _losses(tables)
    blocks += _speed(latency or {"": tables})
    if "quality-and-time.svg" in drawn:
        blocks.append(Drawing(drawn["quality-and-time.svg"], "AUROC against seconds per response"))
    for dataset in dict.fromkeys(one.dataset for one in tables.quality):
        blocks += [Heading(dataset), shown.quality(tables, dataset), *_published(dataset)]
        curves = f"curves-{slug(dataset)}.svg"
        if curves in drawn:
            blocks.append(
                Drawing(drawn[curves], f"{dataset}: ROC, precision and recall, reliability")
            )
    blocks += _details(tables)
    blocks += [
        Heading("Cost per response"),
        Paragraph(
            "Means over all rows, loading of models not counted; rows scored together share "
            "their time and energy equally. Tokens in and out are those of the generative "
            "model; the tokens of an embedder are counted as the verifier's. Memory is the "
            "greatest of the process, with every model it had loaded. " + _energy(tables)
        ),
        shown.costs(tables),
    ]
    for name, alone in (latency or {}).items():
        blocks += [
            Paragraph(f"One response at a time, nothing shared (`{name}`):"),
            shown.costs(alone),
        ]
    measured = {one.dataset for one in tables.quality}
    blocks.append(Heading("Published elsewhere"))
    for name in PAPER:
        if name not in measured:
            blocks += [Paragraph(f"{name}: nothing was measured here."), *_published(name)]
    blocks += [
        Paragraph(
            "LLM-AggreFact, mean balanced accuracy at 0.5 over its eleven sets, as published by "
            "the authors of the methods; its data are not among those above, so nothing here "
            "can be set beside it."
        ),
        Table(
            ["method (published)", "balanced accuracy, %"],
            [[name, f"{value:.1f}"] for name, value in AGGREFACT],
        ),
    ]
    return blocks


def _details(tables: Tables) -> Iterator[Block]:
    if tables.comparisons:
        yield Heading(f"Differences from {tables.reference}")
        yield Paragraph(
            "A positive difference is in favour of the method in the row. Paired bootstrap on "
            "the rows that both scored; right only here or there: rows that one of the two gets "
            f"right at {THRESHOLD}, with McNemar's exact test. p two-sided and not corrected for "
            "many comparisons."
        )
        yield shown.differences(tables)
    if tables.ablations:
        yield Heading("Ablations")
        yield Paragraph(
            "HallDetect with every pair judged: how claims are made, which scales m the source "
            "is cut at, how the judgements are added up, which verifier gives them. Support "
            "only is 1 - the least of the claims' greatest P(E). Pairs are those of a response."
        )
        yield shown.ablations(tables)
    if tables.sentences:
        yield Heading("Which sentence is wrong")
        yield Paragraph(
            "Where the publishers labelled sentences or claims: each one's score is that of the "
            "worst claim a method found in it; sentences without a claim are left out."
        )
        yield shown.sentences(tables)
    if tables.recalls:
        yield Heading("Recall by kind of error")
        yield Paragraph(f"At the threshold {THRESHOLD}.")
        yield shown.kinds(tables)
    if tables.agreements:
        yield Heading("Agreement with people's scores")
        yield Paragraph("Correlation over all rows that have such a score; higher is better.")
        yield shown.agreements(tables)


def _losses(tables: Tables) -> list[Block]:
    if not tables.comparisons:
        return []
    found = significant_losses(tables, _SIGNIFICANT)
    if not found:
        sentence = (
            f"No method is better than {tables.reference} on any dataset by more than chance "
            f"(paired bootstrap, p < {_SIGNIFICANT})."
        )
        return [Heading(f"Where {tables.reference} loses"), Paragraph(sentence)]
    return [
        Heading(f"Where {tables.reference} loses"),
        Paragraph(
            f"Methods that are better than {tables.reference} by more than chance (paired "
            f"bootstrap, p < {_SIGNIFICANT}, not corrected: of "
            f"{len(tables.comparisons) * len(COMPARED)} comparisons some fall below by chance)."
        ),
        Table(
            ["dataset", "method", "figure", "difference", "p"],
            [
                [dataset, method, figure, *shown.difference(difference)]
                for dataset, method, figure, difference in found
            ],
            3,
        ),
    ]


def _speed(measured: Mapping[str, Tables]) -> list[Block]:
    found = [(name, one) for name, tables in measured.items() for one in speed_comparisons(tables)]
    if not found:
        return []
    return [
        Heading("Is chunked verification cheaper than one long-context call?"),
        Paragraph(
            f"In {sum(one.ratio > 1 for _, one in found)} of {len(found)} pairings it takes less "
            "time a response. A ratio above 1 is in favour of chunked verification."
        ),
        Table(
            _SPEED_TITLES.split(","),
            [
                [f"{one.dataset} {name}".strip(), one.chunked, one.one_call]
                + [shown.number(value) for value in (*one.seconds, one.ratio)]
                + [shown.or_none(value) for value in one.joules]
                for name, one in found
            ],
            3,
        ),
    ]


def _published(dataset: str) -> list[Block]:
    if dataset not in PAPER:
        return []
    return [
        Paragraph(
            "**Published, not measured here** (the paper; its own models, responses and splits):"
        ),
        Table(
            ["method (published)", "backbone", "F1", "precision", "recall"],
            [
                [method, backbone, *(shown.number(value) for value in values)]
                for method, backbone, *values in PAPER[dataset]
            ],
            2,
        ),
    ]


def _energy(tables: Tables) -> str:
    sources = sorted({one.energy for one in tables.costs if one.energy})
    return f"Energy from: {'; '.join(sources)}." if sources else "Energy was not measured."
