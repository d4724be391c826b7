"""MiniCheck, AlignScore, FactCG, HHEM and TrueTeacher: how they cut texts and aggregate answers.

A source too long for the model is cut at its end; the originals of MiniCheck and FactCG then cut
the end of the whole text, the claim.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import replace

from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.verification.windows import Window
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents
from halldetect_bench.methods.pairwise import (
    AlignScoreStyle,
    MiniCheckStyle,
    NliOnly,
    PairwiseMethod,
    sentence_runs,
)

ALIGNSCORE_WORDS, FACTCG_WORDS = 350, 550


def word_counts(texts: Sequence[str]) -> list[int]:
    """Return the number of words of each text, as white space separates them."""
    return [len(text.split()) for text in texts]


def words_and_marks(texts: Sequence[str]) -> list[int]:
    """Return the number of words and punctuation marks of each text, about that of NLTK."""
    marks = (sum(letter in string.punctuation for letter in text) for text in texts)
    return [words + more for words, more in zip(word_counts(texts), marks, strict=True)]


class _Published(PairwiseMethod):
    """A detector with its own weights; several documents of a source are joined."""

    def __init__(self, verifier: Verifier, name: str) -> None:
        super().__init__(verifier)
        self.name = name

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Judge the pairs of each row."""
        joined_rows = [replace(row, source="\n\n".join(documents(row))) for row in rows]
        return super().score_many(joined_rows)


class MiniCheck(_Published, MiniCheckStyle):
    """MiniCheck on an encoder: chunks of 400 tokens, the best chunk, the worst sentence.

    Its authors judge a claim as it is given and leave the aggregation to the user. The worst
    sentence is what they do with their 7B model.
    """

    chunk_tokens = 400


class MiniCheckT5(MiniCheck):
    """MiniCheck on Flan-T5: as on an encoder, with chunks of 500 words."""

    chunk_tokens = 500

    def source_parts(self, source: tuple[Document, ...], room: int) -> tuple[Window, ...]:
        return sentence_runs(source, self.chunk_tokens, word_counts)


class AlignScore(_Published, AlignScoreStyle):
    """AlignScore: chunks of about 350 words, the best chunk of each sentence, their mean.

    The words of the source give the number of chunks, of which each has the same number of
    sentences.
    """

    def source_parts(self, source: tuple[Document, ...], room: int) -> tuple[Window, ...]:
        parts: list[Window] = []
        for index, document in enumerate(source):
            spans = document.sentences
            chunks = len(document.text.split()) // ALIGNSCORE_WORDS + 1
            size = max(len(spans) // chunks, 1)
            for start in range(0, len(spans), size):
                parts.append(joined(document, index, spans[start : start + size], " "))
        return tuple(parts)


class WholePair(_Published, NliOnly):
    """HHEM and TrueTeacher: the whole response against the whole source, once."""


class FactCg(_Published, NliOnly):
    """FactCG: the whole response against chunks of about 550 words and marks, the best chunk."""

    def source_parts(self, source: tuple[Document, ...], room: int) -> tuple[Window, ...]:
        runs = sentence_runs(
            source,
            FACTCG_WORDS,
            words_and_marks,
        )
        parts = ((source[run.document], run) for run in runs)
        return tuple(
            joined(whole, run.document, list(filter(run.span.overlaps, whole.sentences)), "\n")
            for whole, run in parts
        )


def joined(document: Document, index: int, spans: Sequence[Span], mark: str) -> Window:
    """Return a run of sentences as a window, with a mark between them."""
    text = mark.join(span.cut(document.text) for span in spans)
    return Window(text, index, Span(spans[0].start, spans[-1].end))
