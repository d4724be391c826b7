"""Summaries that people labelled: QAGS, SummEval, XSumFaith, FaithBench, DeFacto, StorySumm,
DialSummEval and TofuEval.

Every loader takes the folder of the publisher's release, or its only file.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect, join
from halldetect_bench.datasets.readers import folder, locate, read_csv, read_json, read_jsonl

XSUM_ARTICLES = "xsum_docs_joined.json"
XSUM_TYPES = ("intrinsic", "extrinsic")
DEFACTO_SPLITS = ("train", "val", "test")
TOFUEVAL_CORPORA = ("mediasum", "meetingbank")
TOFUEVAL_SPLITS = ("dev", "test")
TRANSCRIPTS = "HALLDETECT_TRANSCRIPTS"
# TofuEval's keys of a summary: document, topic, model.
Key = tuple[str, str, str]


def load_qags(path: Path) -> Loaded:
    """Load QAGS-CNN/DM: summary sentences judged by three crowd workers each (235 summaries).

    A sentence is consistent if a strict majority of its answers is "yes". A summary is
    hallucinated if any sentence is not.
    """
    hint = "the QAGS release, github.com/W4ngatang/qags, data/"
    return collect(read_jsonl(locate(path, "mturk_cnndm.jsonl", hint=hint)), _qags)


def _qags(position: int, record: dict[str, Any]) -> Iterable[Row]:
    sentences = tuple(
        (str(item["sentence"]), not _majority_agrees(item)) for item in record["summary_sentences"]
    )
    yield Row(
        dataset="qags-cnndm",
        id=str(position),
        source=record["article"],
        response=" ".join(text for text, _ in sentences),
        hallucinated=any(wrong for _, wrong in sentences),
        sentences=sentences,
    )


def _majority_agrees(sentence: dict[str, Any]) -> bool:
    answers = [str(item["response"]) for item in sentence["responses"]]
    if not answers:
        raise Unusable("a sentence without answers")
    return 2 * answers.count("yes") > len(answers)


def load_summeval(path: Path) -> Loaded:
    """Load SummEval: 16 systems on 100 CNN/DM articles, rated by experts (1,600 summaries).

    Hallucinated if the mean expert `consistency` (1 to 5), the gold score, is below 5.
    """
    hint = "SummEval joined with its articles: doc_id, system, source, summary, consistency"
    return collect(read_jsonl(locate(path, "summeval.jsonl", hint=hint)), _summeval)


def _summeval(_: int, record: dict[str, Any]) -> Iterable[Row]:
    consistency = float(record["consistency"])
    yield Row(
        dataset="summeval",
        id=f"{record['doc_id']}/{record['system']}",
        source=record["source"],
        response=record["summary"],
        hallucinated=consistency < 5,
        score=consistency,
        document=str(record["doc_id"]),
    )


def load_dialsummeval(path: Path) -> Loaded:
    """Load DialSummEval: 14 systems on 100 SAMSum dialogues, rated by three people (1,400 rows).

    Hallucinated if the mean `consistency` (1 to 5) is below 4. This cut is noisy; the correlation
    with the mean (the gold score) is more reliable. The release writes turns as "| Ann: ... |
    Bob: ..."; each | becomes a line end.
    """
    hint = "the DialSummEval release, github.com/kite99520/DialSummEval"
    return collect(read_jsonl(locate(path, "human_judgment.jsonl", hint=hint)), _dialsummeval)


def _dialsummeval(_: int, record: dict[str, Any]) -> Iterable[Row]:
    consistency = fmean([float(item["consistency"]) for item in record["annotations"]])
    yield Row(
        dataset="dialsummeval",
        id=f"{record['id']}/{record['model_id']}",
        source=re.sub(r"\s*\|\s+(?=[^|:]{1,40}:)", "\n", record["dialogue"]).strip(),
        response=record["summary"],
        hallucinated=consistency < 4,
        score=consistency,
        document=str(record["id"]),
    )


def load_faithbench(path: Path) -> Loaded:
    """Load FaithBench: summaries of ten language models where detectors disagree (800 rows).

    Hallucinated if the worst label contains "Unwanted"; "Benign" and "Questionable" are faithful.
    """
    hint = "the FaithBench release, github.com/vectara/FaithBench"
    return collect(read_csv(locate(path, "FaithBench.csv", hint=hint)), _faithbench)


def _faithbench(position: int, record: dict[str, str]) -> Iterable[Row]:
    worst = record["worst-label"]
    yield Row(
        dataset="faithbench",
        id=str(position),
        source=record["source"],
        response=record["summary"].strip(),
        hallucinated="Unwanted" in worst,
        kind=None if worst == "Consistent" else worst.lower(),
    )


def load_storysumm(path: Path) -> Loaded:
    """Load StorySumm: summaries of unpublished short stories (96 rows). Label 0 = hallucinated.

    `errors` holds 1 for a faithful sentence and 0 for a wrong one. Sentence labels are kept only
    where every sentence has one and they agree with the summary's own label.
    """
    hint = "the StorySumm release, github.com/melaniesubbiah/storysumm"
    records = read_json(locate(path, "storysumm_fixed.json", "storysumm.json", hint=hint))
    return collect(records.items(), _storysumm)


def _storysumm(_: int, item: tuple[str, dict[str, Any]]) -> Iterable[Row]:
    key, record = item
    hallucinated = int(record["label"]) == 0
    summary = [str(sentence) for sentence in record["summary"]]
    wrong = [int(mark) == 0 for mark in record.get("errors", ())]
    placed = len(wrong) == len(summary) and any(wrong) == hallucinated
    yield Row(
        dataset="storysumm",
        id=key,
        source=record["story"],
        response=" ".join(summary),
        hallucinated=hallucinated,
        sentences=tuple(zip(summary, wrong, strict=True)) if placed else (),
        kind=record.get("difficulty") if hallucinated else None,
        document=str(record["story-id"]),
    )


def load_xsumfaith(path: Path) -> Loaded:
    """Load XSumFaith: single-sentence BBC summaries with hallucinated spans (2,500 summaries).

    Annotations are joined with the articles by `bbcid`. A summary is hallucinated if a majority
    of its workers marked an intrinsic or an extrinsic span; `kind` is the more frequent type.
    """
    hint = (
        "github.com/google-research-datasets/xsum_hallucination_annotations, and the XSum "
        f"articles as {XSUM_ARTICLES}, one JSON object of bbcid to article"
    )
    marked = "hallucination_annotations_xsum_summaries.csv"
    articles = read_json(locate(folder(path), XSUM_ARTICLES, hint=hint))
    groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for record in read_csv(locate(folder(path), marked, hint=hint)):
        groups[record.get("bbcid", ""), record.get("system", "")].append(record)

    def rows(_: int, group: tuple[tuple[str, str], list[dict[str, str]]]) -> Iterable[Row]:
        (bbcid, system), records = group
        if bbcid not in articles:
            raise Unusable(f"no article with bbcid {bbcid}")
        hallucinated, kind = _majority_of_workers(records)
        yield Row(
            dataset="xsumfaith",
            id=f"{bbcid}/{system}",
            source=articles[bbcid],
            response=records[0]["summary"],
            hallucinated=hallucinated,
            kind=kind,
            document=bbcid,
        )

    return collect(groups.items(), rows)


def _majority_of_workers(records: Sequence[dict[str, str]]) -> tuple[bool, str | None]:
    marks: dict[str, set[str]] = defaultdict(set)
    for record in records:
        marks[record["worker_id"]].add(record["hallucination_type"])
    intrinsic, extrinsic = (sum(kind in types for types in marks.values()) for kind in XSUM_TYPES)
    flagged = sum(not types.isdisjoint(XSUM_TYPES) for types in marks.values())
    if 2 * flagged <= len(marks):
        return False, None
    return True, "both" if intrinsic == extrinsic else XSUM_TYPES[extrinsic > intrinsic]


def load_defacto(path: Path, split: str = "test") -> Loaded:
    """Load DeFacto: model summaries of XSum articles with human error labels and corrections.

    Report the test split; `train` and `val` may be trained on.
    """

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        yield Row(
            dataset=f"defacto-{split}",
            id=f"{split}/{record['doc_id']}",
            source=record["article"],
            response=record["candidate"],
            hallucinated=bool(record["has_error"]),
            kind=_defacto_kind(record),
            document=f"{split}/{record['doc_id']}",
        )

    return collect(_defacto(path, split), rows)


def defacto_corrections(path: Path, split: str) -> Loaded:
    """Load the human corrections of DeFacto's erroneous summaries as faithful rows."""

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        corrected = record["feedback"]["summary"]
        if record["has_error"] and corrected.strip():
            yield Row(
                dataset=f"defacto-{split}-corrected",
                id=f"{split}/{record['doc_id']}/corrected",
                source=record["article"],
                response=corrected,
                hallucinated=False,
                document=f"{split}/{record['doc_id']}",
            )

    return collect(_defacto(path, split), rows)


