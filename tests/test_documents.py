"""Documents of retrievers: their texts, names and metadata, from the call to every view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy
import pytest

from halldetect import Detector, Pair, Report
from halldetect.batch.cache import ReportCache
from halldetect.errors import InputError
from halldetect.inputs import Source, clean_pair
from halldetect.integrations.checker import documents
from halldetect.render import html, markdown, short
from tests.support.fakes import OverlapVerifier

TEXT = "The kiosk at the lake opens in April. It sells maps and tea."
WRONG = "The kiosk at the lake opens in June."
KNOWN = {"title": "Lake guide", "page": 3, "url": "https://lake.example/guide"}


@dataclass
class PageContent:
    """Like a document of LangChain."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = "5e1b"


@dataclass
class Content:
    """Like a document of Haystack."""

    content: str | None
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    id: str = "5e1b"


class Node:
    """Like a node with score of LlamaIndex."""

    def __init__(self, text: str, metadata: dict[str, Any], score: Any) -> None:
        self.text, self.metadata, self.score = text, metadata, score


@pytest.mark.parametrize(
    ("document", "metadata", "name"),
    [
        (PageContent(TEXT, KNOWN), KNOWN, "Lake guide, page 3"),
        (Content(TEXT, {"name": "guide"}, 0.5), {"score": 0.5, "name": "guide"}, "guide"),
        (Node(TEXT, KNOWN, numpy.float32(0.25)), {"score": 0.25, **KNOWN}, "Lake guide, page 3"),
        ({"text": TEXT, "metadata": KNOWN}, KNOWN, "Lake guide, page 3"),
        ({"id": "a.md", "text": TEXT, "metadata": KNOWN}, KNOWN, "a.md"),
        ({"page_content": TEXT, "metadata": {"source": "a.pdf", "page": 0, "page_label": "i"}},
         {"source": "a.pdf", "page": 0, "page_label": "i"}, "a.pdf, page i"),
        ({"content": TEXT, "score": 0.87, "embedding": [0.1]}, {"score": 0.87}, None),
        ({"text": TEXT, "meta": {"new": True, "bad": numpy.nan, "at": None}}, {"new": True}, None),
        ({"text": TEXT, "url": "a\x00b"}, {"url": "a\ufffdb"}, "a\ufffdb"),
        (PageContent(TEXT), {}, None),
        (TEXT, {}, None),
    ],
)  # fmt: skip
def test_text_name_and_metadata_of_a_document(
    document: Any, metadata: dict[str, Any], name: str | None
) -> None:
    for source in (document, [document]):
        pair = clean_pair(Pair(source, WRONG))
        assert pair.documents == (TEXT,)
        assert pair.document_metadata == ((metadata,) if metadata else ())
        assert pair.document_names == ((name,) if name else ())
        (kept,) = pair.document_metadata or ({},)
        assert {type(value) for value in kept.values()} <= {str, int, float, bool}
        adapted = clean_pair(Pair(documents(source), WRONG))
        assert adapted == pair


def test_a_mapping_without_text_is_a_record() -> None:
    pair = clean_pair(Pair([{"order": 4711, "status": "shipped"}, TEXT], WRONG))
    assert pair.documents == ('{"order": 4711, "status": "shipped"}', TEXT)
    assert not pair.document_names
    assert not pair.document_metadata


@pytest.mark.parametrize("document", [Content(None), object(), {"text": None}, {"id": "a"}])
def test_a_document_without_text_is_refused(document: Any) -> None:
    with pytest.raises(InputError):
        clean_pair(Pair([document], WRONG))


def report_with_metadata() -> Report:
    found: Source = [PageContent("Bicycles travel free."), Node(TEXT, KNOWN, 0.87)]
    return Detector(OverlapVerifier()).check(found, "The kiosk at the lake never opens on Fridays.")


def test_every_view_shows_where_the_passage_is_from() -> None:
    report = report_with_metadata()
    (claim,) = report.claims
    assert claim.proof is not None
    assert report.document_metadata[claim.proof.document]["url"] == KNOWN["url"]
    assert report.document_name(claim.proof.document) == "Lake guide, page 3"
    assert "Lake guide, page 3" in short(report)
    for view in (markdown, html):
        text = view(report)
        assert "Lake guide, page 3" in text
        assert "lake.example/guide" in text
        assert "score 0.87" in text


def test_metadata_survives_json_and_cache() -> None:
    report = report_with_metadata()
    assert Report.from_json(report.to_json()) == report
    data = report.to_dict()
    data["document_metadata"] = data["document_metadata"][1:]
    with pytest.raises(InputError, match="document_metadata needs one entry per document"):
        Report.from_dict(data)
    cache = ReportCache(None, {})
    pair = Pair([{"text": TEXT, "metadata": KNOWN}], WRONG)
    bare = Pair([{"id": "Lake guide, page 3", "text": TEXT}], WRONG)
    made = Detector(OverlapVerifier()).check_many([pair, bare])
    keys = [cache.key(pair), cache.key(bare)]
    assert keys[0] != keys[1]
    cache.put(dict(zip(keys, made, strict=True)))
    found = cache.get(dict(zip(keys, [pair, bare], strict=True)))
    assert [found[key].document_metadata for key in keys] == [(KNOWN,), ()]
    cache.close()


def test_metadata_of_documents_reaches_a_conversation() -> None:
    messages = [
        {"role": "user", "content": "When does the kiosk at the lake open?"},
        {"role": "assistant", "content": WRONG},
    ]
    found = Detector(OverlapVerifier()).check_conversation(
        messages, documents=[PageContent(TEXT, KNOWN)]
    )
    assert found.turns[0].report.document_metadata[0] == KNOWN
