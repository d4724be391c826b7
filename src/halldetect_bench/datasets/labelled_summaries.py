"""Summaries that people labelled: QAGS, SummEval, XSumFaith, FaithBench, DeFacto, StorySumm and
DialSummEval.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect
from halldetect_bench.datasets.readers import from_file, locate, read_csv, read_json

XSUM_ARTICLES = "xsum_docs_joined.json"
XSUM_TYPES = ("intrinsic", "extrinsic")
DEFACTO_SPLITS = ("train", "val", "test")


@from_file("mturk_cnndm.jsonl", hint="the QAGS release, github.com/W4ngatang/qags, data/")
def load_qags(position: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load QAGS-CNN/DM: summary sentences judged by three crowd workers each (235 summaries).

    A sentence is consistent if a strict majority of its answers is "yes". A summary is
    hallucinated if any sentence is not.
    """
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


@from_file(
    "summeval.jsonl",
    hint="SummEval joined with its articles: doc_id, system, source, summary, consistency",
)
def load_summeval(_: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load SummEval: 16 systems on 100 CNN/DM articles, rated by experts (1,600 summaries).

    Hallucinated if the mean expert `consistency` (1 to 5), the gold score, is below 5.
    """
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


@from_file(
    "human_judgment.jsonl",
    hint="the DialSummEval release, github.com/kite99520/DialSummEval",
)
def load_dialsummeval(_: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load DialSummEval: 14 systems on 100 SAMSum dialogues, rated by three people (1,400 rows).

    Hallucinated if the mean `consistency` (1 to 5) is below 4. This cut is noisy; the correlation
    with the mean (the gold score) is more reliable. The release writes turns as "| Ann: ... |
    Bob: ..."; each | becomes a line end.
    """
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


@from_file("FaithBench.csv", hint="the FaithBench release, github.com/vectara/FaithBench")
def load_faithbench(position: int, record: dict[str, str]) -> Iterable[Row]:
    """Load FaithBench: summaries of ten language models where detectors disagree (800 rows).

    Hallucinated if the worst label contains "Unwanted"; "Benign" and "Questionable" are faithful.
    """
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
    articles = read_json(locate(path, XSUM_ARTICLES, hint=hint))
    groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for record in read_csv(locate(path, marked, hint=hint)):
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


@from_file("{}.jsonl", hint="the DeFacto release, github.com/microsoft/DeFacto, data/")
def load_defacto(split: str, _: int, record: dict[str, Any]) -> Iterable[Row]:
    """Load DeFacto: model summaries of XSum articles with human error labels and corrections.

    Report the test split; `train` and `val` may be trained on.
    """
    yield Row(
        dataset=f"defacto-{split}",
        id=f"{split}/{record['doc_id']}",
        source=record["article"],
        response=record["candidate"],
        hallucinated=bool(record["has_error"]),
        kind=_defacto_kind(record),
        document=f"{split}/{record['doc_id']}",
    )


def _defacto_kind(record: dict[str, Any]) -> str | None:
    if not record["has_error"]:
        return None
    if record["intrinsic_error"] and record["extrinsic_error"]:
        return "both"
    return "intrinsic" if record["intrinsic_error"] else "extrinsic"
