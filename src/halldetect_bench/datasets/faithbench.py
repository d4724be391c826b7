"""FaithBench: summaries of ten language models where detectors disagree (800 rows).

Hallucinated when the worst label contains "Unwanted"; "Benign" and "Questionable" are faithful.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect
from halldetect_bench.datasets.readers import locate, read_csv

HINT = "the FaithBench release, github.com/vectara/FaithBench"


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return collect(read_csv(locate(path, "FaithBench.csv", hint=HINT)), _rows)


def _rows(position: int, record: dict[str, str]) -> Iterable[Row]:
    worst = record["worst-label"]
    yield Row(
        dataset="faithbench",
        id=str(position),
        source=record["source"],
        response=record["summary"].strip(),
        hallucinated="Unwanted" in worst,
        kind=None if worst == "Consistent" else worst.lower(),
    )
