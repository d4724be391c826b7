"""The row that every loader returns, and the checks that every row must pass."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One response with its source and its gold label.

    `hallucinated` is the positive class; None if the gold label is only a score.
    `score` is in the publisher's own direction: higher is more faithful.
    `sentences` pairs each sentence (or claim) of the response with True if it is hallucinated.
    `document` names the source document, so that rows of one document stay together.
    `spans` are the places in the response that people marked as wrong.
    """

    dataset: str
    id: str
    source: str | tuple[str, ...]
    response: str
    hallucinated: bool | None
    score: float | None = None
    sentences: tuple[tuple[str, bool], ...] = ()
    kind: str | None = None
    document: str = ""
    question: str | None = None
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """The usable rows, and (id, reason) for every dropped record."""

    rows: tuple[Row, ...]
    dropped: tuple[tuple[str, str], ...] = ()


class Unusable(ValueError):
    """A record that cannot become a row; the message is the reason."""


def collect(records: Iterable[Any], parse: Callable[[int, Any], Iterable[Row]]) -> Loaded:
    """Turn records into rows; a record or row that fails is dropped with its reason.

    `parse` gets the position of a record, from 1, and the record.
    """
    rows: list[Row] = []
    dropped: list[tuple[str, str]] = []
    seen: set[str] = set()
    for position, record in enumerate(records, start=1):
        try:
            parsed = list(parse(position, record))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            about = {Unusable: "", KeyError: "no field "}.get(type(error), "malformed: ")
            dropped.append((f"record {position}", f"{about}{error}"))
            continue
        for row in parsed:
            reason = fault(row) or ("id seen before" if row.id in seen else None)
            if reason is None:
                seen.add(row.id)
                rows.append(row if row.document else replace(row, document=digest(row.source)))
            else:
                dropped.append((row.id, reason))
    return Loaded(tuple(rows), tuple(dropped))


def fault(row: Row) -> str | None:
    """Return the reason why a row cannot be used, or None."""
    parts = (row.source,) if isinstance(row.source, str) else row.source
    if not all(isinstance(part, str) for part in parts):
        return "source is not text"
    if not any(part.strip() for part in parts):
        return "empty source"
    if not isinstance(row.response, str):
        return "response is not text"
    if not row.response.strip():
        return "empty response"
    if row.hallucinated is None and row.score is None:
        return "no label"
    return None


def digest(source: str | tuple[str, ...]) -> str:
    """Return a short id for a source, one text or several documents, without an id."""
    text = source if isinstance(source, str) else "\n\n".join(source)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def join(parts: Iterable[Loaded]) -> Loaded:
    """Join the results of several loaders, in order."""
    found = list(parts)
    return Loaded(
        tuple(row for part in found for row in part.rows),
        tuple(record for part in found for record in part.dropped),
    )


# Datasets related to the training data of the packaged verifiers. No evaluated text was trained on
# (`python -m training.leaks` checks that), but a verifier that was trained on other rows of a
# dataset knows its style and its kinds of errors.
_OF_AGGREFACT = "parts of WiCE, RAGTruth, Factcheck-GPT and LFQA that are not in it"
TRAINING_OVERLAP = {
    "wice": "part of the train split",
    "halueval": "part of the questions",
    "qags-cnndm": "other articles of CNN/DailyMail",
    "summeval": "other articles of CNN/DailyMail",
    "falsesum": "articles of CNN/DailyMail; which ones was not compared, the texts are the user's",
    "xsumfaith": "other articles of XSum, in DeFacto",
    "summedits": "other papers of SciTLDR, one of its eight domains",
    "llm-aggrefact": _OF_AGGREFACT,
    "clearfacts": _OF_AGGREFACT,
    "defacto": "the train and validation splits",
    "bump": "four articles of task 1, whose rows are left out",
    "pubmedqa": "the abstracts that are not in its test split, and its kinds of wrong answers",
    "factcg": "the whole set",
    "ragtruth": "half of the sources of the answers and summaries, whose rows are left out",
}
# Parts that were themselves trained on. They are in no mean.
TRAINING_PARTS = re.compile(r"factcg|defacto-val|.*-train")


def is_training_data(dataset: str) -> bool:
    """Return True if the rows of a dataset were trained on."""
    return TRAINING_PARTS.fullmatch(dataset) is not None


def trained_on(dataset: str) -> str | None:
    """Return the training data that belongs to a dataset or is close to it, or None.

    The splits of a dataset and sets made from it share an entry.
    """
    base = dataset.rpartition(":")[2]
    for name, text in TRAINING_OVERLAP.items():
        if base == name or base.startswith(f"{name}-"):
            return text
    return None
