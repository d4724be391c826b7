"""Models that judge a claim against a window, and how they are loaded by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from halldetect.errors import ConfigurationError, MissingExtra, ModelError
from halldetect.models.download import Progress
from halldetect.models.integrity import WEIGHTS
from halldetect.protocols import Verifier
from halldetect.verification.devices import torch_device
from halldetect.verification.presets import CASCADE, DEFAULT, LARGE, LARGE_BASE, PRESETS

_HUB = "hf:"

_loaded: dict[tuple[str, int | None, str], Verifier] = {}
_lock = Lock()


def load_verifier(
    spec: str | None = None,
    *,
    threads: int | None = None,
    device: str = "auto",
    notice: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verifier:
    """The verifier of a name, loaded once per process.

    spec     None or "default": the weights in the package, which are also called "base"; "large":
             our adapter on a language model; a folder with an .onnx file or a transformers
             model; a name of `presets`; or hf:NAME, a model on the hub
    threads  None: as many as there are cores
    device   where `large` and transformers models compute: "auto", "cpu", "cuda" or "mps"
    notice   gets a line where loading takes long: `large` is converted on its first use
    progress gets how many bytes are converted, and of how many
    """
    if threads is not None and threads < 1:
        raise ConfigurationError(f"threads must be at least 1, not {threads}")
    name = DEFAULT if spec is None or spec == "default" else spec
    folder = _folder(name)
    key = (name if folder is None else str(folder.resolve()), threads, device)
    with _lock:
        if key not in _loaded:
            _loaded[key] = _load(name, folder, threads, device, _told(notice, progress))
        return _loaded[key]


def _folder(name: str) -> Path | None:
    """Where the verifier lies, unless it is one of the hub. Names win over folders."""
    if name in (DEFAULT, LARGE):
        return WEIGHTS / name
    if name in PRESETS or name.startswith(_HUB):
        return None
    folder = Path(name).expanduser()
    if not name.strip() or not folder.exists():
        raise ConfigurationError(_unknown(name))
    return folder


def _told(
    notice: Callable[[str], None] | None, progress: Callable[[int, int], None] | None
) -> Progress:
    def tell(done: int, total: int | None, what: str) -> None:
        if done == 0 and notice is not None:
            notice(what)
        if total and progress is not None:
            progress(done, total)

    return tell


def _load(
    name: str, folder: Path | None, threads: int | None, device: str, progress: Progress
) -> Verifier:
    if folder is None:
        from halldetect.verification.verifiers.transformers import TransformersVerifier

        if name in PRESETS:
            return TransformersVerifier(PRESETS[name], name=name, threads=threads, device=device)
        return TransformersVerifier(name.removeprefix(_HUB), threads=threads, device=device)
    if name == LARGE:
        return _load_large(folder, threads, device, progress)
    if name == DEFAULT:
        from halldetect.models import require_shipped
        from halldetect.verification.verifiers.onnx import OnnxVerifier

        digests = require_shipped(name, WEIGHTS)
        return OnnxVerifier(folder, name=name, threads=threads, digests=digests)
    if folder.suffix == ".onnx" or any(folder.glob("*.onnx")):
        from halldetect.verification.verifiers.onnx import OnnxVerifier

        return OnnxVerifier(folder, threads=threads)
    if (folder / "config.json").is_file():
        from halldetect.verification.verifiers.transformers import TransformersVerifier

        return TransformersVerifier(str(folder), threads=threads, device=device)
    raise ConfigurationError(f"{name} has neither an .onnx file nor a transformers model")


def _load_large(folder: Path, threads: int | None, device: str, progress: Progress) -> Verifier:
    from halldetect import models
    from halldetect.large import load_large

    if find_spec("tokenizers") is None:
        raise MissingExtra(f"the verifier {LARGE}", LARGE)
    base = models.find(LARGE_BASE)
    if not models.location(base).is_file():  # one that is there may still be corrupt
        raise ModelError(
            f"the verifier {LARGE} needs a language model that is not on this machine; "
            f"run: halldetect models pull {LARGE}, or add --fallback {DEFAULT}"
        )
    models.require_shipped(LARGE, WEIGHTS)
    return load_large(
        models.path(LARGE_BASE),
        folder / "adapter.lora8",
        device=torch_device("auto") if device == "auto" else device,
        threads=threads,
        base_sha256=base.sha256,
        progress=progress,
    )


def _unknown(name: str) -> str:
    if name.strip() and "/" in name:
        return f"no folder {name}; a model on the hub is written {_HUB}{name}"
    if name == CASCADE:
        return f"{CASCADE} stands for two verifiers and cannot be loaded as one; name {LARGE}"
    names = ["default", DEFAULT, LARGE, CASCADE, *PRESETS]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.4)
    advice = f"did you mean {near[0]}?" if near else f"known names: {', '.join(names)}"
    return f"unknown verifier {name!r}; {advice}"
