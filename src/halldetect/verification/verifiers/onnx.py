"""The default verifier: a classifier in ONNX, run on the processor.

One run of a session holds one pair, unpadded. So a pair's result depends on the pair alone, not
on its neighbours, their order or the number of threads. Runs go side by side, on one thread
each, the longest first. Why not padded batches (an MPNet-base on two x86-64 cores):

- Dynamic uint8 takes one activation range over the whole tensor: in another batch the logits
  of the same pair moved by up to 1.0.
- 4-bit weights (MatMulNBits) in blocks of 64 with int8 activations: up to 0.05, and 2e-7 with
  fp32 activations. In blocks of 32 with int8 activations, in fp32, and in uint8 with one range
  per row not a bit changed; but that is a property of one chip's kernels, not guaranteed.
- Batches gain little: at 32 tokens per pair, single pairs reach 83 to 89 % of the best batch's
  speed with int8 activations (56 to 66 % with fp32 ones), from 128 tokens on over 90 %.
- Two one-thread runs side by side do 6 to 19 % more than one two-thread run on idle cores.

Weights may be stored beside the model in 4 bits; they are unpacked to 8 when it is loaded
(`packed_weights`). Such a model gives the same bits on any number of threads: the threads share
out rows and heads, and no sum is divided among them. So few pairs are run one after the other,
each on all threads: a single one is done 1.6 to 1.8 times as fast on two. Sums of fp32 models may
change in the last place with the number of threads, so those always run on one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError, one_line
from halldetect.models.integrity import file_digests, joint_digest
from halldetect.report import Probabilities
from halldetect.verification.verifiers.encoding import (
    Encoded,
    EncodingVerifier,
    PairEncoder,
    reading_limit,
    refuse_too_long,
)
from halldetect.verification.verifiers.labels import Labels
from halldetect.verification.verifiers.packed_weights import packed_beside, unpacked
from halldetect.verification.verifiers.wordpiece import WordPieceEncoder

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
# A second session, for runs side by side, takes memory and half a second: it is made after so
# many pairs in large calls, not for a single check.
_PAIRS_BEFORE_SECOND_SESSION = 128


class OnnxVerifier(EncodingVerifier):
    """A folder with an ONNX model, `tokenizer.json` and `config.json` with a label map.

    `config.json` may also state `max_tokens`, `languages`, `calibration` and `operating_points`.

    path     the folder, or the model's file where the folder has several
    name     for the report; default: the folder's
    threads  None: as many as there are cores
    digests  of all files in the folder, where they are known already
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        threads: int | None = None,
        digests: dict[str, str] | None = None,
    ) -> None:
        self._digests = digests
        self._file = _model_file(path)
        folder = self._file.parent
        self._name = name or folder.resolve().name
        self._threads = threads or physical_cores()
        self._config = _read_json(folder / "config.json")
        extra = folder / "tokenizer_config.json"
        self._limit = reading_limit(self._config, _read_json(extra) if extra.exists() else {})
        self._labels = Labels.from_config(self._config, self._name)
        file = _existing(folder / "tokenizer.json")
        self._encoder = WordPieceEncoder.from_file(file) or PairEncoder.from_file(file)
        self._many_threads_per_pair = self._threads > 1 and packed_beside(self._file).is_file()
        self._session = _session(self._file, self._threads if self._many_threads_per_pair else 1)
        self._pairs_in_large_calls = 0
        self._inputs = _inputs(self._session, self._file)
        outputs = [item.name for item in self._session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]

    @cached_property
    def description(self) -> dict[str, Any]:
        """What the report records; see `protocols`."""
        onnxruntime = runtime()
        digests = self._digests or file_digests(self._file.parent)
        beside = [file.name for file in self._outside_weights()]
        return {
            "name": self._name,
            "kind": "onnx",
            "digest": digests[self._file.name],
            **{f"digest of {name}": digests[name] for name in beside},
            "tokenizer_digest": digests["tokenizer.json"],
            "folder_digest": joint_digest(digests),
            "max_tokens": self.max_tokens,
            "labels": list(self._labels.meanings),
            "languages": self._config.get("languages"),
            "calibration": self._config.get("calibration"),
            "operating_points": self._config.get("operating_points"),
            "runtime": f"onnxruntime {onnxruntime.__version__}",
        }

    def _outside_weights(self) -> list[Path]:
        """The files beside the model that hold weights: model.onnx.data, .onnx_data and such."""
        beside = self._file.parent.glob(f"{self._file.name}?*")
        return sorted(file for file in beside if file.is_file())

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that the model cannot read; none are known of some tokenizers."""
        found = getattr(self._encoder, "unknown_words", None)
        return [] if found is None else list(found(text))

    def _judge(self, encoded: Sequence[Encoded]) -> list[Probabilities]:
        refuse_too_long(encoded, self._limit, self._name)
        if not self._many_threads_per_pair:
            return self._side_by_side(encoded, self._session)
        if len(encoded) >= 2 * self._threads:
            self._pairs_in_large_calls += len(encoded)
            if self._pairs_in_large_calls >= _PAIRS_BEFORE_SECOND_SESSION:
                return self._side_by_side(encoded, self._one_thread_session)
        return [self._run(self._session, pair) for pair in encoded]

    def _side_by_side(self, encoded: Sequence[Encoded], session: Any) -> list[Probabilities]:
        longest_first = sorted(range(len(encoded)), key=lambda at: -len(encoded[at]))
        workers = min(self._threads, len(encoded)) or 1
        with ThreadPoolExecutor(workers) as pool:
            done = pool.map(lambda at: self._run(session, encoded[at]), longest_first)
            results = dict(zip(longest_first, done, strict=True))
        return [results[at] for at in range(len(encoded))]

    @cached_property
    def _one_thread_session(self) -> Any:
        """A packed model once more, for runs side by side."""
        return _session(self._file, 1)

    def _run(self, session: Any, pair: Encoded) -> Probabilities:
        values = (pair.ids, (1,) * len(pair), pair.types)
        feeds = {
            name: np.array([numbers], self._inputs[name])
            for name, numbers in zip(_INPUTS, values, strict=True)
            if name in self._inputs
        }
        try:
            logits: NDArray[Any] = session.run([self._output], feeds)[0]
        except Exception as error:  # the runtime's errors share no base class
            raise ModelError(f"{self._name}: the model failed: {one_line(error)}") from error
        if logits.ndim != 2 or len(logits) != 1:
            raise ModelError(f"{self._name}: {self._file.name} is not a sequence classifier")
        return self._labels.read(logits[0], self._name)


def _model_file(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise ModelError(f"no verifier at {path}: not a folder")
    files = sorted(path.glob("*.onnx"))
    if len(files) > 1 and path / "model.onnx" in files:
        files = [path / "model.onnx"]
    if not files:
        raise ModelError(f"no .onnx file in {path}")
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise ModelError(f"several models in {path} ({names}): pass the path of one")
    return files[0]


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise ModelError(f"the verifier in {file.parent} has no {file.name}")
    return file


def _read_json(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(_existing(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {one_line(error)}") from error
    if not isinstance(data, dict):
        raise ModelError(f"{file} does not hold a JSON object")
    return data


def runtime() -> Any:
    """The module onnxruntime, with telemetry switched off before it is imported."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def session_options(threads: int) -> Any:
    """Return the options of a session for inputs of any length."""
    options = runtime().SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # inputs of every length: it would only keep memory
    # Threads that wait for work hold a processor, but not when there is none to come.
    options.add_session_config_entry("session.force_spinning_stop", "1")
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


