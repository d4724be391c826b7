"""Correct texts with wrong versions: SummEdits, BUMP, FalseSum, PubMedQA and HaluEval.

Every loader takes the folder of the publisher's release.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect, digest, join
from halldetect_bench.datasets.readers import folder, locate, read_json, read_jsonl, read_table_file

SUMMEDITS_DOMAINS = (
    "ectsum",
    "news",
    "podcast",
    "qmsumm",
    "sales_call",
    "sales_email",
    "samsum",
    "scitldr",
)
BUMP_TASKS = (1, 2)
STORIES = "HALLDETECT_STORIES"
_HIGHLIGHT = "@highlight"
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])")


def load_summedits(path: Path, domains: Sequence[str] = SUMMEDITS_DOMAINS) -> Loaded:
    """Load SummEdits: edited summaries in eight domains (4,681 rows). Label 0 = hallucinated.

    `kind` joins the edit types. Sentence labels follow from the edits: the seed summary is
    consistent, so a sentence of the seed is supported. If exactly one sentence of an inconsistent
    summary is new, it holds the error. With several new sentences the place of the error is
    unknown, and the row has no sentence labels.
    """
    return join(_summedits(path, domain) for domain in domains)


def _summedits(path: Path, domain: str) -> Loaded:
    hint = "the SummEdits release, github.com/salesforce/factualNLG, data/summedits"

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
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

    file = locate(folder(path), f"summedits_{domain}.json", hint=hint)
    return collect(read_table_file(file), rows)


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


def load_bump_task(path: Path, task: int) -> Loaded:
    """Load one of the two tasks of BUMP, whole."""
    return _bump(path, task, set())


def _bump(path: Path, task: int, references: set[tuple[str, str]]) -> Loaded:
    """Load a task; `references` are those that already have a row."""
    hint = "the BUMP release, github.com/dataminr-ai/BUMP"

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        article = str(record["article_id"])
        kind = record.get("corrected_error_type") or record["error_type"]
        edited = Row(
            dataset=f"bump-task{task}",
            id=f"task{task}/{record['id']}/edited",
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
                id=f"task{task}/{record['id']}/reference",
                response=record["reference_summary"],
                hallucinated=False,
                kind=None,
            )

    return collect(
        read_table_file(locate(folder(path), f"task{task}_dataset.json", hint=hint)), rows
    )


def load_falsesum(path: Path) -> Loaded:
    """Load FalseSum: generated summaries of CNN/DM articles, half inconsistent (8,684 pairs).

    The release holds character ranges into CNN/DM `.story` files. Put the files into `stories/`
    next to it (subfolders allowed) or name their folder in HALLDETECT_STORIES. The source is the
    story without its highlights, the origin of the consistent summaries. Label "0" is
    hallucinated.
    """
    hint = "the FalseSum release, github.com/joshbambrick/Falsesum"
    pairs = read_jsonl(locate(folder(path), "generated_pairs.dev.jsonl", hint=hint))
    named = os.environ.get(STORIES)
    place = Path(named) if named else folder(path) / "stories"
    if not place.is_dir():
        raise InputError(
            f"FalseSum comes without its articles and {place} is not a folder: put the CNN/DM "
            f".story files there (cs.nyu.edu/~kcho/DMQA), or set {STORIES}"
        )
    stories = {file.name: file for file in place.rglob("*.story")}

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        name = Path(record["context_path"]).name
        if name not in stories:
            raise Unusable(f"no story {name}")
        story = stories[name].read_text(encoding="utf-8")
        summary = "".join(_cut(story, start, end) for start, end in record["summary"])
        yield Row(
            dataset="falsesum",
            id=str(position),
            source=story.partition(_HIGHLIGHT)[0].strip(),
            response=" ".join(summary.split()),
            hallucinated=str(record["label"]) == "0",
            document=name.removesuffix(".story"),
        )

    return collect(pairs, rows)


def _cut(story: str, start: int, end: int) -> str:
    if not 0 <= start <= end <= len(story):
        raise Unusable(f"range {start}-{end} is outside the story: another edition of the file?")
    return story[start:end]


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

    tested = read_json(locate(folder(path), "test_ground_truth.json", hint=hint))
    return collect(sorted(pmid for pmid in tested if pmid in abstracts), rows)


def _wrong_conclusion(
    edit: Sequence[Any], conclusion: str, abstracts: dict[str, Any]
) -> tuple[str, str]:
    kind, *change = edit
    if kind == "mismatch":
        return kind, str(abstracts[change[0]]["LONG_ANSWER"])
    start, end, text = change
    return kind, conclusion[:start] + text + conclusion[end:]


@dataclass(frozen=True, slots=True)
class _Task:
    """The field names of one task of HaluEval."""

    sources: tuple[str, ...]
    response: str
    question: str | None = None


HALUEVAL_TASKS = {
    "qa": _Task(("knowledge",), "answer", "question"),
    "dialogue": _Task(("knowledge", "dialogue_history"), "response"),
    "summarization": _Task(("document",), "summary"),
}


def load_halueval(path: Path, tasks: Sequence[str] = tuple(HALUEVAL_TASKS)) -> Loaded:
    """Load HaluEval: correct and hallucinated answers, replies, summaries (10,000 pairs per task).

    Each record gives a faithful and a hallucinated row. In dialogues the source is the knowledge
    and the history, two documents. A model wrote the hallucinated texts.
    """
    return join(_halueval(path, name) for name in tasks)


def _halueval(path: Path, name: str) -> Loaded:
    hint = "the HaluEval release, github.com/RUCAIBox/HaluEval, data/"
    task = HALUEVAL_TASKS[name]

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        parts = tuple(str(record[field]) for field in task.sources)
        for field, hallucinated in (("right", False), ("hallucinated", True)):
            yield Row(
                dataset=f"halueval-{name}",
                id=f"{name}/{position}/{field}",
                source=parts[0] if len(parts) == 1 else parts,
                response=record[f"{field}_{task.response}"],
                hallucinated=hallucinated,
                document=f"{name}/{position}",
                question=record[task.question] if task.question else None,
            )

    return collect(read_table_file(locate(folder(path), f"{name}_data.json", hint=hint)), rows)
