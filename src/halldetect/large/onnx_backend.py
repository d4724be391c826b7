"""The large verifier on a CPU, with onnxruntime or, twice as fast, with OpenVINO.

A passage is read in runs of a fixed length, each continuing from the keys and values before it.
Every claim has its own run, so its answer is the same to the last bit beside any other claims.
Embeddings are read from the GGUF file, row by row.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError, one_line
from halldetect.large.gguf import GgufFile
from halldetect.large.onnx_convert import BLOCK, ROUNDING
from halldetect.large.shape import Shape
from halldetect.large.verifier import Group, Logits, Tokens
from halldetect.machine.devices import physical_cores
from halldetect.verification.verifiers.onnx import runtime, session_options

# Tokens of a passage per run. The attention scores take heads x these x all tokens so far: 200 MB
# at 8,192 tokens. Longer runs are not faster.
_RUN_TOKENS = 512
# Keys and values of every layer after a passage, by their input.
State = dict[str, NDArray[np.float32]]


class _OpenVinoSession:
    """The converted model in OpenVINO, with the interface of a session of onnxruntime."""

    def __init__(self, file: Path, threads: int) -> None:
        import openvino

        core = openvino.Core()
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",  # not bfloat16, where the processor has it
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": BLOCK,
        }
        compiled = core.compile_model(core.read_model(file), "CPU", settings)
        self._request = compiled.create_infer_request()

    def run(self, wanted: list[str], feeds: dict[str, Any]) -> list[Any]:
        """Return copies of the wanted outputs."""
        found = self._request.infer(feeds, share_inputs=True)
        return [found[name] for name in wanted]


class OnnxBackend:
    """A session with the converted model, and the states of the passages used last.

    Later rounds of a check use the same passage without reading it again.
    """

    pairs_at_once = 16

    def __init__(
        self,
        file: Path,
        model: GgufFile,
        *,
        kept_tokens: int,
        threads: int | None = None,
        library: str = "onnx",
    ) -> None:
        """Load a converted model; `model` is the base, for the embeddings.

        `kept_tokens` limits the tokens of all kept passages; the last one is always kept.
        """
        self._model = model
        shape = Shape.of(model)
        self._empty = np.zeros((1, shape.kv_heads, 0, shape.head_size), np.float32)
        sides = [f"{number}.{side}" for number in range(shape.layers) for side in ("key", "value")]
        self._past = [f"past.{side}" for side in sides]
        self._present = [f"present.{side}" for side in sides]
        self._kept_tokens = kept_tokens
        self._states: OrderedDict[Tokens, State] = OrderedDict()
        name = "onnxruntime" if library == "onnx" else library
        self.runtime = f"{name} {version(name)} on cpu, weights {ROUNDING}"
        threads = threads or physical_cores()
        try:
            if library == "openvino":
                self._session: Any = _OpenVinoSession(file, threads)
            else:
                device, options = ["CPUExecutionProvider"], session_options(threads)
                self._session = runtime().InferenceSession(str(file), options, providers=device)
        except Exception as error:  # the errors of both libraries share no base class
            raise ModelError(
                f"large: {name} cannot load {file}: {one_line(error)}; if it is damaged, "
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

    def _state(self, passage: Tokens) -> State:
        if passage in self._states:
            self._states.move_to_end(passage)
            return self._states[passage]
        # Free memory before the new state needs it.
        while self._states and sum(map(len, [*self._states, passage])) > self._kept_tokens:
            self._states.popitem(last=False)
        state = self._states[passage] = self._read(passage)
        return state

    def _read(self, passage: Tokens) -> State:
        state = dict.fromkeys(self._past, self._empty)
        for start in range(0, len(passage), _RUN_TOKENS):
            values = self._run(self._present, passage[start : start + _RUN_TOKENS], state)
            state = dict(zip(self._past, values, strict=True))
        return state

    def _run(self, wanted: list[str], tokens: Tokens, state: State) -> list[Any]:
        total = state[self._past[0]].shape[2] + len(tokens)
        feeds = {
            "embeddings": self._model.rows("token_embd.weight", tokens)[None],
            "last_place": np.array([total - 1], np.int32),
            "total": np.array([total], np.int32),
            **state,
        }
        try:
            results: list[Any] = self._session.run(wanted, feeds)
        except Exception as error:
            raise ModelError(f"large: {self.runtime} failed: {one_line(error)}") from error
        return results
