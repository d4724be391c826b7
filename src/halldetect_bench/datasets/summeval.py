"""SummEval: 16 systems on 100 CNN/DM articles, rated by experts (1,600 summaries).

Hallucinated when the mean expert `consistency` (1 to 5) is below 5. The gold score is that mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect
from halldetect_bench.datasets.readers import locate, read_jsonl

HINT = "SummEval joined with its articles: doc_id, system, source, summary, consistency"


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return collect(read_jsonl(locate(path, "summeval.jsonl", hint=HINT)), _rows)


def _rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
    consistency = float(record["consistency"])
    yield Row(
        dataset="summeval",
        id=f"{record['doc_id']}/{record['system']}",
        source=record["source"],
        response=record["summary"],
        hallucinated=consistency < 5,
        score=consistency,
        document=str(record["doc_id"]),
    )
