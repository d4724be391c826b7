"""Correct texts with wrong versions: SummEdits, BUMP, PubMedQA and HaluEval."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect, digest, join
from halldetect_bench.datasets.readers import from_file, locate, read_json, read_table_file

SUMMEDITS_DOMAINS = tuple(
    "ectsum news podcast qmsumm sales_call sales_email samsum scitldr".split()
)
BUMP_TASKS = ("task1", "task2")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])")


@from_file(
    "summedits_{}.json",
    hint="the SummEdits release, github.com/salesforce/factualNLG, data/summedits",
)
def load_summedits(domain: str, _: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load SummEdits: edited summaries in eight domains (4,681 rows). Label 0 = hallucinated.

    `kind` joins the edit types. Sentence labels follow from the edits: the seed summary is
    consistent, so a sentence of the seed is supported. If exactly one sentence of an inconsistent
    summary is new, it holds the error. With several new sentences the place of the error is
    unknown, and the row has no sentence labels.
    """
    hallucinated = int(record["label"]) == 0
    yield Row(
        dataset=f"summedits-{domain}",
        id=f"{domain}/{record['id']}",
        source=record["doc"],
        response=record["summary"],
        hallucinated=hallucinated,
        sentences=_placed_errors(record, hallucinated),
        kind="+".join(sorted(record.get("edit_types", ()))) or None if hallucinated else None,
        document=f"{domain}/{digest(record['doc'])}",
    )


def _placed_errors(record: dict[str, Any], hallucinated: bool) -> tuple[tuple[str, bool], ...]:
    sentences = _SENTENCE_END.split(record["summary"].strip())
    if not hallucinated:
        return tuple((sentence, False) for sentence in sentences)
    seed = set(_SENTENCE_END.split(record.get("original_summary", "").strip()))
    new = [sentence not in seed for sentence in sentences]
    return tuple(zip(sentences, new, strict=True)) if sum(new) == 1 else ()


def load_bump(path: Path) -> Loaded:
    """Load BUMP: reference summaries and minimally edited, unfaithful versions (889 pairs).

    The edited summary is hallucinated, `kind` is its error type; the reference is faithful. Task 1
    edits each reference about seven times and shares references with task 2. Each reference is
    only one row, so the balance of the rows differs from that of the pairs. Articles that only
    task 1 has are skipped: these four were trained on.
    """
    references: set[tuple[str, str]] = set()
    first, second = (_bump(path, task, references) for task in BUMP_TASKS)
    held_out = {row.document for row in second.rows}
    kept = tuple(row for row in first.rows if row.document in held_out)
    return join([replace(first, rows=kept), second])


def load_bump_task(path: Path, part: str = "task1") -> Loaded:
    """Load one of the two tasks of BUMP, whole."""
    return _bump(path, part, set())


def _bump(path: Path, task: str, references: set[tuple[str, str]]) -> Loaded:
    """Load a task; `references` are those that already have a row."""
    hint = "the BUMP release, github.com/dataminr-ai/BUMP"

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        article = str(record["article_id"])
        kind = record.get("corrected_error_type") or record["error_type"]
        edited = Row(
            dataset=f"bump-{task}",
            id=f"{task}/{record['id']}/edited",
            source=record["article"],
            response=record["edited_summary"],
            hallucinated=True,
            kind=kind.lower().removesuffix(" error"),
            document=article,
        )
        yield edited
        reference = (article, record["reference_summary"])
        if reference not in references:
            references.add(reference)
            yield replace(
                edited,
                id=f"{task}/{record['id']}/reference",
                response=record["reference_summary"],
                hallucinated=False,
                kind=None,
            )

    return collect(read_table_file(locate(path, f"{task}_dataset.json", hint=hint)), rows)


def load_pubmedqa(path: Path) -> Loaded:
    """Load PubMedQA as our own faithfulness task (no labels by the publishers; 1,000 rows).

    Each abstract of the publishers' test split gives two rows with the source `CONTEXTS`, the
    abstract without its conclusion; the other abstracts were trained on:

    - faithful: `LONG_ANSWER`, the authors' own conclusion. It need not follow from the contexts
      word for word, so these labels are weaker than human ones.
    - hallucinated: a wrong conclusion. Its `kind` is `number` (one number changed), `polarity`
      (one negation added or removed, or one word replaced by its opposite) or `mismatch` (the
      conclusion of the abstract with the most similar MeSH terms). `pubmedqa_edits.json` holds
      the edits, which were drawn once, by rule and seed.

    Every table must name this construction.
    """
    hint = "the PubMedQA release, github.com/pubmedqa/pubmedqa, folder data"
    abstracts = read_json(locate(path, "ori_pqal.json", hint=hint))
    if not isinstance(abstracts, dict):
        raise InputError(f"{path}: ori_pqal.json must hold one JSON object of abstracts by id")
    edits = json.loads((files(__package__) / "pubmedqa_edits.json").read_text(encoding="utf-8"))

    def rows(_: int, pmid: str) -> Iterable[Row]:
        record = abstracts[pmid]
        kind, wrong = _wrong_conclusion(edits[pmid], record["LONG_ANSWER"], abstracts)
        faithful = Row(
            dataset="pubmedqa",
            id=f"{pmid}/faithful",
            source="\n\n".join(record["CONTEXTS"]),
            response=record["LONG_ANSWER"],
            hallucinated=False,
            document=pmid,
            question=record.get("QUESTION"),
        )
        yield faithful
        yield replace(
            faithful, id=f"{pmid}/hallucinated", response=wrong, hallucinated=True, kind=kind
        )

    tested = read_json(locate(path, "test_ground_truth.json", hint=hint))
    return collect(sorted(pmid for pmid in tested if pmid in abstracts), rows)


def _wrong_conclusion(
    edit: Sequence[Any], conclusion: str, abstracts: dict[str, Any]
) -> tuple[str, str]:
    kind, *change = edit
    if kind == "mismatch":
        return kind, str(abstracts[change[0]]["LONG_ANSWER"])
    start, end, text = change
    return kind, conclusion[:start] + text + conclusion[end:]


# By task: the fields of the source, the field of the response, and that of the question.
HALUEVAL_TASKS = {
    "qa": (("knowledge",), "answer", "question"),
    "dialogue": (("knowledge", "dialogue_history"), "response", ""),
    "summarization": (("document",), "summary", ""),
}


@from_file("{}_data.json", hint="the HaluEval release, github.com/RUCAIBox/HaluEval, data/")
def load_halueval(task: str, position: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load HaluEval: correct and hallucinated answers, replies, summaries (10,000 pairs per task).

    Each record gives a faithful and a hallucinated row. In dialogues the source is the knowledge
    and the history, two documents. A model wrote the hallucinated texts.
    """
    sources, response, question = HALUEVAL_TASKS[task]
    parts = tuple(str(record[field]) for field in sources)
    for field, hallucinated in (("right", False), ("hallucinated", True)):
        yield Row(
            dataset=f"halueval-{task}",
            id=f"{task}/{position}/{field}",
            source=parts[0] if len(parts) == 1 else parts,
            response=record[f"{field}_{response}"],
            hallucinated=hallucinated,
            document=f"{task}/{position}",
            question=record[question] if question else None,
        )
