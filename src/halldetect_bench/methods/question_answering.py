"""`qafacteval`: questions that the response answers are asked about the source.

It follows QAFactEval's idea with our own prompts and one language model in all roles. The model
writes questions about each sentence of the response, whose answers are words of the sentence, and
answers them from the source. The less the two answers overlap, the higher the score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from halldetect.paper import prompt
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, has_words
from halldetect_bench.methods.prompted import Asking, PromptedMethod, source_text, user_turn
from halldetect_bench.models.llm import Question

_WORD = re.compile(r"\w+")
_NUMBERING = re.compile(r"^\W*(?:\d+[.):]\s*)?")
_SMALL_WORDS = frozenset("a an the of to in on at and for by".split())


class QaFactEval(PromptedMethod):
    """Questions, answers and their overlap; a question without an answer counts as 0."""

    name = "qafacteval"
    QUESTIONS = 3
    ASK = (
        "Below is a sentence. Write {count} short questions that some words of the sentence "
        "answer: who, what, when, where or how many. Give each question a line of its own, then "
        "a bar and the words of the sentence that answer it, in this form:\n"
        "question? | words of the sentence\n\nSENTENCE\n{sentence}"
    )
    ANSWER = (
        "Answer the question from the source alone, in as few words as you can. If the source "
        "does not say, answer: not stated.\n\nSOURCE\n{source}\n\nQUESTION\n{question}"
    )
    UNANSWERED = "not stated"
    _QUESTION_TOKENS = 112
    _ANSWER_TOKENS = 24

    def prompts(self) -> tuple[str, ...]:
        limits = f"{self.QUESTIONS}, {self._QUESTION_TOKENS}, {self._ANSWER_TOKENS}"
        return self.ASK, self.ANSWER, limits

    def score_row(self, row: Row) -> Asking[Scored]:
        lines = [line for line in prompt.prepare(row.response).splitlines() if has_words(line)]
        asked = yield [
            Question(
                [user_turn(self.ASK.format(count=self.QUESTIONS, sentence=line))],
                self._QUESTION_TOKENS,
            )
            for line in lines
        ]
        found = [
            (line, question, words)
            for line, reply in zip(lines, asked, strict=True)
            for question, words in questions_of(reply.text, line)[: self.QUESTIONS]
        ]
        if not found:
            return Scored(None, "the model wrote no question that the response answers")
        source = source_text(row)
        answers = yield [
            Question(
                [user_turn(self.ANSWER.format(source=source, question=question))],
                self._ANSWER_TOKENS,
                stop="\n",
            )
            for _, question, _ in found
        ]
        shares = [
            0.0 if self.UNANSWERED in reply.text.lower() else overlap(words, reply.text)
            for (_, _, words), reply in zip(found, answers, strict=True)
        ]
        claims = []
        for line in lines:
            mine = [share for (of, _, _), share in zip(found, shares, strict=True) if of == line]
            claims.append((line, 1 - sum(mine) / len(mine) if mine else None))
        return Scored(1 - sum(shares) / len(shares), None, tuple(claims))


def questions_of(text: str, sentence: str) -> list[tuple[str, str]]:
    """Return the questions in a model's answer with their words, which must be in the sentence."""
    found = []
    inside = f" {' '.join(_words(sentence))} "
    for line in text.splitlines():
        question, bar, answer = line.partition("|")
        question, words = _NUMBERING.sub("", question).strip(), _words(answer)
        if bar and question and words and f" {' '.join(words)} " in inside:
            found.append((question, answer.strip()))
    return found


def overlap(one: str, other: str) -> float:
    """Return the F1 of the words of two answers, without stop words."""
    first, second = _content(one), _content(other)
    common = sum((Counter(first) & Counter(second)).values())
    return 2 * common / (len(first) + len(second)) if common else 0.0


def _content(text: str) -> Sequence[str]:
    words = _words(text)
    return [word for word in words if word not in _SMALL_WORDS] or words


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
