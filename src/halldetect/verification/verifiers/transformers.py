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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import MissingExtra, ModelError
from halldetect.machine.devices import out_of_memory, torch_device, torch_failure
from halldetect.machine.integrity import digest_of, file_digests, joint_digest
from halldetect.verification.peers import Head, Peer
from halldetect.verification.verifiers.classifier import STATED, Classifier, Labels, reading_limit
from halldetect.verification.verifiers.encoding import Encoded, PairEncoder
from halldetect.verification.verifiers.networks import build_network, from_hub, weights_file

# Rows times length of every run on a GPU. When memory runs out it is halved, down to one pair.
GPU_TOKENS = 4096
# Lengths on a GPU are multiples of this: few lengths fill their runs with few copies.
LENGTH_STEP = 64
# Marks padding in a packed pair, and the bytes of a packed token: its number and type.
_PADDING, _TOKEN_BYTES = -1, 8
Feeds = Callable[[Any], dict[str, Any]]  # makes the inputs of a network from packed pairs


class TransformersVerifier(Classifier):
    """A sequence classifier by its name on the hub or its folder, or the detector of a `Peer`.

    Labels and limits are those of the configuration, or of the `Peer`.
    """

    def __init__(
        self,
        model: str | Peer,
        *,
        name: str | None = None,
        revision: str = "main",
        threads: int | None = None,
        device: str = "auto",
    ) -> None:
        """Load a model by its name on the hub, its folder or its format; see `load_verifier`."""
        peer = Peer(model, "", (), 0, revision=revision) if isinstance(model, str) else model
        try:
            import torch
            import transformers
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(f"the verifier {name or peer.model}", "hf") from error
        self._torch = torch
        name = name or peer.model
        self._peer = peer
        self._device = torch_device(device)
        self._step, self._tokens = (1, 1) if self._device == "cpu" else (LENGTH_STEP, GPU_TOKENS)
        self._recorded: dict[tuple[int, ...], Recorded | None] = {}
        self._lock = RLock()  # recorded kernels read and write fixed places
        # A GPU needs many pairs of each length: copies fill the rest of a run.
        self.pairs_at_once = 64 if self._device == "cpu" else 8192
        self._on_cuda = self._device.startswith("cuda")
        # T5 leaves the range of half precision.
        half = self._on_cuda and peer.head in (Head.CLASSIFIER, Head.ALIGNSCORE)
        self._dtype = torch.float16 if half else torch.float32
        if threads is not None and self._device == "cpu":
            torch.set_num_threads(threads)
        # Notices and progress bars about loading are silenced, those about downloads stay.
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it logs every retry
        origin = (peer.base, "main") if peer.base else (peer.model, peer.revision)
        config = from_hub(transformers.AutoConfig, *origin)
        _refuse_kernels(config, name)
        tokenizer = from_hub(transformers.AutoTokenizer, *origin)
        self._commit = None if peer.base else getattr(config, "_commit_hash", None)
        settings = {**config.to_dict(), "id2label": config.id2label}
        self._stated = {key: settings[key] for key in STATED if key in settings}
        labels = Labels(peer.labels) if peer.labels else Labels.from_config(settings, name)
        stated = {"model_max_length": tokenizer.model_max_length}
        limit = peer.limit or reading_limit(settings, stated)
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(f"{name}: its tokenizer has no fast version, the only kind supported")
        # A copy: its settings are changed.
        copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._padding = tokenizer.pad_token_id or 0
        encoder = PairEncoder(copy, peer.template, self._padding)
        super().__init__(name, labels, encoder, limit)
        self._types = "token_type_ids" in tokenizer.model_input_names
        network = build_network(peer, config)
        try:
            self._network = network.to(device=self._device, dtype=self._dtype).eval()
        except RuntimeError as error:
            raise torch_failure(self._name, error, self._device) from error

    @cached_property
    def description(self) -> dict[str, Any]:
        """Return the facts for the report; see `protocols`."""
        import transformers

        # The commit identifies a model of the hub; its folder here has only the files in use.
        folder = Path(self._peer.model)
        whole = {"folder_digest": joint_digest(file_digests(folder))} if folder.is_dir() else {}
        return {
            "name": self._name,
            "kind": "transformers",
            "model": self._peer.model,
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

    def _packed(self, pair: Encoded) -> bytes:
        """Return numbers and types of a padded pair: quick to send, and to join with others."""
        filled = np.full((2, -(-len(pair) // self._step) * self._step), _PADDING, np.int32)
        filled[:, : len(pair)] = pair.ids, pair.types
        return filled.tobytes()

    def _run_all(self, packed: Sequence[bytes]) -> NDArray[Any]:
        order: list[int] = []
        queued: list[Any] = []
        with self._lock, self._torch.inference_mode():
            for indices, rows in runs([len(pair) // _TOKEN_BYTES for pair in packed], self._tokens):
                order += indices
                try:
                    queued.append(self._run([packed[at] for at in indices], rows))
                except RuntimeError as error:
                    if rows == 1 or not out_of_memory(error):
                        raise torch_failure(self._name, error, self._device) from error
                    self._tokens //= 2
                    self._recorded.clear()
                    self._torch.cuda.empty_cache()
                    return self._run_all(packed)
            logits = self._torch.cat(queued).to("cpu", non_blocking=self._on_cuda)
            if self._on_cuda:
                done = self._torch.cuda.Event(blocking=True)  # waiting leaves the core to others
                done.record()
        if self._on_cuda:  # meanwhile another thread can queue its runs
            done.synchronize()
        return np.asarray(logits)[np.argsort(order)]

    def _run(self, pairs: list[bytes], rows: int) -> Any:
        """Return the logits of a run as a tensor on the device; do not wait for them."""
        filled = bytearray().join([*pairs, *pairs[:1] * (rows - len(pairs))])
        given = self._torch.frombuffer(filled, dtype=self._torch.int32).view(rows, 2, -1)
        if self._on_cuda:
            given = given.pin_memory()
            recorded = self._recording(given)
            if recorded is not None:
                return recorded.replay(given)[: len(pairs)]
        return self._network(**self._feeds(given.to(self._device))).logits.float()[: len(pairs)]

    def _feeds(self, given: Any) -> dict[str, Any]:
        """Return the inputs of the network for packed pairs on its device."""
        ids, types = given.long().unbind(1)
        mask = ids != _PADDING
        feeds = {"input_ids": ids.masked_fill(~mask, self._padding), "attention_mask": mask.long()}
        return feeds | ({"token_type_ids": types.clamp(min=0)} if self._types else {})

    def _recording(self, given: Any) -> Recorded | None:
        """Return the recorded kernels of a shape; None if this model cannot be recorded."""
        shape = tuple(given.shape)
        if shape not in self._recorded:
            try:
                self._recorded[shape] = Recorded(self._network, self._feeds, given)
            except Exception as error:  # of the network, which may be any
                if isinstance(error, RuntimeError) and out_of_memory(error):
                    raise
                self._recorded[shape] = None
        return self._recorded[shape]

    def _weights(self) -> list[Path]:
        from transformers.utils import cached_file

        if self._peer.file:
            return [weights_file(self._peer)]
        config = Path(cached_file(self._peer.model, "config.json", revision=self._commit))
        found = (sorted(config.parent.glob(kind)) for kind in ("*.safetensors", "*.bin"))
        return next(filter(None, found), [])


class Recorded:
    """The kernels of a network for inputs of one shape, recorded as a CUDA graph."""

    def __init__(self, network: Any, feeds: Feeds, given: Any) -> None:
        """Record the kernels, with packed pairs of the shape.

        Raises RuntimeError if they depend on the values of the inputs, or if they give other logits
        than the network: some networks do not take a mask that is ready to be added.
        """
        import torch

        self._given = given.to(network.device)
        plain = network(**feeds(self._given)).logits.float()
        # The kernels read it from its place in memory, so it is kept.
        with quick_attention(network, given.shape[-1]) as self._distances:
            run = partial(logits_of, network, feeds, self._given, self._distances)
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):  # libraries choose their kernels in the first runs
                for _ in range(2):
                    run()
            torch.cuda.current_stream().wait_stream(stream)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._logits = run()
        if not torch.allclose(self.replay(given), plain, atol=0.02):
            raise RuntimeError("recorded kernels give other logits")

    def replay(self, given: Any) -> Any:
        """Return the logits of packed pairs of the recorded shape."""
        self._given.copy_(given, non_blocking=True)
        self._graph.replay()
        return self._logits.clone()


def logits_of(network: Any, feeds: Feeds, given: Any, distances: Any) -> Any:
    """Return the logits of packed pairs, with a mask that is ready to be added to the scores."""
    inputs = feeds(given)
    bias = inputs["attention_mask"].to(network.dtype).log()  # minus infinity for padding
    return network(**inputs | {"attention_mask": bias[:, None, None] + distances}).logits.float()


@contextmanager
def quick_attention(network: Any, length: int) -> Iterator[Any]:
    """Let MPNet attend in one kernel; yield the bias for distances, which its mask must contain.

    Its own code stores all scores five times in each layer, and makes this bias for each run.
    """
    encoder = getattr(getattr(network, "mpnet", None), "encoder", None)
    if encoder is None:
        yield 0
        return
    modules = [layer.attention.attn for layer in encoder.layer]
    states = encoder.relative_attention_bias.weight.new_empty(1, length, 1)
    distances = encoder.compute_position_bias(states)
    encoder.compute_position_bias = lambda states: None
    for module in modules:
        module.forward = partial(_attend, module)
    try:
        yield distances
    finally:
        del encoder.compute_position_bias
        for module in modules:
            del module.forward


def _attend(module: Any, states: Any, mask: Any, *_: Any, **__: Any) -> tuple[Any]:
    """Take the place of `MPNetSelfAttention.forward`."""
    from torch.nn.functional import scaled_dot_product_attention

    parts = (part(states) for part in (module.q, module.k, module.v))
    heads = (module.num_attention_heads, -1)
    query, key, value = (part.unflatten(-1, heads).transpose(1, 2) for part in parts)
    mixed = scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return (module.o(mixed.transpose(1, 2).flatten(-2)),)


def runs(lengths: Sequence[int], tokens: int) -> Iterator[tuple[Sequence[int], int]]:
    """Yield the pairs of equal length to run together, and the rows of the run; longest first.

    `tokens` is rows times length of a run; a run has one row or more.
    """
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length, []).append(index)
    for length, indices in sorted(groups.items(), reverse=True):
        rows = max(1, tokens // length)
        for start in range(0, len(indices), rows):
            yield indices[start : start + rows], rows


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
