"""Any NLI classifier of the hub or a folder, through PyTorch: fp32 on a processor, fp16 on a GPU.

The shape of each run depends on one pair alone, never on the others of the call:

- On a processor a run holds one pair, unpadded.
- Single pairs would waste a GPU. A pair is padded to the next of a few lengths. A run always
  holds the number of rows of that length that fits a fixed number of tokens; copies fill empty
  rows. The same shape means the same kernels, and rows do not mix. The kernels of each shape are
  recorded once and then started together, since starting them one by one takes longer than they do.

Results are thus the same alone, batched and shuffled, without rounding.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from halldetect.errors import FetchError, MissingExtra, ModelError, one_line
from halldetect.models.integrity import digest_of, file_digests, joint_digest
from halldetect.models.store import offline
from halldetect.report import Probabilities
from halldetect.verification.devices import out_of_memory, torch_device, torch_failure
from halldetect.verification.verifiers.classifier import Classifier, Labels, reading_limit
from halldetect.verification.verifiers.encoding import Encoded, PairEncoder

# Rows times length of every run on a GPU. When memory runs out it is halved, down to one pair.
GPU_TOKENS = 4096
# Lengths on a GPU are multiples of this: few lengths fill their runs with few copies.
LENGTH_STEP = 64


class TransformersVerifier(Classifier):
    """A sequence classifier by its name on the hub or its folder; labels from its configuration."""

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        revision: str = "main",
        threads: int | None = None,
        device: str = "auto",
    ) -> None:
        """Load a model by its name on the hub or its folder; see `load_verifier`."""
        try:
            import torch
            import transformers
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(f"the verifier {name or model}", "hf") from error
        self._torch = torch
        name = name or model
        self._model = model
        self._device = torch_device(device)
        self._gpu_tokens = GPU_TOKENS
        self._recorded: dict[tuple[int, int], Recorded | None] = {}
        self._lock = Lock()  # recorded kernels read and write fixed places
        # A GPU needs many pairs of each length: copies fill the rest of a run.
        self.pairs_at_once = 64 if self._device == "cpu" else 8192
        self._dtype = torch.float16 if self._device.startswith("cuda") else torch.float32
        if threads is not None and self._device == "cpu":
            torch.set_num_threads(threads)
        # Notices and progress bars about loading are silenced, those about downloads stay.
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it logs every retry
        config = _load(transformers.AutoConfig, model, revision)
        _refuse_kernels(config, name)
        tokenizer = _load(transformers.AutoTokenizer, model, revision)
        self._commit = getattr(config, "_commit_hash", None)
        settings = {**config.to_dict(), "id2label": config.id2label}
        known = ("languages", "calibration", "operating_points")
        self._stated = {key: settings[key] for key in known if key in settings}
        self._labels = Labels.from_config(settings, name)
        stated = {"model_max_length": tokenizer.model_max_length}
        limit = reading_limit(settings, stated)
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(f"{name}: its tokenizer has no fast version, the only kind supported")
        # A copy: its settings are changed.
        copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        super().__init__(name, PairEncoder(copy), limit)
        self._types = "token_type_ids" in tokenizer.model_input_names
        self._padding = tokenizer.pad_token_id or 0
        network = _load(
            transformers.AutoModelForSequenceClassification, model, revision, use_safetensors=True
        )
        try:
            self._network = network.to(device=self._device, dtype=self._dtype).eval()
        except RuntimeError as error:
            raise torch_failure(self._name, error, self._device) from error

    @cached_property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        import transformers

        # The commit identifies a model of the hub; its folder here has only the files in use.
        folder = Path(self._model)
        whole = {"folder_digest": joint_digest(file_digests(folder))} if folder.is_dir() else {}
        return {
            "name": self._name,
            "kind": "transformers",
            "model": self._model,
            "commit": self._commit,
            **{f"digest of {file.name}": digest_of(file) for file in self._weights()},
            **whole,
            "max_tokens": self.max_tokens,
            "labels": list(self._labels.meanings),
            **self._stated,
            "precision": str(self._dtype).removeprefix("torch."),
            "device": self._device,
            "runtime": f"torch {self._torch.__version__}, transformers {transformers.__version__}",
        }

    def _run_all(self, encoded: Sequence[Encoded]) -> list[Probabilities]:
        results: dict[int, Probabilities] = {}
        shape = (1, 1) if self._device == "cpu" else (self._gpu_tokens, LENGTH_STEP)
        queued: list[tuple[Sequence[int], Any]] = []
        for indices, length, rows in runs(encoded, *shape):
            try:
                queued.append((indices, self._run([encoded[at] for at in indices], length, rows)))
            except RuntimeError as error:
                if rows == 1 or not out_of_memory(error):
                    raise torch_failure(self._name, error, self._device) from error
                self._gpu_tokens //= 2
                self._recorded.clear()
                self._torch.cuda.empty_cache()
                return self._run_all(encoded)
        for indices, logits in queued:
            for index, values in zip(indices, np.asarray(logits.cpu()), strict=False):
                results[index] = self._labels.read(values, self._name)  # copies are ignored
        return [results[index] for index in range(len(encoded))]

    def _run(self, pairs: Sequence[Encoded], length: int, rows: int) -> Any:
        """Return the logits of a run as a tensor on the device; do not wait for them."""
        filled = np.zeros((3, rows, length), np.int64)
        ids, types, mask = filled
        ids += self._padding
        for row, pair in enumerate(pairs):
            ids[row, : len(pair)] = pair.ids
            types[row, : len(pair)] = pair.types
            mask[row, : len(pair)] = 1
        filled[:, len(pairs) :] = filled[:, :1]
        arrays = {"input_ids": ids, "attention_mask": mask}
        if self._types:
            arrays["token_type_ids"] = types
        feeds = {key: self._torch.from_numpy(value) for key, value in arrays.items()}
        with self._lock, self._torch.inference_mode():
            if self._device.startswith("cuda"):
                recorded = self._recording(feeds, (rows, length))
                if recorded is not None:
                    return recorded.replay(feeds)
            moved = {key: value.to(self._device) for key, value in feeds.items()}
            return self._network(**moved).logits.float()

    def _recording(self, feeds: dict[str, Any], shape: tuple[int, int]) -> Recorded | None:
        """Return the recorded kernels of a shape; None if this model cannot be recorded."""
        if shape not in self._recorded:
            try:
                self._recorded[shape] = Recorded(self._network, feeds, self._device)
            except Exception as error:  # of the network, which may be any
                if isinstance(error, RuntimeError) and out_of_memory(error):
                    raise
                self._recorded[shape] = None
        return self._recorded[shape]

    def _weights(self) -> list[Path]:
        from transformers.utils import cached_file

        config = cached_file(self._model, "config.json", revision=self._commit)
        return sorted(Path(config).parent.glob("*.safetensors"))


class Recorded:
    """The kernels of a network for inputs of one shape, recorded as a CUDA graph."""

    def __init__(self, network: Any, feeds: dict[str, Any], device: str) -> None:
        """Record the kernels.

        Raises RuntimeError if they depend on the values of the inputs, or if they give other logits
        than the network: some networks do not take a mask that is ready to be added.
        """
        import torch

        self._feeds = {key: value.to(device) for key, value in feeds.items()}
        plain = network(**self._feeds).logits.float()
        self._least = torch.finfo(network.dtype).min
        self._bias = torch.zeros(feeds["attention_mask"].shape, device=device, dtype=network.dtype)
        self._copy(feeds)
        given = {**self._feeds, "attention_mask": self._bias[:, None, None]}
        # The kernels read it from its place in memory, so it is kept.
        with ready_distances(network, self._feeds["input_ids"]) as self._distances:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):  # libraries choose their kernels in the first runs
                for _ in range(2):
                    network(**given)
            torch.cuda.current_stream().wait_stream(stream)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._logits = network(**given).logits.float()
        if not torch.allclose(self.replay(feeds), plain, atol=0.02):
            raise RuntimeError("recorded kernels give other logits")

    def replay(self, feeds: dict[str, Any]) -> Any:
        """Return the logits of inputs of the recorded shape."""
        self._copy(feeds)
        self._graph.replay()
        return self._logits.clone()

    def _copy(self, feeds: dict[str, Any]) -> None:
        for key, value in feeds.items():
            self._feeds[key].copy_(value)
        self._bias.fill_(0).masked_fill_(self._feeds["attention_mask"] == 0, self._least)


@contextmanager
def ready_distances(network: Any, ids: Any) -> Iterator[Any]:
    """Let MPNet use a ready bias for distances: it makes one for each run, on the processor."""
    encoder = getattr(getattr(network, "mpnet", None), "encoder", None)
    if encoder is None:
        yield None
        return
    ready = encoder.compute_position_bias(ids[..., None])
    encoder.compute_position_bias = lambda states: ready
    try:
        yield ready
    finally:
        del encoder.compute_position_bias


def runs(
    encoded: Sequence[Encoded], tokens: int, step: int = LENGTH_STEP
) -> Iterator[tuple[Sequence[int], int, int]]:
    """Yield the pairs to run together, their padded length and the rows; longest first.

    `tokens` is rows times length of a run; a run has one row or more. Lengths are padded to
    multiples of `step`.
    """
    groups: dict[int, list[int]] = {}
    for index in sorted(range(len(encoded)), key=lambda index: -len(encoded[index])):
        padded = -(-len(encoded[index]) // step) * step
        groups.setdefault(padded, []).append(index)
    for length, indices in groups.items():
        rows = max(1, tokens // length)
        for start in range(0, len(indices), rows):
            yield indices[start : start + rows], length, rows


def _load(kind: Any, model: str, revision: str, **options: Any) -> Any:
    """Call `kind.from_pretrained` with one-line errors: transformers raises OSError for all.

    Code that comes with a model is never run.
    """
    local = Path(model).is_dir()
    if not local:
        options["revision"] = revision
    try:
        return kind.from_pretrained(
            model, local_files_only=local or offline(), trust_remote_code=False, **options
        )
    except ImportError as error:  # a tokenizer that needs sentencepiece or protobuf
        raise MissingExtra(f"the verifier {model} ({one_line(error)[:80]})", "hf") from error
    except Exception as error:
        reason = one_line(error).split(". ")[0][:200]
        if local:
            raise ModelError(f"{model} cannot be loaded: {reason}") from error
        if offline():
            raise FetchError(
                f"{model} is not in the hub's cache, and HALLDETECT_OFFLINE forbids fetching it"
            ) from error
        raise FetchError(f"{model} could not be fetched from the hub: {reason}") from error


def _refuse_kernels(config: Any, where: str) -> None:
    """Raise ModelError if a configuration requests attention code from a repository."""
    parts = (config, *(getattr(config, name, None) for name in getattr(config, "sub_configs", ())))
    for part in parts:
        wanted = getattr(part, "_attn_implementation", None)
        for name in wanted.values() if isinstance(wanted, dict) else (wanted,):
            if isinstance(name, str) and "/" in name:
                raise ModelError(
                    f"{where}: its config.json asks for code from {name[:80]!r}; code that comes "
                    "with a model is never run"
                )
