"""From a base model and an adapter to a large verifier on a runtime of this machine."""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from halldetect.errors import ConfigurationError, MissingExtra, ModelError
from halldetect.large.adapter import read_adapter
from halldetect.large.answer_prompt import Prompt
from halldetect.large.backend import Backend
from halldetect.large.gguf_tensors import GgufFile
from halldetect.large.made_once import no_progress
from halldetect.large.shape import Shape
from halldetect.large.verifier import LargeVerifier
from halldetect.models.download import Progress
from halldetect.models.integrity import digest_of
from halldetect.models.store import home

Device = Literal["cpu", "cuda", "mps"]
Runtime = Literal["auto", "onnx", "llama", "torch"]
CONTEXT = 8192
_FOLDER = re.compile("[0-9a-f]{12}-[0-9a-f]{12}")  # beginnings of the digests of base and adapter


def load_large(
    base: Path,
    adapter: Path,
    *,
    device: str = "cpu",
    runtime: Runtime = "auto",
    threads: int | None = None,
    context: int = CONTEXT,
    compiled: bool = False,
    base_sha256: str | None = None,
    cache: Path | None = None,
    progress: Progress = no_progress,
) -> LargeVerifier:
    """Load the large verifier.

    Args:
        base: the base model, a GGUF file.
        adapter: the adapter, a `.lora8` file. `config.json` beside it may state `calibration`, the
            parameters of halldetect.scoring.Calibration, and `operating_points`.
        device: where to compute.
        runtime: "auto" takes onnxruntime for a CPU and torch for a GPU; llama.cpp if torch is not
            installed.
        threads: threads on a CPU; one per core if None.
        context: the most tokens of a passage, a claim and the question together.
        compiled: compile the layers (torch on CUDA only); pays for thousands of passages.
        base_sha256: digest of the base if it is known already, which saves reading the file.
        cache: folder for what runtimes make of base and adapter; that of the model store if None.
        progress: told while the base is converted for onnxruntime, the first time only.

    Raises ModelError if a file is missing or the adapter belongs to another base,
    ConfigurationError if device, runtime and context do not go together.
    """
    chosen = chosen_runtime(device, runtime)
    if not base.is_file():
        raise ModelError(
            f"the base model of large is not at {base}; `halldetect models pull large` fetches it"
        )
    if not adapter.is_file():
        raise ModelError(
            f"the adapter of large is not at {adapter}; `halldetect models pull large` fetches it"
        )
    found = read_adapter(adapter)
    settings = settings_beside(adapter)
    digest = base_sha256 or digest_of(base)
    if found.base_sha256 != digest:
        raise ModelError(
            f"the adapter {adapter.name} belongs to a base with sha256 {found.base_sha256[:16]}, "
            f"{base.name} has {digest[:16]}; `halldetect models pull large` fetches both"
        )
    model = GgufFile(base)
    shape = Shape.of(model)
    if not 0 < context <= shape.context:
        raise ConfigurationError(
            f"context must lie between 1 and {shape.context}, which the model reads, not {context}"
        )
    found.check_fits(shape.maps, shape.layers)
    prompt = Prompt(model)
    if context <= prompt.frame_tokens:
        raise ConfigurationError(f"a context of {context} tokens has no room for a passage")
    adapter_digest = digest_of(adapter)
    folder = (cache or home() / "models" / "large") / f"{digest[:12]}-{adapter_digest[:12]}"
    _remove_others(folder)
    backend: Backend
    if chosen == "torch":
        from halldetect.large.torch_backend import torch_backend

        backend = torch_backend(
            model, found, prompt.answers, device=device, threads=threads, compiled=compiled
        )
    elif chosen == "onnx":
        from halldetect.large.onnx_backend import onnx_backend

        backend = onnx_backend(
            model,
            found,
            prompt.answers,
            folder,
            context=context,
            threads=threads,
            progress=progress,
        )
    else:
        from halldetect.large.llama_backend import llama_backend

        backend = llama_backend(
            model, found, prompt.answers, folder, context=context, device=device, threads=threads
        )
    return LargeVerifier(
        backend,
        prompt,
        context=context,
        temperature=found.temperature,
        description={
            "kind": chosen,
            "digest": adapter_digest,
            "base_digest": digest,
            "languages": None if found.languages is None else list(found.languages),
            "calibration": settings.get("calibration"),
            "operating_points": settings.get("operating_points"),
        },
    )


def settings_beside(adapter: Path) -> dict[str, Any]:
    """What `config.json` beside an adapter says; nothing if there is none."""
    config = adapter.with_name("config.json")
    if not config.is_file():
        return {}
    try:
        found = json.loads(config.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{config} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ModelError(f"{config} holds no JSON object")
    return found


def _remove_others(folder: Path) -> None:
    """Remove what runtimes made of other bases and adapters, which is 1.5 GB each.

    Only when something new is to be made: two installations that share a cache, each with an
    adapter of its own, otherwise would remove each other's files at every start.
    """
    if folder.is_dir() or not folder.parent.is_dir():
        return
    for other in folder.parent.iterdir():
        if _FOLDER.fullmatch(other.name) and other != folder:
            shutil.rmtree(other, ignore_errors=True)


def chosen_runtime(device: str, runtime: str = "auto") -> str:
    """The runtime for a device; an error if it is not installed or cannot use it.

    Args:
        device: where to compute.
        runtime: the one that was asked for, or "auto".
    """
    if device not in get_args(Device):
        raise ConfigurationError(f"unknown device {device!r}; known are {_listed(Device)}")
    if runtime not in get_args(Runtime):
        raise ConfigurationError(f"unknown runtime {runtime!r}; known are {_listed(Runtime)}")
    if runtime == "onnx" and device != "cpu":
        raise ConfigurationError(f"the runtime onnx computes on a CPU, not on {device}")
    if runtime == "auto":
        if device == "cpu":
            return "onnx"
        return "torch" if find_spec("torch") else "llama"
    module, extra = {
        "onnx": ("onnxruntime", ""),
        "torch": ("torch", "hf"),
        "llama": ("xllamacpp", "llm"),
    }[runtime]
    if find_spec(module) is None:
        raise MissingExtra(f"the runtime {runtime}", extra)
    return runtime


def _listed(names: object) -> str:
    return ", ".join(get_args(names))
