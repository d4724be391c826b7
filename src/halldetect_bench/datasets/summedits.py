"""SummEdits: edited summaries in eight domains (4,681 rows, 162 documents). Label 0 = hallucinated.

Each domain is also a dataset of its own (`summedits-news`, ...); `kind` joins the edit types.

Sentence labels follow from the edits: the seed summary is consistent, so a sentence that is
also in the seed is supported; when exactly one sentence of an inconsistent summary is new,
that one holds the error. With several new sentences the error cannot be placed, and the row
carries no sentence labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect, digest, join
from halldetect_bench.datasets.readers import folder, locate, read_table_file

HINT = "the SummEdits release, github.com/salesforce/factualNLG, data/summedits"
DOMAINS = (
    "ectsum",
    "news",
    "podcast",
    "qmsumm",
    "sales_call",
    "sales_email",
    "samsum",
    "scitldr",
)
SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])")


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return join(load_domain(path, domain) for domain in DOMAINS)


def loader(domain: str) -> Callable[[Path], Loaded]:
    """A loader of one domain only.

    domain: one of DOMAINS.
    """
    return lambda path: load_domain(path, domain)


def load_domain(path: Path, domain: str) -> Loaded:
    """The rows of one domain.

    path: the folder of the release. domain: one of DOMAINS.
    """
    records = read_table_file(locate(folder(path), f"summedits_{domain}.json", hint=HINT))

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        hallucinated = int(record["label"]) == 0
        yield Row(
            dataset=f"summedits-{domain}",
            id=f"{domain}/{record['id']}",
            source=record["doc"],
            response=record["summary"],
            hallucinated=hallucinated,
            sentences=_sentences(record, hallucinated),
            kind="+".join(sorted(record.get("edit_types", ()))) or None if hallucinated else None,
            document=f"{domain}/{digest(record['doc'])}",
        )

    return collect(records, rows)


def _sentences(record: dict[str, Any], hallucinated: bool) -> tuple[tuple[str, bool], ...]:
    sentences = SENTENCE_END.split(record["summary"].strip())
    if not hallucinated:
        return tuple((sentence, False) for sentence in sentences)
    seed = set(SENTENCE_END.split(record.get("original_summary", "").strip()))
    new = [sentence not in seed for sentence in sentences]
    return tuple(zip(sentences, new, strict=True)) if sum(new) == 1 else ()
