"""QAGS-CNN/DM: summary sentences judged by three crowd workers each (235 summaries).

A sentence is consistent when a strict majority of its answers is "yes"; the summary is
hallucinated when any sentence is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect
from halldetect_bench.datasets.readers import locate, read_jsonl

HINT = "the QAGS release, github.com/W4ngatang/qags, data/"


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return collect(read_jsonl(locate(path, "mturk_cnndm.jsonl", hint=HINT)), _rows)


def _rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
    sentences = tuple(
        (str(item["sentence"]), not _consistent(item)) for item in record["summary_sentences"]
    )
    yield Row(
        dataset="qags-cnndm",
        id=str(position),
        source=record["article"],
        response=" ".join(text for text, _ in sentences),
        hallucinated=any(wrong for _, wrong in sentences),
        sentences=sentences,
    )


def _consistent(sentence: dict[str, Any]) -> bool:
    answers = [str(item["response"]) for item in sentence["responses"]]
    if not answers:
        raise Unusable("a sentence without answers")
    agreeing = sum(answer == "yes" for answer in answers)
    return 2 * agreeing > len(answers)
