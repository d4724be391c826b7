"""DialSummEval: 14 systems on 100 SAMSum dialogues, rated by three people (1,400 summaries).

Hallucinated when the mean `consistency` (1 to 5) is below 4: a noisy cut; the correlation
with the mean (the gold score) is more reliable. The release writes turns as "| Ann: ... | Bob:
..."; each | becomes a line end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect
from halldetect_bench.datasets.readers import locate, read_jsonl

HINT = "the DialSummEval release, github.com/kite99520/DialSummEval"


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return collect(read_jsonl(locate(path, "human_judgment.jsonl", hint=HINT)), _rows)


def _rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
    consistency = fmean([float(item["consistency"]) for item in record["annotations"]])
    yield Row(
        dataset="dialsummeval",
        id=f"{record['id']}/{record['model_id']}",
        source=re.sub(r"\s*\|\s+(?=[^|:]{1,40}:)", "\n", record["dialogue"]).strip(),
        response=record["summary"],
        hallucinated=consistency < 4,
        score=consistency,
        document=str(record["id"]),
    )
