"""LLM-AggreFact: claims on documents from eleven datasets. Label 1 = supported.

`test` is the default, `llm-aggrefact-dev` the other split. Files are Parquet as on the hub
(`test-00000-of-00001.parquet`, also in `data/`), CSV or JSON lines, with the published fields
`dataset`, `doc`, `claim`, `label`. The publishers allow evaluation only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect
from halldetect_bench.datasets.readers import read_table_file

SUFFIXES = (".parquet", ".csv", ".jsonl", ".json")


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return _load(path, "test")


def loader(split: str) -> Callable[[Path], Loaded]:
    """A loader of one split only.

    split: its name.
    """
    return lambda path: _load(path, split)


def _load(path: Path, split: str) -> Loaded:
    files = (
        [path]
        if path.is_file()
        else sorted(
            file
            for place in (path, path / "data")
            for file in place.glob(f"{split}*")
            if file.suffix in SUFFIXES
        )
    )
    if not files:
        raise InputError(
            f"{path} holds no {split}*.parquet, .csv or .jsonl: put the files of "
            "huggingface.co/datasets/lytang/LLM-AggreFact (data/) there"
        )

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        hallucinated = int(record["label"]) != 1
        yield Row(
            dataset=f"llm-aggrefact-{record['dataset']}",
            id=f"{split}/{position}",
            source=record["doc"],
            response=record["claim"],
            hallucinated=hallucinated,
            sentences=((record["claim"], hallucinated),),
        )

    return collect((record for file in files for record in read_table_file(file)), rows)
