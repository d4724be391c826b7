"""XSumFaith: single-sentence BBC summaries with hallucinated spans (2,500 summaries).

Annotations are joined with the articles on `bbcid`. A summary is hallucinated when a majority
of its workers marked an intrinsic or an extrinsic span; `kind` is the type more workers marked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect
from halldetect_bench.datasets.readers import folder, locate, read_csv, read_json

ANNOTATIONS = "hallucination_annotations_xsum_summaries.csv"
DOCUMENTS = "xsum_docs_joined.json"
HINT = (
    "github.com/google-research-datasets/xsum_hallucination_annotations, and the XSum articles "
    f"as {DOCUMENTS}, one JSON object of bbcid to article"
)
TYPES = ("intrinsic", "extrinsic")


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    annotations = read_csv(locate(folder(path), ANNOTATIONS, hint=HINT))
    documents = read_json(locate(folder(path), DOCUMENTS, hint=HINT))
    groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for record in annotations:
        groups[record.get("bbcid", ""), record.get("system", "")].append(record)

    def rows(_: int, group: tuple[tuple[str, str], list[dict[str, str]]]) -> Iterable[Row]:
        yield _row(group[0], group[1], documents)

    return collect(groups.items(), rows)


def _row(key: tuple[str, str], records: list[dict[str, str]], documents: dict[str, Any]) -> Row:
    bbcid, system = key
    if bbcid not in documents:
        raise Unusable(f"no article with bbcid {bbcid}")
    marks: dict[str, set[str]] = defaultdict(set)
    for record in records:
        marks[record["worker_id"]].add(record["hallucination_type"])
    intrinsic, extrinsic = (sum(kind in types for types in marks.values()) for kind in TYPES)
    flagged = sum(not types.isdisjoint(TYPES) for types in marks.values())
    hallucinated = 2 * flagged > len(marks)
    kind = None
    if hallucinated:
        kind = "both" if intrinsic == extrinsic else TYPES[extrinsic > intrinsic]
    return Row(
        dataset="xsumfaith",
        id=f"{bbcid}/{system}",
        source=documents[bbcid],
        response=records[0]["summary"],
        hallucinated=hallucinated,
        kind=kind,
        document=bbcid,
    )
