"""StorySumm: model summaries of unpublished short stories (96 rows). Label 0 = hallucinated.

`errors` holds 1 for a faithful sentence and 0 for a wrong one. Sentence labels are kept only
where there is one for each sentence and they agree with the summary's own label.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect
from halldetect_bench.datasets.readers import locate, read_json

HINT = "the StorySumm release, github.com/melaniesubbiah/storysumm"


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    records = read_json(locate(path, "storysumm_fixed.json", "storysumm.json", hint=HINT))
    return collect(records.items(), _rows)


def _rows(_: int, item: tuple[str, dict[str, Any]]) -> Iterable[Row]:
    key, record = item
    hallucinated = int(record["label"]) == 0
    summary = [str(sentence) for sentence in record["summary"]]
    wrong = [int(mark) == 0 for mark in record.get("errors", ())]
    placed = len(wrong) == len(summary) and any(wrong) == hallucinated
    yield Row(
        dataset="storysumm",
        id=key,
        source=record["story"],
        response=" ".join(summary),
        hallucinated=hallucinated,
        sentences=tuple(zip(summary, wrong, strict=True)) if placed else (),
        kind=record.get("difficulty") if hallucinated else None,
        document=str(record["story-id"]),
    )
