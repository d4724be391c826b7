"""The large verifier on a backend that only counts, and what `load_large` refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.errors import ModelError
from halldetect.large.answer_prompt import Prompt
from halldetect.large.gguf import GgufFile
from halldetect.large.load import load_large
from halldetect.large.onnx_backend import OnnxBackend
from halldetect.large.verifier import Group, LargeVerifier, Logits
from tests.support.tiny_qwen import TinyModel, write_tiny


class CountingBackend:
    """Its logits are the lengths of passage and claim; it remembers what it was asked."""

    runtime = "none"
    pairs_at_once = 3

    def __init__(self, value: float | None = None) -> None:
        self.value = value
        self.calls: list[Sequence[Group]] = []

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        self.calls.append(groups)
        return [
            np.array(
                [
                    [len(group.passage) / 50, len(claim) / 50, self.value or 0.0]
                    for claim in group.claims
                ],
                np.float32,
            )
            for group in groups
        ]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    return write_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def prompt(tiny: TinyModel) -> Prompt:
    return Prompt(GgufFile(tiny.base))


def verifier(prompt: Prompt, backend: Any, **settings: Any) -> LargeVerifier:
    return LargeVerifier(backend, prompt, **{"context": 300, **settings})


PAIRS = [("one two", "x"), ("three", "yy"), ("one two", "zzz"), ("one two", "x"), ("three", "x")]


def test_passage_is_read_once_for_all_claims(prompt: Prompt) -> None:
    backend = CountingBackend()
    answers = verifier(prompt, backend).judge(PAIRS)
    [groups] = backend.calls
    assert [len(group.claims) for group in groups] == [2, 2]
    assert answers[0] == answers[3]
    alone = [verifier(prompt, backend).judge([pair])[0] for pair in PAIRS]
    assert answers == alone
    assert len(set(answers)) == 4


def test_probabilities_are_a_softmax_at_the_temperature(prompt: Prompt) -> None:
    backend = CountingBackend(value=1.0)
    for temperature in (1.0, 2.5):
        [found] = verifier(prompt, backend, temperature=temperature).judge([("a", "b")])
        logits = np.array(
            [len(prompt.passages(["a"])[0]) / 50, len(prompt.claims(["b"])[0]) / 50, 1]
        )
        expected = np.exp(logits / temperature) / np.exp(logits / temperature).sum()
        shares = (found.entailment, found.neutral, found.contradiction)
        assert shares == pytest.approx(expected, abs=1e-6)


def test_nothing_to_judge(prompt: Prompt) -> None:
    assert verifier(prompt, CountingBackend()).judge([]) == []


def test_a_pair_longer_than_the_context_is_refused(prompt: Prompt) -> None:
    backend = CountingBackend()
    with pytest.raises(ModelError, match="the context is 300"):
        verifier(prompt, backend).judge([("a " * 200, "b")])
    assert backend.calls == []


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_max_tokens_leaves_room_for_the_question(prompt: Prompt, passage: str, claim: str) -> None:
    counted = sum(prompt.count([passage, claim]))
    framed = len(prompt.passages([passage])[0]) + len(prompt.claims([claim])[0])
    assert framed <= counted + prompt.frame_tokens


def test_numbers_that_are_not_finite_are_an_error(prompt: Prompt) -> None:
    with pytest.raises(ModelError, match="not finite"):
        verifier(prompt, CountingBackend(value=float("nan"))).judge([("a", "b")])


def counting_backend(
    tiny: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokens: int
) -> tuple[OnnxBackend, list[int]]:
    """Return an ONNX backend, and the lengths of the passages that it reads."""
    made = load_large(tiny.base, tiny.adapter, cache=tmp_path, threads=1).backend
    assert isinstance(made, OnnxBackend)
    made._kept_tokens = tokens
    read: list[int] = []
    whole = made._read
    monkeypatch.setattr(made, "_read", lambda passage: read.append(len(passage)) or whole(passage))
    return made, read


@pytest.mark.parametrize(
    ("tokens", "lengths", "expected"),
    [
        (100, [10, 11, 10, 12, 10, 11], [10, 11, 12]),
        (30, [10, 11, 10, 12, 10, 11], [10, 11, 12, 11]),
        (100, [60, 150, 150, 60], [60, 150, 60]),
        (1000, [1, 2, 3, 4, 5, 1], [1, 2, 3, 4, 5]),
    ],
)
def test_passages_used_last_are_kept(
    tiny: TinyModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tokens: int,
    lengths: list[int],
    expected: list[int],
) -> None:
    backend, read = counting_backend(tiny, tmp_path, monkeypatch, tokens)
    for length in lengths:
        backend.answer([Group((1,) * length, ((1,),))])
    assert read == expected


def test_an_adapter_of_another_base_is_refused(tiny: TinyModel, tmp_path: Path) -> None:
    other = write_tiny(tmp_path, seed=1)
    with pytest.raises(ModelError, match="belongs to a base with sha256"):
        load_large(tiny.base, other.adapter)
    with pytest.raises(ModelError, match="belongs to a base with sha256"):
        load_large(tiny.base, tiny.adapter, base_sha256="0" * 64)


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_unreadable_settings_of_the_adapter_are_named(tmp_path: Path, text: str) -> None:
    tiny = write_tiny(tmp_path, seed=1)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelError, match=r"config\.json"):
        load_large(tiny.base, tiny.adapter, cache=tmp_path)
