"""The methods with published weights: how they cut and aggregate, on a verifier of hand.

Models of their architectures are in tests/verification/test_peers.py; LettuceDetect's is here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halldetect.errors import FetchError, MissingExtra, ModelError
from halldetect.protocols import Traits
from halldetect.reading.sentences import read_document, sentences
from halldetect.report import Probabilities
from halldetect.verification.peers import PEERS
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.peers import summac
from halldetect_bench.methods.peers.bespoke import BespokeMiniCheck
from halldetect_bench.methods.peers.lettucedetect import MODELS, LettuceDetect
from halldetect_bench.methods.peers.pair_judges import (
    AlignScore,
    FactCg,
    MiniCheck,
    MiniCheckT5,
    WholePair,
)
from halldetect_bench.methods.peers.summac import SummacConv, SummacZs
from halldetect_bench.models.llm import Question, Reply
from halldetect_bench.models.selection import RunModels, RunOptions
from halldetect_bench.registry import METHODS
from tests.support.tiny_models import LINES
from tests.support.tiny_peers import write_lettuce


class Recorder(Traits):
    """Answers from a table by the claim and a word of the source; remembers the pairs."""

    def __init__(
        self, table: dict[tuple[str, str], tuple[float, float]], limit: int = 5000
    ) -> None:
        self.table, self.max_tokens = table, limit
        self.pairs: list[tuple[str, str]] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "recorder"}

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [2 * len(text.split()) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.pairs += pairs
        return [self._answer(*pair) for pair in pairs]

    def _answer(self, premise: str, claim: str) -> Probabilities:
        found = [
            value for (word, text), value in self.table.items() if text == claim and word in premise
        ]
        yes, no = found[0] if found else (0.0, 0.0)
        return Probabilities(yes, 1 - yes - no, no)


def filler(words: int, mark: str) -> str:
    return " ".join(["Rain", *["fell"] * (words - 2), f"{mark}."])


RIGHT, WRONG = "Ann won the race.", "Bob lost his shoe."


def test_minicheck_takes_the_best_chunk_and_the_worst_sentence() -> None:
    source = f"{filler(150, 'one')} {filler(150, 'two')} {filler(300, 'three')}"
    table = {("one", RIGHT): (0.2, 0.0), ("three", RIGHT): (0.9, 0.0), ("two", WRONG): (0.3, 0.0)}
    row = Row("d", "1", source, f"{RIGHT} {WRONG}", True)
    for method, chunks in ((MiniCheckT5, 2), (MiniCheck, 3)):  # 500 words; 400 tokens, two a word
        verifier = Recorder(table)
        (found,) = method(verifier, "minicheck-x").score_many([row])
        assert found.score == pytest.approx(1 - 0.3)
        assert [score for _, score in found.claims] == pytest.approx([0.1, 0.7])
        assert len(verifier.pairs) == 2 * chunks
    assert method(verifier, "minicheck-x").description["name"] == "minicheck-x"


def test_alignscore_makes_chunks_of_equal_numbers_of_sentences() -> None:
    """Seven sentences of 100 words are three chunks by words, so two sentences are a chunk."""
    marks = "one two three four five six seven".split()
    source = "\n\n".join(filler(100, mark) for mark in marks)
    table = {("two", RIGHT): (0.5, 0.0), ("seven", RIGHT): (0.8, 0.0), ("three", WRONG): (0.2, 0.5)}
    verifier = Recorder(table)
    row = Row("d", "1", source, f"{RIGHT} {WRONG}", True)
    (found,) = AlignScore(verifier, "alignscore-x").score_many([row])
    assert found.score == pytest.approx(1 - (0.8 + 0.2) / 2)
    premises = {premise for premise, claim in verifier.pairs if claim == RIGHT}
    assert len(premises) == 4
    assert f"{filler(100, 'one')} {filler(100, 'two')}" in premises


def test_factcg_judges_the_whole_response_on_lines() -> None:
    source = f"{filler(300, 'red')} {filler(200, 'blue')} {filler(200, 'green')}"
    response = f"{RIGHT} {WRONG}"
    verifier = Recorder({("blue", response): (0.4, 0.0), ("green", response): (0.6, 0.0)})
    (found,) = FactCg(verifier, "factcg").score_many([Row("d", "1", source, response, True)])
    assert found.score == pytest.approx(0.4)
    assert [premise for premise, _ in sorted(verifier.pairs, key=lambda pair: -len(pair[0]))] == [
        f"{filler(300, 'red')}\n{filler(200, 'blue')}", filler(200, "green"),
    ]  # fmt: skip


def test_hhem_and_trueteacher_read_everything_once() -> None:
    response = f"{RIGHT} {WRONG}"
    verifier = Recorder({("one", response): (0.7, 0.0)})
    row = Row("d", "1", ("One or one.", "Two."), response, False)
    (found,) = WholePair(verifier, "hhem-2.1-open").score_many([row])
    assert found.score == pytest.approx(0.3)
    assert verifier.pairs == [("One or one.\n\nTwo.", response)]


SUMMAC_SOURCE = "Ann ran very fast. Short one. Bob ran slowly home. " + " ".join(
    f"Number {number} ran as well." for number in range(120)
)
SUMMAC_TABLE = {
    ("Ann", RIGHT): (0.8, 0.1), ("Bob", RIGHT): (0.1, 0.6), ("Bob", WRONG): (0.3, 0.4),
}  # fmt: skip


def test_summac_takes_best_entailment_and_best_contradiction_apart() -> None:
    verifier = Recorder(SUMMAC_TABLE)
    row = Row("d", "1", SUMMAC_SOURCE, f"{RIGHT} {WRONG} Yes, yes.", True)
    (found,) = SummacZs(verifier).score_many([row])
    mean = ((0.8 - 0.6) + (0.3 - 0.4)) / 2
    assert found.score == pytest.approx((1 - mean) / 2)
    premises = {premise for premise, _ in verifier.pairs}
    assert len(premises) == 100
    assert "Number 98 ran as well." not in premises
    assert {claim for _, claim in verifier.pairs} == {RIGHT, WRONG}, "ten characters are too few"


def layer() -> dict[str, Any]:
    draw = np.random.default_rng(1)
    return {
        "mlp.weight": draw.normal(size=(1, 23)), "mlp.bias": draw.normal(size=1),
        "layer_final.weight": draw.normal(size=(2, 3)), "layer_final.bias": draw.normal(size=2),
    }  # fmt: skip


def test_summac_conv_is_its_layer_on_the_histogram() -> None:
    stored = layer()
    row = Row("d", "1", SUMMAC_SOURCE, f"{RIGHT} {WRONG}", True)
    (found,) = SummacConv(Recorder(SUMMAC_TABLE), stored).score_many([row])
    values = []
    for entailed in ([0.8, 0.1], [0.3]):
        shares = entailed + [0.0] * (100 - len(entailed))
        counts = [
            sum(low <= one and (one < high or high == one == 1.0) for one in shares)
            for low, high in zip(summac.EDGES, summac.EDGES[1:], strict=False)
        ]
        assert sum(counts) == 100
        values.append(float(np.dot(stored["mlp.weight"][0], counts) + stored["mlp.bias"][0]))
    mean = sum(values) / 2
    logits = stored["layer_final.weight"] @ [mean, mean, mean] + stored["layer_final.bias"]
    powers = [math.exp(one - max(logits)) for one in logits]
    assert found.score == pytest.approx(1 - powers[1] / sum(powers))


def test_the_layer_of_summac_is_checked_and_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path))
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    with pytest.raises(FetchError, match="HALLDETECT_OFFLINE forbids https://raw"):
        summac.published_layer()
    place = tmp_path / "models" / "summac-conv" / summac.LAYER
    place.parent.mkdir(parents=True)
    place.write_bytes(b"other")
    with pytest.raises(ModelError, match="has sha256"):
        summac.published_layer()


class Chat:
    """A language model that is sure of some claims."""

    description: dict[str, Any] = {"name": "chat"}  # noqa: RUF012

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.asked = list(replies), list[Question]()

    def ask_many(self, questions: Sequence[Question]) -> list[Any]:
        self.asked += questions
        return [self.replies.pop(0) for _ in questions]


def test_bespoke_minicheck_reads_the_probability_of_yes() -> None:
    llm = Chat(
        Reply("Yes", 9, 1, first=(("Yes", 0.7), ("No", 0.15), ("yes", 0.1))),
        Reply("No", 9, 1),
    )
    row = Row("d", "1", ("One.", "Two."), f"{RIGHT} {WRONG}", True)
    (found,) = BespokeMiniCheck(llm).score_many([row])
    assert [score for _, score in found.claims] == pytest.approx([0.2, 1.0])
    assert found.score == 1.0
    question = llm.asked[0]
    assert (question.max_tokens, question.first_tokens) == (1, True)
    assert [turn["role"] for turn in question.messages] == ["system", "user"]
    assert question.messages[1]["content"] == f"Document: One.\n\nTwo.\nClaim: {RIGHT}"


def test_every_pair_judge_is_a_method_that_names_its_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set(PEERS) - set(METHODS) == {"summac-vitc"}
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    asked: list[str | None] = []

    def named(self: RunModels, name: str | None) -> Recorder:
        asked.append(name)
        return Recorder({})

    monkeypatch.setattr(RunModels, "named_verifier", named)
    for name in PEERS.keys() & METHODS.keys():
        method = METHODS[name].build(RunModels(RunOptions()))
        assert method.description["name"] == name
        assert asked[-1] == name
    assert METHODS["summac-zs-vitc"].build(RunModels(RunOptions())).description["name"] == (
        "summac-zs-vitc"
    )
    assert asked[-1] == "summac-vitc"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lettuce(tmp_path_factory.mktemp("lettuce"))


@pytest.fixture(scope="module")
def method(folder: Path) -> LettuceDetect:
    return LettuceDetect("lettucedetect-base", str(folder), device="cpu")


@pytest.mark.hf
class TestLettuceDetect:
    """On a tiny ModernBERT."""

    @pytest.mark.parametrize("question", [None, "Was the bridge closed?"])
    def test_score_is_the_worst_token_of_the_response(
        self, folder: Path, method: LettuceDetect, question: str | None
    ) -> None:
        import torch
        import transformers

        response = f"{LINES[2]} {LINES[4]}"
        passages = (LINES[0], LINES[1])
        listed = f"passage 1: {LINES[0]}\npassage 2: {LINES[1]}"
        prompt = f"Summarize the following text:\n{listed}\noutput:"
        if question:
            prompt = (
                f"Briefly answer the following question:\n{question}\nBear in mind that your "
                "response should be strictly based on the following 2 passages:\n"
                f"{listed}\nIn case the passages do not contain the necessary information to "
                "answer the question, please reply with: "
                '"Unable to answer based on given passages."\noutput:'
            )
        (found,) = method.score_many([Row("d", "1", passages, response, True, question=question)])
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        network = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
        inputs = tokenizer(prompt, response, return_tensors="pt", return_token_type_ids=False)
        count = len(tokenizer(response, add_special_tokens=False)["input_ids"])
        with torch.inference_mode():
            shares = network(**inputs).logits[0].softmax(-1)[-count - 1 : -1, 1]
        assert found.score == pytest.approx(float(shares.max()), abs=1e-6)
        first = len(tokenizer(LINES[2], add_special_tokens=False)["input_ids"])
        assert [score for _, score in found.claims] == pytest.approx(
            [float(shares[:first].max()), float(shares[first:].max())], abs=1e-6
        )
        assert [text for text, _ in found.claims] == [
            span.cut(response) for span in sentences(response)
        ]

    def test_passages_that_do_not_fit_are_judged_in_groups(
        self, method: LettuceDetect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from halldetect_bench.methods.peers import lettucedetect

        passages = tuple(LINES[:4])
        row = Row("d", "1", passages, LINES[4], True)
        assert len(method.prompts(row)) == 1
        monkeypatch.setattr(lettucedetect, "LIMIT", 120)
        prompts = method.prompts(row)
        assert len(prompts) > 1
        assert all(sum(text in prompt for prompt in prompts) == 1 for text in passages)
        (found,) = method.score_many([row])
        alone = [method._judge(prompt, row.response) for prompt in prompts]
        assert found.score == max(max(one.worst) for one in alone if one)
        monkeypatch.setattr(lettucedetect, "LIMIT", 10)
        (found,) = method.score_many([row])
        assert found.reason == "the response does not fit into 10 tokens"

    def test_rows_without_words_and_names_of_models(
        self, method: LettuceDetect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (found,) = method.score_many([Row("d", "1", "One.", "...", False)])
        assert found.score is None
        monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
        for name, model in MODELS.items():
            with pytest.raises(FetchError, match=model):
                METHODS[name].build(RunModels(RunOptions()))

    def test_a_text_cannot_end_itself(self, method: LettuceDetect) -> None:
        (plain,) = method.score_many([Row("d", "1", "One.", f"{LINES[0]} x", True)])
        (found,) = method.score_many([Row("d", "1", "One.", f"{LINES[0]} </s> x", True)])
        assert found.score is not None
        assert found.cost.verifier_tokens > plain.cost.verifier_tokens + 1

    def test_without_the_extra_the_error_names_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import sys

        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(MissingExtra, match=r"lettucedetect-large.*halldetect\[hf\]"):
            LettuceDetect("lettucedetect-large")


def test_documents_of_the_tests_have_the_sentences_that_they_name() -> None:
    assert len(read_document(filler(100, "one")).sentences) == 1
