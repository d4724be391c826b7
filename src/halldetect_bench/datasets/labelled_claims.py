"""Claims on documents: WiCE, FactCG, LLM-AggreFact, ClearFacts, and your own rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect, digest
from halldetect_bench.datasets.readers import from_file, read_table_file

_WICE_LABELS = ("supported", "partially_supported", "not_supported")
_TABLES = (".parquet", ".csv", ".jsonl", ".json")
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@from_file(
    "claim_dev.jsonl",
    "dev.jsonl",
    hint="the WiCE release, github.com/ryokamoi/wice, data/entailment_retrieval/claim/dev.jsonl",
)
def load_wice(_: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load WiCE: Wikipedia claims against the web pages they cite (349 in the development set).

    Hallucinated when the label is not "supported"; `kind` separates partially_supported from
    not_supported. The claim is the whole response, so response and claim figures agree.
    """
    label = record["label"]
    if label not in _WICE_LABELS:
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


@from_file("CG2C_doc.json", hint="the FactCG release, github.com/derenlei/FactCG")
def load_factcg(position: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load FactCG's CG2C-Doc: synthetic multi-hop claims (2,068 rows; may be trained on).

    `text_a` is the document, `text_b` a list of one claim, `orig_label` 1 = supported.
    """
    claims = record["text_b"]
    yield Row(
        dataset="factcg",
        id=str(position),
        source=record["text_a"],
        response=claims if isinstance(claims, str) else " ".join(claims),
        hallucinated=int(record["orig_label"]) != 1,
    )


def load_llm_aggrefact(path: Path, part: str = "test") -> Loaded:
    """Load LLM-AggreFact: claims on documents from eleven datasets. Label 1 = supported.

    Files are Parquet as on the hub (`test-00000-of-00001.parquet`, also in `data/`), CSV or JSON
    lines, with the published fields `dataset`, `doc`, `claim`, `label`. The publishers allow
    evaluation only.
    """
    places = (path, path / "data")
    found = sorted(file for place in places for file in place.glob(f"{part}*"))
    files = [file for file in found if file.suffix in _TABLES]
    if not files:
        raise InputError(
            f"{path} holds no {part}*.parquet, .csv or .jsonl: put the files of "
            "huggingface.co/datasets/lytang/LLM-AggreFact (data/) there"
        )

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        hallucinated = int(record["label"]) != 1
        yield Row(
            dataset=f"llm-aggrefact-{record['dataset']}",
            id=f"{part}/{position}",
            source=record["doc"],
            response=record["claim"],
            hallucinated=hallucinated,
            sentences=((record["claim"], hallucinated),),
        )

    return collect((record for file in files for record in read_table_file(file)), rows)


@from_file("aggrefact.jsonl", hint="github.com/S1s-Z/FaithLens, ClearFacts' rows of LLM-AggreFact")
def load_clearfacts(position: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load ClearFacts: rows of the eleven sets of LLM-AggreFact with labels checked again.

    "NS" is hallucinated; `kind` names the set. The publishers of LLM-AggreFact allow evaluation
    only.
    """
    hallucinated = {"S": False, "NS": True}[record["label"]]
    documents = tuple(record["reference_documents"])
    yield Row(
        dataset="clearfacts",
        id=str(position),
        source=documents[0] if len(documents) == 1 else documents,
        response=record["statement"],
        hallucinated=hallucinated,
        sentences=((record["statement"], hallucinated),),
        kind=record["category"],
    )


def load_user_file(path: Path) -> Loaded:
    """Load your own data: one JSON object per line (JSON arrays, CSV and Parquet work too).

    Fields: `source` (text, or a list of documents), `response`, `hallucinated` (true/false or
    1/0); optional `id`, `question`, `kind`, `document`, `score` (higher = more faithful, may
    replace `hallucinated`) and `sentences` (a list of [text, hallucinated]).
    """
    if not path.is_file():
        raise InputError(
            f"{path} does not exist: give a JSON-lines file of source, response, hallucinated"
        )

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        source = record["source"]
        score = record.get("score")
        yield Row(
            dataset=f"jsonl:{path.stem}",
            id=str(record.get("id") or position),
            source=tuple(source) if isinstance(source, list) else source,
            response=record["response"],
            hallucinated=_truth(record.get("hallucinated")),
            score=None if score in (None, "") else float(score),
            sentences=tuple(
                (str(text), _sentence_truth(mark)) for text, mark in record.get("sentences") or ()
            ),
            kind=record.get("kind") or None,
            document=str(record.get("document") or ""),
            question=record.get("question") or None,
        )

    return collect(read_table_file(path), rows)


def _truth(value: Any) -> bool | None:
    if value is None or value == "":
        return None
    known = _TRUTH.get(str(value).strip().lower())
    if known is None:
        raise Unusable(f"hallucinated must be true or false, not {value!r}")
    return known


def _sentence_truth(mark: Any) -> bool:
    known = _truth(mark)
    if known is None:
        raise Unusable("a sentence without a label")
    return known
