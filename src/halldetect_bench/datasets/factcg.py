"""FactCG's CG2C-Doc: synthetic multi-hop claims on documents (2,068 rows; may be trained on).

`text_a` is the document, `text_b` a list of one claim, `orig_label` 1 = supported.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect
from halldetect_bench.datasets.readers import locate, read_table_file

HINT = "the FactCG release, github.com/derenlei/FactCG"


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return collect(read_table_file(locate(path, "CG2C_doc.json", hint=HINT)), _rows)


def _rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
    claims = record["text_b"]
    yield Row(
        dataset="factcg",
        id=str(position),
        source=record["text_a"],
        response=claims if isinstance(claims, str) else " ".join(claims),
        hallucinated=int(record["orig_label"]) != 1,
    )
