"""Rows worked on at the same time: what is asked together, and what each gets back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from halldetect.errors import ModelError
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.embedding import SelfCheck
from halldetect_bench.methods.prompted import AcuEval, FactScore, LlmCot, LongContext
from halldetect_bench.models.embedders import Embedding
from halldetect_bench.models.llm import Llm, Messages, Question, Reply, TooLong
from halldetect_bench.models.question_batches import run_together
from tests.support.bench_fakes import LetterEmbedder, ScriptedLlm, only_bob_is_wrong

PROMPTED = {method.name: method for method in (LlmCot, LongContext, FactScore, AcuEval)}

ROWS = [
    Row("d", "1", "Ann won the race. Bob lost the game.", "Ann won. Bob won.", True),
    Row("d", "2", "Ann won the race.", "Ann won.", False),
    Row("d", "3", "Cy slept.", "...", False),
    Row("d", "4", "Ann won the race. " * 400, "Bob won.", True),
]


class Batched(ScriptedLlm):
    """The scripted model, asked in lists; keeps their sizes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(only_bob_is_wrong, **options)
        self.sizes: list[int] = []

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        self.sizes.append(len(questions))
        return [self._answered(one) for one in questions]

    def _answered(self, one: Question) -> Reply | TooLong:
        try:
            return self.ask(
                one.messages,
                max_tokens=one.max_tokens,
                temperature=one.temperature,
                seed=one.seed,
                schema=one.schema,
                stop=one.stop,
            )
        except TooLong as error:
            return error


@pytest.mark.parametrize("name", [*PROMPTED, "selfcheck"])
def test_together_is_as_one_by_one(name: str) -> None:
    def method(llm: Llm) -> Any:
        return SelfCheck(llm, LetterEmbedder()) if name == "selfcheck" else PROMPTED[name](llm)

    alone = method(ScriptedLlm(only_bob_is_wrong, context=300)).score_many(ROWS)
    batched = Batched(context=300)
    found = method(batched).score_many(ROWS)
    for one, other in zip(alone, found, strict=True):
        assert (one.score, one.reason, one.claims) == (other.score, other.reason, other.claims)
        assert one.cost.generative_passes == other.cost.generative_passes
        assert one.cost.extractor_tokens_out == other.cost.extractor_tokens_out
    assert found[3].score is None
    assert "do not fit" in str(found[3].reason)
    # The second question of one row goes out with the second one of the others.
    assert max(batched.sizes) > 1
    assert len(batched.sizes) <= 3


def test_what_is_asked_together_does_not_depend_on_who_is_quick() -> None:
    def work(item: int, llm: Llm) -> str:
        time.sleep(0.02 * (item % 3))
        said = [str(item)]
        for turn in range(item % 4):
            told = llm.ask([{"role": "user", "content": f"{item}/{turn}"}], max_tokens=1)
            said.append(told.text)
        return " ".join(said)

    class Echo(Batched):
        def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
            texts = [one.messages[-1]["content"] for one in questions]
            self.groups.append(texts)
            return [Reply(text, 1, 1) for text in texts]

        groups: list[list[str]]

    echo = Echo()
    echo.groups = []
    assert run_together(echo, range(6), work)[:4] == ["0", "1 1/0", "2 2/0 2/1", "3 3/0 3/1 3/2"]
    assert echo.groups == [["1/0", "2/0", "3/0", "5/0"], ["2/1", "3/1"], ["3/2"]]
    assert run_together(echo, [], work) == []


def test_a_model_that_fails_fails_for_all_who_asked() -> None:
    class Broken(Batched):
        def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
            raise ModelError("out of memory")

    with pytest.raises(ModelError, match="out of memory"):
        PROMPTED["acueval"](Broken()).score_many(ROWS)


class Vectors(LetterEmbedder):
    """Counts how often it is called."""

    calls = 0

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self.calls += 1
        return super().embed(texts)


def test_all_texts_of_all_rows_are_embedded_in_one_go() -> None:
    vectors = Vectors()
    SelfCheck(Batched(), vectors).score_many(ROWS[:2])
    assert vectors.calls == 1


def test_messages_reach_the_model_as_they_are() -> None:
    seen: list[Mapping[str, str]] = []

    def work(messages: Messages, llm: Llm) -> Reply:
        return llm.ask(messages, max_tokens=3, temperature=0.5, seed=7, stop="x")

    class Keeping(Batched):
        def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
            (one,) = questions
            seen.extend(one.messages)
            assert (one.max_tokens, one.temperature, one.seed, one.stop) == (3, 0.5, 7, "x")
            return [TooLong("no room")]

    with pytest.raises(TooLong, match="no room"):
        run_together(Keeping(), [[{"role": "user", "content": "hi"}]], work)
    assert seen == [{"role": "user", "content": "hi"}]
