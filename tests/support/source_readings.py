"""How sources are read."""

from __future__ import annotations

from halldetect.reading.sources import read_source


def read_sentences(text: str) -> list[str]:
    """The sentences of a source in the words in which the verifier gets them."""
    document = read_source(text)
    readings = document.readings or (None,) * len(document.sentences)
    return [
        reading or span.cut(text)
        for span, reading in zip(document.sentences, readings, strict=True)
    ]
