"""Titles of sources: a document that begins with a pronoun is read with its name before it."""

from __future__ import annotations

import re
from dataclasses import replace

from halldetect.reading.document import Document
from halldetect.reading.references import begins_with_pronoun

# "Kell bridge" is a title; "notes.txt", "report.pdf, page 3", "Document 2" and "a1-b2" are none.
_TITLE = re.compile(r"(?!Document \d+$)(?!.*\.\w{2,5}\b)[^\W\d_][^\n]{2,120}")
_LETTERS = re.compile(r"[^\W\d_]{3,}")


def with_title(document: Document, name: str) -> Document:
    """The document; its first sentence is read after the title if it begins with a pronoun.

    document  as it was read
    name      of the document; one that is no title changes nothing
    """
    if not document.sentences or _TITLE.fullmatch(name) is None or not _LETTERS.search(name):
        return document
    first = document.sentences[0].cut(document.text)
    if not begins_with_pronoun(first):
        return document
    readings = document.readings or (None,) * len(document.sentences)
    return replace(document, readings=(f"{name}: {readings[0] or first}", *readings[1:]))
