"""The verifiers, loaded by name."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from halldetect.errors import ConfigurationError, MissingExtra, ModelError
from halldetect.machine.devices import torch_device
from halldetect.machine.download import Progress, no_progress
from halldetect.machine.integrity import WEIGHTS, require_shipped
from halldetect.protocols import Verifier
from halldetect.verification.peers import PEERS
from halldetect.verification.presets import (
    CASCADE,
    DEFAULT,
    HUB,
    LARGE,
    LARGE_BASE,
    PAPER,
    PAPER_MODEL,
    PAPER_REVISION,
    check_verifier_name,
)

_loaded: dict[tuple[str, int | None, str], Verifier] = {}
_locks: dict[tuple[str, int | None, str], Lock] = {}


def load_verifier(
    name: str | None = None,
    *,
    threads: int | None = None,
    device: str = "auto",
    progress: Progress = no_progress,
) -> Verifier:
    """Load the verifier of a name, once per process.

    Args:
        name: a name of `presets.VERIFIERS`; None: "base". Names win over folders.
        threads: None for one per core.
        device: "auto", "cpu", "cuda" or "mps", for `large` and transformers models.
        progress: receives the bytes converted: `large` is converted on first use.
    """
    name = DEFAULT if name is None else name
    check_verifier_name(name)
    if name == CASCADE:
        raise ConfigurationError(
            f"{CASCADE} stands for two verifiers and cannot be loaded as one; name {LARGE}"
        )

    named = name in (DEFAULT, LARGE, PAPER, *PEERS) or name.startswith(HUB)
    key = (name if named else str(Path(name).expanduser().resolve()), threads, device)
    with _locks.setdefault(key, Lock()):  # two models may be loaded at the same time
        if key not in _loaded:
            _loaded[key] = _load(name, named, threads, device, progress)
        return _loaded[key]


def _load(name: str, named: bool, threads: int | None, device: str, progress: Progress) -> Verifier:
    if name == LARGE:
        return _load_large(threads, device, progress)
    folder = WEIGHTS / name if name == DEFAULT else Path(name).expanduser()
    has_onnx = folder.suffix == ".onnx" or (folder / "model.onnx").is_file()
    if name == DEFAULT or (has_onnx and not named):
        from halldetect.verification.verifiers.onnx import OnnxVerifier

        digests = require_shipped(name, WEIGHTS) if named else None
        return OnnxVerifier(folder, name=name if named else None, threads=threads, digests=digests)
    if not named and not (folder / "config.json").is_file():
        raise ConfigurationError(f"{name} has neither a model.onnx nor a transformers model")
    from halldetect.verification.verifiers.transformers import TransformersVerifier

    if name == PAPER:
        return TransformersVerifier(
            PAPER_MODEL, name=name, revision=PAPER_REVISION, threads=threads, device=device
        )
    if name in PEERS:
        return TransformersVerifier(PEERS[name], name=name, threads=threads, device=device)
    model = name.removeprefix(HUB) if named else str(folder)
    return TransformersVerifier(model, threads=threads, device=device)


def _load_large(threads: int | None, device: str, progress: Progress) -> Verifier:
    from halldetect.large.load import load_large
    from halldetect.machine import catalogue, store

    if not all(map(find_spec, ("onnx", "safetensors", "tokenizers"))):
        raise MissingExtra(f"the verifier {LARGE}", LARGE)
    base = catalogue.find(LARGE_BASE)
    if not store.location(base).is_file():  # an existing file may still be corrupt
        raise ModelError(
            f"the verifier {LARGE} needs a language model that is not on this machine; "
            f"halldetect models pull {LARGE} downloads it, --fallback {DEFAULT} does without"
        )
    require_shipped(LARGE, WEIGHTS)
    return load_large(
        store.path(LARGE_BASE),
        WEIGHTS / LARGE / "adapter.lora8",
        device=torch_device(device),
        threads=threads,
        base_sha256=base.sha256,
        progress=progress,
    )
