"""RAGTruth: answers, data descriptions and summaries with hallucinated spans marked by people.

`response.jsonl` is joined with `source_info.jsonl` on `source_id`; `ragtruth` is the test split,
`ragtruth-train` the other. A response is hallucinated when it has any marked span; `kind` joins
the span types. Structured sources are written out as lines of "field: value".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect
from halldetect_bench.datasets.readers import folder, locate, read_jsonl

HINT = "the RAGTruth release, github.com/ParticleMedia/RAGTruth, dataset/"


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
    responses = read_jsonl(locate(folder(path), "response.jsonl", hint=HINT))
    information = read_jsonl(locate(folder(path), "source_info.jsonl", hint=HINT))
    sources = {str(item["source_id"]): item for item in information if "source_id" in item}

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        if record["split"] != split:
            return
        key = str(record["source_id"])
        if key not in sources:
            raise Unusable(f"no source with source_id {key}")
        source, question = _source(sources[key]["source_info"])
        kinds = sorted({str(label["label_type"]).lower() for label in record["labels"]})
        yield Row(
            dataset=f"ragtruth-{str(sources[key]['task_type']).lower()}",
            id=str(record["id"]),
            source=source,
            response=record["response"],
            hallucinated=bool(record["labels"]),
            kind="+".join(kinds) or None,
            document=key,
            question=question,
        )

    return collect(responses, rows)


def _source(information: Any) -> tuple[str, str | None]:
    if isinstance(information, str):
        return information, None
    if "passages" in information:
        return str(information["passages"]), information.get("question")
    return "\n".join(_lines(information, "")), None


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f"{name}, {key}" if name else str(key))
    elif isinstance(value, list):
        for place, inner in enumerate(value, start=1):
            yield from _lines(inner, f"{name} {place}")
    else:
        yield f"{name}: {'unknown' if value is None else value}"
