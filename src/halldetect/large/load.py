"""Load the large verifier: base model and adapter, on a runtime of this machine."""

from __future__ import annotations

from pathlib import Path

from halldetect.errors import ModelError
from halldetect.large.adapter import read_adapter
from halldetect.large.answer_prompt import Prompt
from halldetect.large.gguf import GgufFile
from halldetect.large.shape import Shape
from halldetect.large.verifier import Backend, LargeVerifier
from halldetect.machine.download import Progress, no_progress
from halldetect.machine.integrity import digest_of
from halldetect.machine.store import home
from halldetect.reading.languages import LANGUAGES
from halldetect.verification.presets import uses_openvino
from halldetect.verification.verifiers.onnx import read_object

CONTEXT = 8192  # most tokens of a passage, a claim and the question together


def load_large(
    base: Path,
    adapter: Path,
    *,
    device: str = "cpu",
    runtime: str | None = None,
    threads: int | None = None,
    base_sha256: str | None = None,
    cache: Path | None = None,
    progress: Progress = no_progress,
) -> LargeVerifier:
    """Load the large verifier from a GGUF file and an adapter, a `.lora8` file.

    `config.json` beside the adapter may state `calibration` and `operating_points`.

    Args:
        device: "cpu", "cuda" or "mps".
        runtime: "openvino", "onnx" or "torch"; None: see `chosen_runtime`.
        threads: threads on a CPU; one per core if None.
        base_sha256: digest of the base, if already known.
        cache: folder for the converted model; that of the model store if None.
        progress: called while the base is converted, on first use only.

    Raises ModelError if the base is missing or the adapter belongs to another one.
    """
    chosen = runtime or chosen_runtime(device)
    found = read_adapter(adapter, maps=False)
    model = GgufFile(base)
    digest, adapter_digest = base_sha256 or digest_of(base), digest_of(adapter)
    if found.base_sha256 != digest:
        raise ModelError(
            f"the adapter {adapter.name} belongs to a base with sha256 {found.base_sha256[:16]}, "
            f"{base.name} has {digest[:16]}; `halldetect models pull large` fetches the right one"
        )
    # From here on, nothing is checked: the adapter names the digest of its base.
    prompt, context = Prompt(model), min(CONTEXT, Shape.of(model).context)
    backend: Backend
    if chosen == "torch":
        from halldetect.large.torch_backend import torch_backend

        backend = torch_backend(model, read_adapter(adapter), prompt.answers, device)
    else:
        from halldetect.large.onnx_backend import OnnxBackend
        from halldetect.large.onnx_convert import ROUNDING, converted

        place = (cache or home() / "models" / "large") / f"{digest[:12]}-{adapter_digest[:12]}"
        file = converted(place / f"onnx-{ROUNDING}", model, adapter, prompt.answers, progress)
        backend = OnnxBackend(file, model, kept_tokens=context, threads=threads, library=chosen)
    config = adapter.with_name("config.json")
    settings = read_object(config) if config.is_file() else {}
    description = {
        "kind": chosen,
        "digest": adapter_digest,
        "base_digest": digest,
        "languages": list(LANGUAGES),
        "trained_languages": list(found.languages),
        "calibration": settings.get("calibration"),
        "operating_points": settings.get("operating_points"),
    }
    return LargeVerifier(backend, prompt, context, found.temperature, description)


def chosen_runtime(device: str) -> str:
    """Return the fastest runtime for a device."""
    if device != "cpu":
        return "torch"
    return "openvino" if uses_openvino() else "onnx"