def _defacto(path: Path, split: str) -> list[Any]:
    hint = "the DeFacto release, github.com/microsoft/DeFacto, data/"
    return read_jsonl(locate(folder(path), f"{split}.jsonl", hint=hint))


def _defacto_kind(record: dict[str, Any]) -> str | None:
    if not record["has_error"]:
        return None
    if record["intrinsic_error"] and record["extrinsic_error"]:
        return "both"
    return "intrinsic" if record["intrinsic_error"] else "extrinsic"


def load_tofueval(path: Path, corpora: Sequence[str] = TOFUEVAL_CORPORA) -> Loaded:
    """Load TofuEval: topic-focused summaries of MediaSum and MeetingBank dialogues (1,777 rows).

    The release holds no dialogues. Put them into `transcripts/` next to the annotation files, or
    name their folder in HALLDETECT_TRANSCRIPTS. One of these formats is read:

    - `{mediasum,meetingbank}_{dev,test}_doc.csv` as TofuEval's own recipe writes them
      (`doc_id` or `meeting_id`, `source`);
    - `news_dialogue.json`, the MediaSum release (large: the CSV files need less memory);
    - `<document id>.txt`.

    A summary is all rows of one (document, topic, model), in sentence order; it is hallucinated
    if any sentence is labelled "no". The publishers forbid training on it.
    """
    transcripts = _transcripts(path)
    parts = [(corpus, split) for corpus in corpora for split in TOFUEVAL_SPLITS]
    return join(_tofueval(path, corpus, split, transcripts) for corpus, split in parts)