def _inputs(session: Any, file: Path) -> dict[str, Any]:
    """The type of each input. Shapes must be free: one pair of any length a run."""
    types = {}
    for item in session.get_inputs():
        kind = _TYPES.get(item.type)
        if item.name not in _INPUTS or kind is None:
            raise ModelError(
                f"{file} has the input {item.name} ({item.type}), which no NLI model needs"
            )
        shape = list(item.shape)
        if len(shape) != 2 or shape[0] not in (1, *_free(shape[0])) or not _free(shape[1]):
            raise ModelError(f"{file} takes {item.name} only in the shape {shape}: export it again")
        types[item.name] = kind
    if "input_ids" not in types:
        raise ModelError(f"{file} has no input called input_ids")
    return types


def _free(size: int | str | None) -> tuple[int | str | None, ...]:
    """The size itself where the model leaves it open, nothing where it is a number."""
    return () if isinstance(size, int) else (size,)


def physical_cores(topology: Path = Path("/sys/devices/system/cpu")) -> int:
    """The number of cores this process may use; two hardware threads of a core count once.

    topology  where the system describes its processors
    """
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    try:
        siblings = {
            (topology / f"cpu{number}" / "topology" / "thread_siblings_list").read_text()
            for number in allowed
        }
    except OSError:
        return len(allowed)
    return len(siblings)
