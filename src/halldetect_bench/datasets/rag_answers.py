"""Answers of language models to retrieved passages: RAGTruth and MEMERAG.

Records of RAGTruth stay JSON, the form in which users pass them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from halldetect.reading.sentences import sentences
from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect
from halldetect_bench.datasets.readers import from_file, locate, read_jsonl

RAGTRUTH_SELECTIONS = ("qa", "summary", "data2txt", "qa-train", "summary-train")
MEMERAG_LANGUAGES = ("en", "de", "es", "fr", "hi")


def load_ragtruth(path: Path, part: str = "test") -> Loaded:
    """Load the release of RAGTruth: `response.jsonl` and `source_info.jsonl`.

    A response is hallucinated if people marked any span; `kind` joins the span types. The test part
    leaves out the sources that were trained on.
    """
    hint = "the RAGTruth release, github.com/ParticleMedia/RAGTruth, dataset/"
    responses = read_jsonl(locate(path, "response.jsonl", hint=hint))
    information = read_jsonl(locate(path, "source_info.jsonl", hint=hint))
    sources = {str(item["source_id"]): item for item in information if "source_id" in item}

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        if record["split"] != part:
            return
        key = str(record["source_id"])
        if key not in sources:
            raise Unusable(f"no source with source_id {key}")
        task, given = str(sources[key]["task_type"]).lower(), sources[key]["source_info"]
        if part == "train" or not _is_trained_on(task, given):
            yield _marked(f"ragtruth-{task}", str(record["id"]), key, given, record)

    return collect(responses, rows)


def load_ragtruth_selection(path: Path, part: str = "") -> Loaded:
    """Load FaithJudge's selection of RAGTruth: six answers to each source of a task.

    Half of the sources of "qa" and "summary" were trained on: those whose text has an even CRC-32.
    They are the parts "qa-train" and "summary-train". "data2txt" was never trained on.
    """
    task, _, wanted = part.partition("-")
    hint = "FaithJudge, github.com/vectara/FaithJudge"

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        if _is_trained_on(task, record["source"]) is not (wanted == "train"):
            return
        key = str(record["source_id"])
        for place, answer in enumerate(record["responses"]):
            name = f"ragtruth-selection-{part}"
            yield _marked(name, f"{key}/{place}", key, record["source"], answer)

    return collect(read_jsonl(locate(path, f"ragtruth_{task}.jsonl", hint=hint)), rows)


def _is_trained_on(task: str, given: Any) -> bool:
    return task != "data2txt" and zlib.crc32(_source(given)[0].encode()) % 2 == 0


def _marked(name: str, id: str, document: str, given: Any, record: dict[str, Any]) -> Row:
    """Return the row of an answer with marked spans; a sentence is wrong if one touches it."""
    source, question = _source(given)
    response = record["response"]
    spans = tuple((int(label["start"]), int(label["end"])) for label in record["labels"])
    kinds = sorted({str(label["label_type"]).lower() for label in record["labels"]})
    return Row(
        dataset=name,
        id=id,
        source=source,
        response=response,
        hallucinated=bool(spans),
        sentences=by_spans(response, spans),
        kind="+".join(kinds) or None,
        document=document,
        question=question,
        spans=spans,
    )


def _source(given: Any) -> tuple[str, str | None]:
    if isinstance(given, str):
        return given, None
    if "passages" in given:
        return str(given["passages"]), given.get("question")
    return json.dumps(given, ensure_ascii=False), None


def by_spans(text: str, spans: Sequence[tuple[int, int]]) -> tuple[tuple[str, bool], ...]:
    """Return each sentence of a text, and True if a span touches it."""
    return tuple(
        (place.cut(text), any(start < place.end and place.start < end for start, end in spans))
        for place in sentences(text)
    )


@from_file("{}.jsonl", hint="github.com/amazon-science/MEMERAG")
def load_memerag(language: str, _: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load MEMERAG: answers to questions on passages, with labels of experts per sentence.

    Answers with a sentence that the experts found hard to judge are dropped. For evaluation only.
    """
    states = {"Supported": False, "Not Supported": True}
    parts = [(part["sentence"], states.get(part["factuality"])) for part in record["answer"]]
    marked = tuple((text, wrong) for text, wrong in parts if wrong is not None)
    if len(marked) < len(parts):
        raise Unusable("a sentence without a clear label")
    yield Row(
        dataset=f"memerag-{language}",
        id=str(record["query_id"]),
        source=tuple(passage["text"] for passage in record["context"]),
        response=" ".join(text for text, _ in marked),
        hallucinated=any(wrong for _, wrong in marked),
        sentences=marked,
        document=str(record["query_id"]),
        question=record["query"],
    )
