"""What may stand in the place of a sentence that fails: corrections, parts, another wording.

All of them are proposals, which the verifier has to support. They come from the sentences of the
source that are closest to the one that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halldetect.claims.guard.sentence_parts import sentence_parts
from halldetect.errors import HallDetectError
from halldetect.reading.overlap import WordIndex, content_keys, shared_part
from halldetect.reading.response import read_units
from halldetect.reading.sentences import read_document
from halldetect.reading.words import normalize
from halldetect.repair.names import WordUsage
from halldetect.repair.outcome import Method
from halldetect.repair.replacements import corrections
from halldetect.repair.revision import split_marks
from halldetect.repair.rewriters import MAX_EVIDENCE, Rewriter, first_sentence
from halldetect.repair.shortening import shortened

# Sentences of the source that corrections are taken from, and that a language model gets.
CLOSEST = 3
SHOWN = 5
# A proposal that is longer than the sentence by more than this factor says something else.
MAX_GROWTH = 1.6
# The share of its content words that a changed sentence keeps; with less it is another one.
MIN_KEPT = {Method.REPLACE: 0.5, Method.REWRITE: 0.4, Method.SHORTEN: 0.0}


class Proposals:
    """Proposes changes of sentences from the sentences of a source.

    response   the text that is repaired
    documents  the texts of the source
    rewriter   writes sentences again; None: no language model is asked
    notice     gets one-line messages for a person, such as that the rewriter failed
    """

    def __init__(
        self,
        response: str,
        documents: Sequence[str],
        rewriter: Rewriter | None,
        notice: Callable[[str], None] | None,
    ) -> None:
        self._rewriter = rewriter
        self._notice = notice
        self._usage = WordUsage([response, *documents])
        self._documents = [read_document(text) for text in documents]
        self._index = WordIndex(self._documents)
        self._places = [
            (number, span)
            for number, document in enumerate(self._documents)
            for span in document.sentences
        ]

    def of(self, step: Method, sentence: str, *, facts_only: bool = False) -> list[str]:
        """The proposals of one step for a sentence, most likely ones first.

        step        how to change it
        sentence    of the response
        facts_only  replace only numbers, dates, names and negations
        """
        mark, text, citations = split_marks(sentence)
        if step is Method.REPLACE:
            found = self.corrections(text, facts_only=facts_only)
        elif step is Method.SHORTEN:
            parts = sorted((part for part, _ in sentence_parts(text)), key=len, reverse=True)
            found = [_ended(part[:1].upper() + part[1:], text) for part in parts]
            found += shortened(text, self.around(text))
        else:
            found = self._rewritten(text)
        return [mark + item + citations for item in found]

    def further(self, step: Method, sentence: str, *, facts_only: bool = False) -> list[str]:
        """The proposals of a step for a sentence that this step has changed already.

        step        how to change it
        sentence    as it is proposed
        facts_only  replace only numbers, dates, names and negations
        """
        mark, text, citations = split_marks(sentence)
        if step is Method.REPLACE:
            found = self.corrections(text, facts_only=facts_only)
        elif step is Method.SHORTEN:
            found = shortened(text, self.around(text))
        else:
            return []
        return [mark + item + citations for item in found]

    def corrections(self, sentence: str, *, facts_only: bool = False) -> list[str]:
        """Corrections from the closest sentences, closest first."""
        found: list[str] = []
        for at in self._ranked(sentence)[:CLOSEST]:
            evidence = self._text(at)
            found += corrections(sentence, evidence, facts_only=facts_only, usage=self._usage)
        return list(dict.fromkeys(found))

    def around(self, sentence: str) -> str:
        """The sentences of the source that are closest to one, in the order of the source."""
        chosen: list[int] = []
        size = 0
        for at in self._ranked(sentence)[:SHOWN]:
            size += len(self._text(at)) + 1
            if size > MAX_EVIDENCE and chosen:
                break
            chosen.append(at)
        return "\n".join(self._text(at) for at in sorted(chosen))

    def _ranked(self, sentence: str) -> list[int]:
        shares = self._index.shares(sentence, self._places)
        return sorted(range(len(shares)), key=lambda at: -shares[at])

    def _text(self, at: int) -> str:
        number, span = self._places[at]
        return span.cut(self._documents[number].text)

    def _rewritten(self, sentence: str) -> list[str]:
        """What the language model writes; a model that fails proposes nothing."""
        assert self._rewriter is not None
        try:
            answer = self._rewriter.rewrite(sentence, self.around(sentence))
        except HallDetectError as error:
            problem = str(error)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        else:
            if not isinstance(answer, str):
                problem = "its answer is not text"
            else:
                text = first_sentence(answer)
                return [_ended(text, sentence)] if text else []
        if self._notice is not None:
            self._notice(f"the rewriter failed: {' '.join(problem.split())[:200]}")
        return []


def is_change_of(text: str, before: str, step: Method) -> bool:
    """Whether a proposal is one asserting sentence on one line that still is about the same.

    text    the proposal
    before  the sentence of the response
    step    how it was changed
    """
    if len(text) > MAX_GROWTH * len(before) + 40 or "\n" in text.strip():
        return False
    if shared_part(content_keys(before), content_keys(text)) < MIN_KEPT[step]:
        return False
    units = read_units(text)
    return len(units) == 1 and units[0].asserts


def sentence_key(text: str) -> str:
    """What two sentences that say the same in the same words have in common."""
    return " ".join(normalize(split_marks(text)[1]).split()).rstrip(".!")


def _ended(part: str, sentence: str) -> str:
    """A part as a sentence: a capital, and the full stop of the sentence it replaces."""
    part = part.strip()
    if not part:
        return part
    if sentence[:1].isupper():
        part = part[0].upper() + part[1:]
    ending = sentence.rstrip()[-1:]
    return part if part[-1] in ".!?…" or ending not in ".!" else part + ending
