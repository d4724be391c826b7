"""The default verifier: a classifier in ONNX, run on the processor.

One run of a session holds one pair, unpadded. A result thus depends on its pair alone, not on
neighbours, order or the number of threads. Runs are parallel, on one thread each, the longest
first. Padded batches would change the logits of a pair, by up to 1.0 with dynamic uint8, and gain
little: single pairs of 128 tokens reach over 90 % of the best batch's speed.

Weights may be stored beside the model in 4 bits, which halves the file (`training/base/quantise.py`
writes such files). Processors have no 4-bit arithmetic, so loading unpacks them to 8 bits, with
integers only: the result is the same on every machine. For a matrix NAME of (inputs,
outputs) the file MODEL.npz holds

    NAME.codes   (inputs / 2, outputs)       two 4-bit codes per byte, the lower half of the
                                             inputs in the low bits
    NAME.zeros   (inputs / block, outputs)   the code that means zero, per block
    NAME.steps   (inputs / block, outputs)   the value of one code, in 256ths

and the 8-bit weight is (code - zero) x step / 256, rounded. It stays between -63 and 63, so
that sums of two products fit 16 bits: older processors saturate there.

Such a model gives the same bits on any number of threads: no sum is split among them. A small
number of pairs thus runs one after the other, each on all threads. Sums of fp32 models may change
in the last place with the number of threads, so those always run on one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError, one_line
from halldetect.machine.devices import physical_cores
from halldetect.machine.integrity import file_digests, joint_digest
from halldetect.verification.verifiers.classifier import STATED, Classifier, Labels, reading_limit
from halldetect.verification.verifiers.encoding import Encoded, PairEncoder
from halldetect.verification.verifiers.wordpiece import WordPieceEncoder

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# A second session, for parallel runs, takes memory and half a second: it is created after this
# number of pairs in large calls, not for a single check.
_PAIRS_BEFORE_SECOND_SESSION = 128
LARGEST, UNIT = 63, 256  # largest packed weight, and parts of a step


class OnnxVerifier(Classifier):
    """A folder with an ONNX model, `tokenizer.json` and `config.json` with a label map.

    `config.json` may also state `max_tokens`, `languages`, `calibration` and `operating_points`.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        threads: int | None = None,
        digests: dict[str, str] | None = None,
    ) -> None:
        """Load `model.onnx` of a folder, or a model file.

        `digests` are those of all files in the folder, if already known.
        """
        self._digests = digests
        self._file = path if path.is_file() else path / "model.onnx"
        folder = self._file.parent
        self._threads = threads or physical_cores()
        self._config = read_object(folder / "config.json")
        extra = folder / "tokenizer_config.json"
        limit = reading_limit(self._config, read_object(extra) if extra.exists() else {})
        file = folder / "tokenizer.json"
        self._words = WordPieceEncoder.from_file(file)
        encoder = self._words or PairEncoder.from_file(file)
        name = name or folder.resolve().name
        super().__init__(name, Labels.from_config(self._config, name), encoder, limit)
        self._many_threads_per_pair = self._threads > 1 and packed_beside(self._file).is_file()
        self._session = _session(self._file, self._threads if self._many_threads_per_pair else 1)
        self._one_thread_session: Any = None  # for parallel runs of a packed model
        self._pairs_in_large_calls = 0
        self._inputs = {
            item.name: np.int32 if "int32" in item.type else np.int64
            for item in self._session.get_inputs()
        }
        outputs = [item.name for item in self._session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]

    @cached_property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        digests, model = self._digests or file_digests(self._file.parent), self._file.name
        # Files such as model.onnx.data and model.onnx.npz hold the weights.
        beside = [name for name in digests if name.startswith(model) and name != model]
        return {
            "name": self._name,
            "kind": "onnx",
            "digest": digests[model],
            **{f"digest of {name}": digests[name] for name in beside},
            "tokenizer_digest": digests["tokenizer.json"],
            "folder_digest": joint_digest(digests),
            "max_tokens": self.max_tokens,
            "labels": list(self._labels.meanings),
            **{name: self._config.get(name) for name in STATED},
            "runtime": f"onnxruntime {runtime().__version__}",
        }

    def unknown_words(self, text: str) -> list[str]:
        """Return the words of a text that the model cannot read, if its tokenizer reports them."""
        return [] if self._words is None else self._words.unknown_words(text)

    def _run_all(self, packed: Sequence[Encoded]) -> list[NDArray[Any]]:
        if not self._many_threads_per_pair:
            return self._side_by_side(packed, self._session)
        if len(packed) >= 2 * self._threads:
            self._pairs_in_large_calls += len(packed)
            if self._pairs_in_large_calls >= _PAIRS_BEFORE_SECOND_SESSION:
                if self._one_thread_session is None:
                    self._one_thread_session = _session(self._file, 1)
                return self._side_by_side(packed, self._one_thread_session)
        return [self._run(self._session, pair) for pair in packed]

    def _side_by_side(self, encoded: Sequence[Encoded], session: Any) -> list[NDArray[Any]]:
        longest_first = sorted(range(len(encoded)), key=lambda at: -len(encoded[at]))
        workers = min(self._threads, len(encoded)) or 1
        with ThreadPoolExecutor(workers) as pool:
            done = pool.map(lambda at: self._run(session, encoded[at]), longest_first)
            results = dict(zip(longest_first, done, strict=True))
        return [results[at] for at in range(len(encoded))]

    def _run(self, session: Any, pair: Encoded) -> NDArray[Any]:
        values = (pair.ids, (1,) * len(pair), pair.types)
        feeds = {
            name: np.array([numbers], self._inputs[name])
            for name, numbers in zip(_INPUTS, values, strict=True)
            if name in self._inputs
        }
        try:
            logits: NDArray[Any] = session.run([self._output], feeds)[0][0]
        except Exception as error:  # the runtime's errors share no base class
            raise ModelError(f"{self._name}: the model failed: {one_line(error)}") from error
        return logits


