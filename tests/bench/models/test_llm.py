"""GGUF models in llama.cpp, against recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from halldetect.errors import ModelError
from halldetect.machine import integrity
from halldetect_bench.models import llm
from halldetect_bench.models.llm import LlamaLlm, Question, Reply, TooLong
from tests.support.tiny_models import gguf_bytes


class PlayedServer:
    """llama.cpp's answers, in its forms."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []

    def handle(self, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        return self.answers.pop(0)

    handle_chat_completions = handle


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
    (reply,) = model.ask_many([Question(turns, 8, seed=4, schema=schema, stop="x")])
    assert reply == Reply('"yes"', 30, 2, finished=False)
    body = server.bodies[0]
    assert (body["seed"], body["temperature"], body["max_tokens"]) == (4, 0.0, 8)
    assert (body["cache_prompt"], body["stop"]) == (False, ["x"])
    assert body["response_format"]["json_schema"]["schema"] == schema
    (unread,) = model.ask_many([Question(turns, 8)])
    assert isinstance(unread, TooLong)
    assert str(unread) == "900 tokens do not fit into a context of 512"
    with pytest.raises(ModelError, match=r"llama\.cpp failed: no memory"):
        model.ask_many([Question(turns, 8)])
    assert model.description["name"] == f"gguf:{gguf.resolve()}"
    assert model.description["digest"] == f"sha256:{integrity.digest_of(gguf)}"
