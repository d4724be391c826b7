"""The large verifier with onnxruntime on a CPU: the fastest without a compiler or torch.

A passage is read in runs of a fixed length, each continuing from the keys and values before it.
Every claim has its own run, so its answer is the same to the last bit beside any other claims.
Embeddings are read from the GGUF file, row by row.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError, one_line
from halldetect.large.onnx_convert import ROUNDING
from halldetect.large.shape import Shape
from halldetect.large.verifier import Group, Logits, Tokens
from halldetect.models.gguf import GgufFile
from halldetect.verification.verifiers.onnx import physical_cores, runtime, session_options

# Tokens of a passage per run. The attention scores take heads x these x all tokens so far: 200 MB
# at 8,192 tokens. Longer runs are not faster.
_RUN_TOKENS = 512
_KEPT_PASSAGES = 4


@dataclass(frozen=True, slots=True)
class OnnxState:
    """Keys and values of every layer after a passage, and its length."""

    past: dict[str, NDArray[np.float32]]
    length: int


class OnnxBackend:
    """A session of onnxruntime, and the states of the passages used last.

    Later rounds of a check use the same passage without reading it again.
    """

    pairs_at_once = 16

    def __init__(
        self, file: Path, model: GgufFile, *, kept_tokens: int, threads: int | None = None
    ) -> None:
        """Load a converted model.

        Args:
            file: the converted model.
            model: the base, for the embeddings.
            kept_tokens: most tokens of all kept passages; the last one is always kept.
            threads: one per core if None.
        """
        self._model = model
        self._shape = Shape.of(model)
        self._sides = [
            f"{number}.{side}" for number in range(self._shape.layers) for side in ("key", "value")
        ]
        self._kept_tokens = kept_tokens
        self._states: OrderedDict[Tokens, OnnxState] = OrderedDict()
        self.runtime = f"onnxruntime {runtime().__version__} on cpu, weights {ROUNDING}"
        try:
            self._session = runtime().InferenceSession(
                str(file),
                session_options(threads or physical_cores()),
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:  # the runtime's errors share no base class
            raise ModelError(
                f"large: onnxruntime cannot load {file}: {one_line(error)}; if it is damaged, "
                f"remove {file.parent}, and it is made again"
            ) from error

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """Return the logits of every group; see `Backend`."""
        found = []
        for group in groups:
            state = self._state(group.passage)
            logits = [self._run(["logits"], claim, state)[0] for claim in group.claims]
            found.append(np.array(logits, np.float32).reshape(-1, 3))
        return found

    def _state(self, passage: Tokens) -> OnnxState:
        if passage in self._states:
            self._states.move_to_end(passage)
            return self._states[passage]
        # Free memory before the new state needs it.
        while self._states and (
            len(self._states) >= _KEPT_PASSAGES
            or sum(map(len, self._states)) + len(passage) > self._kept_tokens
        ):
            self._states.popitem(last=False)
        state = self._states[passage] = self._read(passage)
        return state

    def _read(self, passage: Tokens) -> OnnxState:
        shape = self._shape
        empty = np.zeros((1, shape.kv_heads, 0, shape.head_size), np.float32)
        past = {f"past.{side}": empty for side in self._sides}
        wanted = [f"present.{side}" for side in self._sides]
        for start in range(0, len(passage), _RUN_TOKENS):
            part = passage[start : start + _RUN_TOKENS]
            values = self._run(wanted, part, OnnxState(past, start))
            past = {f"past.{side}": value for side, value in zip(self._sides, values, strict=True)}
        return OnnxState(past, len(passage))

    def _run(self, wanted: list[str], tokens: Tokens, state: OnnxState) -> list[Any]:
        total = state.length + len(tokens)
        feeds = {
            "embeddings": self._model.rows("token_embd.weight", tokens)[None],
            "last_place": np.array([total - 1], np.int32),
            "total": np.array([total], np.int32),
            **state.past,
        }
        try:
            results: list[Any] = self._session.run(wanted, feeds)
        except Exception as error:  # the runtime's errors share no base class
            raise ModelError(f"large: onnxruntime failed: {one_line(error)}") from error
        return results
