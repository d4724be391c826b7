"""WiCE: Wikipedia claims against the web pages they cite (349 claims in the development set).

Hallucinated when the label is not "supported"; `kind` keeps partially_supported apart from
not_supported. The claim is the whole response, so response and claim figures agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect, digest
from halldetect_bench.datasets.readers import locate, read_jsonl

HINT = "the WiCE release, github.com/ryokamoi/wice, data/entailment_retrieval/claim/dev.jsonl"
LABELS = ("supported", "partially_supported", "not_supported")


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return collect(read_jsonl(locate(path, "claim_dev.jsonl", "dev.jsonl", hint=HINT)), _rows)


def _rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
    label = record["label"]
    if label not in LABELS:
        raise Unusable(f"unknown label {label!r}")
    hallucinated = label != "supported"
    source = "\n".join(record["evidence"])
    yield Row(
        dataset="wice",
        id=record["meta"]["id"],
        source=source,
        response=record["claim"],
        hallucinated=hallucinated,
        sentences=((record["claim"], hallucinated),),
        kind=label if hallucinated else None,
        document=digest(source),
    )
