"""What the tests of the evaluation share: a scripted model, an embedder, a method, results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from halldetect.report import Cost
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored
from halldetect_bench.models.embedders import Embedding
from halldetect_bench.models.llm import Question, Reply, TooLong
from halldetect_bench.predictions import Header, Prediction, Results

DOOR_ROWS = [
    Row(
        "d", f"r{n}", f"The plant has {n} doors.", f"It has {n} doors.", n % 2 == 0, document=str(n)
    )
    for n in range(40)
]
COST = {
    "generative_passes": 1, "extractor_tokens_in": 10, "extractor_tokens_out": 4,
    "pairs_judged": 6, "verifier_tokens": 90,
    "claims_dropped": 0, "claims_restored": 0, "seconds": {"extract": 0.25, "verify": 0.5},
}  # fmt: skip


class ScriptedLlm:
    """Answers with a function of the last turn, and keeps what it was asked."""

    def __init__(
        self, answer: Callable[[str], str], *, context: int = 10_000, broken_off: bool = False
    ) -> None:
        self.answer = answer
        self.broken_off = broken_off
        self.context = context
        self.asked: list[Question] = []
        self.batches: list[int] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "scripted"}

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        self.batches.append(len(questions))
        return list(map(self._reply, questions))

    def _reply(self, question: Question) -> Reply | TooLong:
        said = " ".join(message["content"] for message in question.messages)
        if len(said.split()) > self.context:
            return TooLong(f"{len(said.split())} tokens do not fit into {self.context}")
        self.asked.append(question)
        text = self.answer(question.messages[-1]["content"])
        return Reply(text, len(said.split()), len(text.split()), finished=not self.broken_off)


def only_bob_is_wrong(turn: str) -> str:
    """Splits what it is told to split, and finds only Bob's victory unsupported."""
    if "STATEMENTS\n" in turn:
        lines = turn.split("STATEMENTS\n")[1].splitlines()
        return json.dumps(
            {line.split(".")[0]: "no" if "Bob won" in line else "yes" for line in lines}
        )
    if "STATEMENT\n" in turn:
        return '"no"' if "Bob won" in turn.split("STATEMENT\n")[1] else '"yes"'
    if turn.startswith("<text>"):
        return "\n".join(f"- {line}" for line in turn.splitlines()[1:-1])
    return "Bob won is not in the source." if "RESPONSE\n" in turn else '"no"'


class LetterEmbedder:
    """A text's vector: how often it has each letter."""

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "letters"}

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [
            Embedding(
                np.array([float(text.lower().count(chr(97 + n))) for n in range(26)]), len(text)
            )
            for text in texts
        ]


class CountingMethod:
    """Scores a row with the number in its id; keeps the ids of the rows it was given."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.asked: list[str] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "counting", **self.settings}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        self.asked += [row.id for row in rows]
        return [
            Scored(int(row.id[1:]) / 100, claims=(("a", 0.1),), cost=Cost(pairs_judged=2))
            for row in rows
        ]


def make_results(
    dataset: str,
    name: str,
    scores: list[float | None],
    gold: list[bool | None],
    cost: dict[str, Any] = COST,
    **settings: Any,
) -> Results:
    """Results of one method with these scores, every row on a document of its own."""
    predictions = tuple(
        Prediction(f"r{n}", f"d{n}", str(n), None, wrong, None, score, None, [], cost)
        for n, (score, wrong) in enumerate(zip(scores, gold, strict=True))
    )
    return Results(Header(dataset, {"name": name, **settings}), predictions)
