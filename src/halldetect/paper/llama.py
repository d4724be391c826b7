"""GGUF models in llama.cpp, running in this process: find, fetch and start them."""

from __future__ import annotations

import os
import secrets
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from halldetect.errors import MissingExtra, ModelError, one_line
from halldetect.machine.catalogue import find
from halldetect.machine.devices import physical_cores
from halldetect.machine.download import Progress, no_progress
from halldetect.machine.integrity import digest_of
from halldetect.machine.store import path, pull

# Models of this size gain nothing from more threads.
_MAX_THREADS = 8


class LlamaFile:
    """The file of a model, the name that loads it again, and its digest."""

    def __init__(self, model: str | Path) -> None:
        """Find a model: a name of the store that is in the cache, or the path of a file."""
        self._stored = str(model).lower() if is_stored(model) else None
        self.path = Path(model).expanduser() if self._stored is None else path(self._stored)
        self.name = f"gguf:{self._stored or self.path.resolve()}"

    @cached_property
    def digest(self) -> str:
        """Return the sha256 of the file; a file outside the store is read in full."""
        return f"sha256:{find(self._stored).sha256 if self._stored else digest_of(self.path)}"


def is_stored(model: str | Path) -> bool:
    """Return True for a model name of the store, False for a path; else raise ModelError."""
    if isinstance(model, Path) or model.lower().endswith(".gguf") or os.sep in model:
        return False
    find(model)
    return True


def fetch_if_stored(model: str, progress: Progress = no_progress) -> None:
    """Download a model of the store unless it is in the cache; do nothing for a path."""
    if is_stored(model):
        pull(model, progress)


def start(path: Path, threads: int | None, seed: int, context: int) -> Any:
    """Start a server for one text at a time; `context` is the most tokens read and written."""
    require_library()
    # Waiting OpenMP threads spin, which makes two threads slower than one beside other programs.
    # The runtime reads these variables once, on import.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    os.environ.setdefault("KMP_BLOCKTIME", "1")
    try:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context
        params.n_parallel = 1
        threads = threads or min(physical_cores(), _MAX_THREADS)
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.sampling.seed = seed
        params.verbosity = -1
        params.warmup = False
        params.fit_params = False
        params.cache_ram_mib = 0
        params.use_jinja = True
        # The library also listens on a loopback port; this key blocks other users.
        params.api_keys = [secrets.token_urlsafe(32)]
        params.endpoint_slots = False
        params.cors_origins = ""
        return xllamacpp.Server(params)
    except Exception as error:  # the binding raises RuntimeError and others
        raise ModelError(f"llama.cpp cannot load {path}: {one_line(error)}") from error


def require_library() -> None:
    """Raise MissingExtra if llama.cpp is not installed."""
    if find_spec("xllamacpp") is None:
        raise MissingExtra("a GGUF model", "llm")
