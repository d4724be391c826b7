"""GGUF models in llama.cpp and embedders, against recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halldetect import models
from halldetect.errors import ModelError
from halldetect_bench.models import embedders, llm
from halldetect_bench.models.embedders import (
    Embedding,
    LlamaEmbedder,
    OnnxEmbedder,
    cosine,
    load_embedder,
)
from halldetect_bench.models.llm import LlamaLlm, Reply, TooLong
from tests.support.tiny_models import gguf_bytes, word_piece


class PlayedServer:
    """llama.cpp's answers, in its forms."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []

    def handle(self, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        return self.answers.pop(0)

    handle_chat_completions = handle_embeddings = handle


SAID = {
    "choices": [{"message": {"content": '"yes"'}, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 30, "completion_tokens": 2},
}


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes())
    return path


def test_llama_is_asked_and_read(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = {"type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}
    server = PlayedServer(SAID, {"error": long}, {"error": {"message": "no\nmemory"}})
    monkeypatch.setattr(llm, "start", lambda *_: server)
    model = LlamaLlm(gguf)
    turns = [{"role": "user", "content": "Yes?"}]
    schema = {"enum": ["yes", "no"]}
    reply = model.ask(turns, max_tokens=8, seed=4, schema=schema, stop="x")
    assert reply == Reply('"yes"', 30, 2, finished=False)
    body = server.bodies[0]
    assert (body["seed"], body["temperature"], body["max_tokens"]) == (4, 0.0, 8)
    assert (body["cache_prompt"], body["stop"]) == (False, ["x"])
    assert body["response_format"]["json_schema"]["schema"] == schema
    with pytest.raises(TooLong, match="900 tokens do not fit into a context of 512"):
        model.ask(turns, max_tokens=8)
    with pytest.raises(ModelError, match=r"llama\.cpp failed: no memory"):
        model.ask(turns, max_tokens=8)
    assert model.description["name"] == "gguf:m.gguf"
    assert model.description["digest"] == f"sha256:{models.digest_of(gguf)}"


def test_a_generative_model_embeds_with_the_mean_and_long_texts_are_cut(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = {"data": [{"embedding": [3.0, 4.0]}], "usage": {"prompt_tokens": 5}}
    large = {"message": "input (4096 tokens) is too large to process", "type": "server_error"}
    server = PlayedServer({"error": {"message": "no pooling"}}, {"error": large}, vector)
    poolings: list[str] = []

    def start(*_: Any, pooling: str) -> PlayedServer:
        poolings.append(pooling)
        return server

    monkeypatch.setattr(embedders, "start", start)
    embedder = LlamaEmbedder(gguf)
    assert poolings == ["model", "mean"]
    assert embedder.description["pooling"] == "mean"
    (found,) = embedder.embed(["word " * 1000])
    assert (found.vector.tolist(), found.tokens) == ([3.0, 4.0], 5)
    assert 2000 < len(server.bodies[-1]["input"][0]) < 2500
    server.answers = [{"error": {"message": "broken"}}]
    with pytest.raises(ModelError, match="broken"):
        embedder.embed(["a"])


def write_embedder(folder: Path, *, pooled: bool) -> Path:
    from onnx import helper, numpy_helper, parser, save

    folder.mkdir()
    tokenizer = word_piece()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text('{"max_tokens": 20}', encoding="utf-8")
    table = np.random.default_rng(0).standard_normal((tokenizer.get_vocab_size(), 8))
    body = (
        "words = Gather(table, input_ids)\n"
        "sentence_embedding = ReduceMean<keepdims = 0>(words, axis)"
        if pooled
        else "last_hidden_state = Gather(table, input_ids)"
    )
    out = "float[b, c] sentence_embedding" if pooled else "float[b, t, c] last_hidden_state"
    graph = parser.parse_graph(
        f"tiny (int64[b, t] input_ids) => ({out}) <int64[1] axis = {{1}}> {{ {body} }}"
    )
    graph.initializer.append(numpy_helper.from_array(table.astype(np.float32), "table"))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    save(model, str(folder / "model.onnx"))
    return folder


def test_an_onnx_folder_embeds(tmp_path: Path) -> None:
    mean = load_embedder(str(write_embedder(tmp_path / "mean", pooled=False)))
    pooled = load_embedder(str(write_embedder(tmp_path / "pooled", pooled=True)))
    assert isinstance(mean, OnnxEmbedder)
    assert (mean.description["pooling"], pooled.description["pooling"]) == ("mean", "model")
    texts = ["The river rose.", "The bridge was closed.", "The river rose."]
    one, two, again = mean.embed(texts)
    for here, there in zip(mean.embed(texts), pooled.embed(texts), strict=True):
        assert here.vector == pytest.approx(there.vector, abs=1e-6)
    assert cosine(one, again) == pytest.approx(1)
    assert cosine(one, two) < 0.99
    # A long text is cut at what the model reads.
    assert mean.embed(["river " * 100])[0].tokens == 20


def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is no embedder"):
        load_embedder(str(tmp_path))


def test_vectors_without_length_have_no_angle() -> None:
    nothing = Embedding(np.zeros(2), 0)
    assert cosine(nothing, Embedding(np.ones(2), 1)) == 0.0
