"""llama.cpp in this process: start its server for a GGUF model."""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from halldetect.errors import MissingExtra, ModelError, one_line

# More threads than this only wait for each other on models of this size.
_MAX_THREADS = 8


def start(
    path: Path,
    threads: int,
    seed: int,
    context: int,
    *,
    pooling: str | None = None,
) -> Any:
    """Start a server for one model and one text at a time.

    Args:
        path: the GGUF file.
        threads: how many threads compute.
        seed: of the sampling.
        context: how many tokens the model reads and writes at most.
        pooling: makes it an embedder: "model" for the way the file states, or "mean".
    """
    xllamacpp = _load_library()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.sampling.seed = seed
    params.verbosity = -1
    params.warmup = False
    params.fit_params = False
    params.cache_ram_mib = 0
    params.use_jinja = True
    # The library also listens on a loopback port, which we do not use: without this key,
    # nobody else can use it either.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.endpoint_slots = False
    params.cors_origins = ""
    if pooling is not None:
        params.embedding = True
        # An embedder reads a text in one batch or not at all.
        params.n_batch = params.n_ubatch = context
        if pooling == "mean":
            params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    try:
        return xllamacpp.Server(params)
    except Exception as error:
        raise ModelError(f"llama.cpp cannot load {path}: {one_line(error)}") from error


def require_library() -> None:
    """Raise MissingExtra if llama.cpp is not installed."""
    if find_spec("xllamacpp") is None:
        raise MissingExtra("a GGUF model", "llm")


def _load_library() -> Any:
    require_library()
    # Waiting threads of the OpenMP runtime spin; if other programs need the processor too, that
    # makes two threads many times slower than one. It reads this once, when it is loaded.
    bounded = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1"}
    added = {key: value for key, value in bounded.items() if key not in os.environ}
    os.environ.update(added)
    try:
        import xllamacpp
    except ImportError as error:
        raise ModelError(
            f"llama.cpp cannot be loaded ({one_line(error)}); install xllamacpp again, "
            "or use the extractor `sentences`"
        ) from error
    finally:
        for key in added:
            os.environ.pop(key, None)
    return xllamacpp


def default_threads() -> int:
    """As many threads as there are cores, up to the number that is still faster."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    return max(1, min(available, _MAX_THREADS))