def _tofueval(path: Path, corpus: str, split: str, transcripts: dict[str, str]) -> Loaded:
    hint = "the TofuEval release, github.com/amazon-science/tofueval, factual_consistency/"
    groups: dict[Key, list[dict[str, str]]] = defaultdict(list)
    for record in read_csv(locate(folder(path), f"{corpus}_factual_eval_{split}.csv", hint=hint)):
        keys = (record.get("doc_id", ""), record.get("topic", ""), record.get("model_name", ""))
        groups[keys].append(record)

    def rows(_: int, group: tuple[Key, list[dict[str, str]]]) -> Iterable[Row]:
        (document, topic, model), records = group
        if document not in transcripts:
            raise Unusable(f"no transcript of {document}")
        ordered = sorted(records, key=lambda record: int(record["sent_idx"]))
        sentences = tuple((item["summ_sent"], item["sent_label"] == "no") for item in ordered)
        types = {kind.strip() for item in ordered for kind in item["type"].split(",")} - {""}
        yield Row(
            dataset=f"tofueval-{corpus}",
            id=f"{document}/{topic}/{model}",
            source=transcripts[document],
            response=" ".join(text for text, _ in sentences),
            hallucinated=any(wrong for _, wrong in sentences),
            sentences=sentences,
            kind="+".join(sorted(types)).lower() or None,
            document=document,
        )

    return collect(groups.items(), rows)


def _transcripts(path: Path) -> dict[str, str]:
    """Return TofuEval's dialogues by document id."""
    named = os.environ.get(TRANSCRIPTS)
    place = Path(named) if named else folder(path) / "transcripts"
    if not place.is_dir():
        raise InputError(
            f"TofuEval comes without its dialogues and {place} is not a folder: put the MediaSum "
            f"and MeetingBank transcripts there as <document id>.txt or *_doc.csv, or set "
            f"{TRANSCRIPTS}"
        )
    texts = {file.stem: file.read_text(encoding="utf-8") for file in sorted(place.glob("*.txt"))}
    for file in sorted(place.glob("*_doc.csv")):
        for record in read_csv(file):
            key = record.get("doc_id") or record.get("meeting_id")
            if key and record.get("source"):
                texts[key] = record["source"]
    if (place / "news_dialogue.json").is_file():
        for dialogue in read_json(place / "news_dialogue.json"):
            turns = zip(dialogue["speaker"], dialogue["utt"], strict=False)
            texts.setdefault(dialogue["id"], "\n".join(f"{who}: {said}" for who, said in turns))
    return texts
