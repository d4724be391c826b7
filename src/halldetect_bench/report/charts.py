"""Charts of the results: ROC, precision and recall, reliability, and quality against time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from halldetect.errors import InputError, MissingExtra
from halldetect_bench.predictions import Results, slug
from halldetect_bench.stats.classification_metrics import reliability
from halldetect_bench.stats.method_labels import method_labels
from halldetect_bench.stats.tables import Tables

# A fixed salt: the same results give the same file.
_STYLE = {"svg.hashsalt": "halldetect", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
_LINES = ("-", "--", ":", "-.")
_MARKS = ("o", "s", "^", "D")


def draw(results: Sequence[Results], tables: Tables, out: Path) -> list[Path]:
    """Draw the charts as SVG files.

    results: what `read_all` gives. tables: their tables. out: the folder to write to.
    Returns the files.
    """
    pyplot = _pyplot()
    labels = method_labels(one.header for one in results)
    scores = {
        (one.header.dataset, labels[one.header.digest]): [
            (item.gold, item.score)
            for item in one.predictions
            if item.gold is not None and item.score is not None
        ]
        for one in results
    }
    written = []
    with pyplot.rc_context(_STYLE):
        for dataset in dict.fromkeys(one.dataset for one in tables.quality):
            curves = [
                (one.method, scores[dataset, one.method])
                for one in tables.quality
                # A curve needs both classes.
                if one.dataset == dataset and one.figures["AUROC"].value is not None
            ]
            if curves:
                path = out / f"curves-{slug(dataset)}.svg"
                with _figure(pyplot, path, 3, len(curves)) as axes:
                    _curves(axes, curves)
                written.append(path)
        path = out / "quality-and-time.svg"
        with _figure(pyplot, path, 1, len({one.method for one in tables.costs})) as axes:
            _time(axes[0], tables)
        written.append(path)
    return written


@contextmanager
def _figure(pyplot: Any, path: Path, panels: int, names: int) -> Iterator[Any]:
    columns = 4 if panels > 1 else 2
    height = 4.0 + 0.2 * -(-names // columns)  # room for the legend
    figure, axes = pyplot.subplots(
        1, panels, figsize=(max(5 * panels, 8), height), layout="constrained", squeeze=False
    )
    try:
        yield axes[0]
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
        figure.savefig(path, metadata={"Date": None})
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error
    finally:
        pyplot.close(figure)


def _curves(axes: Any, curves: Sequence[tuple[str, list[tuple[bool, float]]]]) -> None:
    from sklearn.metrics import precision_recall_curve, roc_curve

    roc, recall, calibration = axes
    for place, (name, pairs) in enumerate(curves):
        drawn = {"color": f"C{place % 10}", "linestyle": _LINES[place // 10 % len(_LINES)]}
        gold, scores = [wrong for wrong, _ in pairs], [score for _, score in pairs]
        rates = roc_curve(gold, scores)
        roc.plot(rates[0], rates[1], label=name, **drawn)
        precisions, recalls, _ = precision_recall_curve(gold, scores)
        recall.plot(recalls, precisions, label=name, **drawn)
        if max(scores) <= 1 and min(scores) >= 0:
            bins = reliability(gold, scores)
            calibration.plot([b[0] for b in bins], [b[1] for b in bins], marker="o", **drawn)
    for axis in (roc, calibration):
        axis.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1)
    _label(roc, "ROC", "share of faithful flagged", "share of hallucinated flagged")
    _label(recall, "precision and recall", "recall", "precision")
    _label(calibration, "reliability", "mean score", "share hallucinated")


def _time(axis: Any, tables: Tables) -> None:
    """AUROC against seconds, a point for each dataset, a colour for each method."""
    auroc = {(one.dataset, one.method): one.figures["AUROC"].value for one in tables.quality}
    for place, method in enumerate(dict.fromkeys(one.method for one in tables.costs)):
        points = [
            (one.means["seconds"] or 0.0, value)
            for one in tables.costs
            if one.method == method and (value := auroc[one.dataset, method]) is not None
        ]
        drawn = {"color": f"C{place % 10}", "marker": _MARKS[place // 10 % len(_MARKS)]}
        axis.scatter([x for x, _ in points], [y for _, y in points], label=method, s=20, **drawn)
    # Times span from microseconds to minutes; a logarithmic scale has no place for zero.
    if any((one.means["seconds"] or 0.0) > 0 for one in tables.costs):
        axis.set_xscale("log", nonpositive="mask")
    axis.set(title="quality and time", xlabel="seconds per response", ylabel="AUROC")


def _label(axis: Any, title: str, across: str, up: str) -> None:
    axis.set(title=title, xlabel=across, ylabel=up, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


def _pyplot() -> Any:
    try:
        import matplotlib

        # Figures go to files; no display is needed or looked for.
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtra("drawing figures", "bench") from error
    return pyplot
