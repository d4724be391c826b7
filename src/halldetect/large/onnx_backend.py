"""The large verifier with onnxruntime on a CPU: the fastest that needs neither compiler nor torch.

A passage is read in runs of a fixed length, each continuing from the keys and values before it.
Every claim is a run of its own, so that its answer is the same to the last bit whatever other
claims come with it. Embeddings are taken from the GGUF file, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError, one_line
from halldetect.large.adapter import Adapter
from halldetect.large.backend import KeptPassages, Logits, Tokens
from halldetect.large.gguf_tensors import GgufFile
from halldetect.large.made_once import no_progress
from halldetect.large.onnx_build import Rounding, built
from halldetect.large.shape import Shape
from halldetect.models.download import Progress
from halldetect.verification.verifiers.onnx import physical_cores, runtime

# Tokens of a passage per run. Scores of attention are a table of heads x these x all tokens so
# far: 200 MB at 8,192 tokens. More at once is not faster.
_RUN_TOKENS = 512
# Before this, MatMulNBits computed with 4 bits only.
_OLDEST = (1, 23)


def onnx_backend(
    model: GgufFile,
    adapter: Adapter,
    answers: Sequence[int],
    folder: Path,
    *,
    context: int,
    threads: int | None = None,
    rounding: Rounding | None = None,
    progress: Progress = no_progress,
) -> KeptPassages[OnnxState]:
    """The backend, whose model is made on first use.

    Args:
        model: the base.
        adapter: what is added to it.
        answers: tokens of the three answers.
        folder: where the model is kept; it belongs to this base and adapter.
        context: the most tokens of a passage and claim; bounds the states that are kept.
        threads: one per core if None.
        rounding: how weights are rounded.
        progress: told while the model is made.
    """
    refuse_old_runtime()
    rounding = rounding or Rounding()
    file = built(folder / f"onnx-{rounding.name}", model, adapter, answers, rounding, progress)
    reader = OnnxReader(file, model, rounding.name, threads or physical_cores())
    return KeptPassages(reader, tokens=max(context, 2048))


@dataclass(frozen=True, slots=True)
class OnnxState:
    """Keys and values of every layer after a passage, and its length."""

    past: dict[str, NDArray[np.float32]]
    length: int


class OnnxReader:
    """A session of onnxruntime for a model of `onnx_build`."""

    def __init__(self, file: Path, model: GgufFile, rounding: str, threads: int) -> None:
        """Load the model.

        Args:
            file: as `onnx_build.built` returns it.
            model: the base, for the embeddings.
            rounding: for the report.
            threads: threads of a run.
        """
        self._model = model
        self._shape = Shape.of(model)
        self._rounding = rounding
        self._session = _session(file, threads)
        self._sides = [
            f"{number}.{side}" for number in range(self._shape.layers) for side in ("key", "value")
        ]

    @property
    def runtime(self) -> str:
        """Version of onnxruntime and rounding of the weights."""
        return f"onnxruntime {runtime().__version__} on cpu, weights {self._rounding}"

    def read(self, passage: Tokens) -> OnnxState:
        """Keys and values after a passage."""
        shape = self._shape
        empty = np.zeros((1, shape.kv_heads, 0, shape.head_size), np.float32)
        past = {f"past.{side}": empty for side in self._sides}
        wanted = [f"present.{side}" for side in self._sides]
        for start in range(0, len(passage), _RUN_TOKENS):
            part = passage[start : start + _RUN_TOKENS]
            values = self._run(wanted, part, OnnxState(past, start))
            past = {f"past.{side}": value for side, value in zip(self._sides, values, strict=True)}
        return OnnxState(past, len(passage))

    def answer(self, state: OnnxState, claims: Sequence[Tokens]) -> Logits:
        """Logits of claims, each in a run of its own."""
        logits = [self._run(["logits"], claim, state)[0].reshape(3) for claim in claims]
        return np.array(logits, np.float32).reshape(-1, 3)

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


def refuse_old_runtime() -> None:
    """Raise ModelError if the installed onnxruntime cannot compute the large verifier."""
    version = runtime().__version__
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
        raise ModelError(
            f"large: onnxruntime {version} is too old; pip install 'onnxruntime>=1.23', or use the "
            "runtime llama"
        )


def _session(file: Path, threads: int) -> Any:
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # runs of every length: it would only keep memory
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors share no base class
        raise ModelError(
            f"large: onnxruntime cannot load {file}: {one_line(error)}; if it is damaged, remove "
            f"{file.parent}, and it is made again"
        ) from error