def read_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file; raise ModelError if there is none."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {one_line(error)}") from error
    if not isinstance(data, dict):
        raise ModelError(f"{file} does not hold a JSON object")
    return data


def runtime() -> Any:
    """Return the module onnxruntime, imported with telemetry switched off."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def session_options(threads: int) -> Any:
    """Return session options for inputs of any length."""
    options = runtime().SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # with inputs of any length it would only keep memory
    # Stop waiting threads from occupying a processor, between runs and within one.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.add_session_config_entry("session.intra_op.spin_duration_us", "20")
    return options


def _session(file: Path, threads: int) -> Any:
    onnxruntime = runtime()
    onnxruntime.set_default_logger_severity(3)
    options = session_options(threads)
    try:
        if packed_beside(file).is_file():
            names, ready = [], []
            for name, value in unpacked(packed_beside(file)):  # one at a time: the runtime copies
                names.append(name)
                ready.append(onnxruntime.OrtValue.ortvalue_from_numpy(value))
            options.add_external_initializers(names, ready)
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors share no base class
        raise ModelError(f"{file} cannot be loaded: {one_line(error)}") from error


def packed_beside(model: Path) -> Path:
    """Return the file with the packed weights of a model."""
    return model.with_name(model.name + ".npz")


def unpacked(file: Path) -> Iterator[tuple[str, NDArray[np.int8]]]:
    """Yield each matrix of packed weights by name, ready for the runtime."""
    with np.load(file, allow_pickle=False) as stored:
        names = [key.removesuffix(".codes") for key in stored.files if key.endswith(".codes")]
        for name in names:
            parts = (stored[f"{name}.{part}"] for part in ("codes", "zeros", "steps"))
            yield name, weights(*parts)


def weights(
    codes: NDArray[np.uint8], zeros: NDArray[np.uint8], steps: NDArray[np.int16]
) -> NDArray[np.int8]:
    """Return the 8-bit weights of one matrix from its codes, zeros and steps."""
    half, outputs = codes.shape
    blocks = len(steps)
    block = 2 * half // blocks
    result = np.empty((blocks, block, outputs), np.int8)
    flat = result.reshape(2 * half, outputs)
    np.bitwise_and(codes, 15, out=flat[:half].view(np.uint8))
    np.right_shift(codes, 4, out=flat[half:].view(np.uint8))
    result -= zeros.astype(np.int8)[:, None]
    for at in range(blocks):  # one at a time, to keep wide numbers in the cache
        wide: NDArray[Any] = result[at].astype(np.int16) * steps[at]
        wide += UNIT // 2
        wide >>= 8
        result[at] = wide
    return flat
