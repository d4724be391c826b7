"""The large verifier with llama.cpp, on a CPU or any GPU that its build supports.

The server of llama.cpp keeps the keys and values of the last request. A request that begins with
the same tokens continues from them, so that the claims of a passage, sent one after the other,
have it evaluated once; `LlamaBackend.evaluated_tokens` counts what really was. The three answers
get a large bias, so that all the probability falls on them: their ratios stay what they were.
Answers may differ by up to 0.001 of a probability from one order of claims to another, since keys
and values are kept in 16 bits and sums are divided differently.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.errors import MissingExtra, ModelError, one_line
from halldetect.large.adapter import Adapter, write_llama_adapter
from halldetect.large.backend import Group, Logits, Tokens
from halldetect.large.gguf_tensors import GgufFile
from halldetect.models import llama

# Added to the logits of the answers: far above any logit, and float32 still has five places.
_BIAS = 100.0
# llama.cpp wants room for a token after the prompt.
_SPARE_TOKENS = 8
_ALL_LAYERS = 999
_LEAST = 1e-30  # a probability that is told as zero


def llama_backend(
    model: GgufFile,
    adapter: Adapter,
    answers: Sequence[int],
    folder: Path,
    *,
    context: int,
    device: str = "cpu",
    threads: int | None = None,
) -> LlamaBackend:
    """The backend; the adapter is written for llama.cpp on first use.

    Args:
        model: the base.
        adapter: what is added to it.
        answers: tokens of the three answers.
        folder: where the adapter is kept; it belongs to this base and adapter.
        context: the most tokens of a passage and claim.
        device: "cpu", or anything else for the GPU that this build of llama.cpp supports.
        threads: as many as there are cores, up to eight, if None.
    """
    file = folder / "adapter.gguf"
    try:
        if not file.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            draft = file.with_name(f"{file.name}.{os.getpid()}.partial")
            write_llama_adapter(draft, adapter)
            draft.replace(file)
    except OSError as error:
        raise ModelError(f"large: cannot write {file}: {error.strerror}") from error
    server = _server(
        model.path, file, context + _SPARE_TOKENS, threads or llama.default_threads(), device
    )
    return LlamaBackend(server, answers, device)


def _server(path: Path, adapter: Path, context: int, threads: int, device: str) -> Any:
    """A server for one request at a time, as `halldetect.models.llama` starts it for others."""
    xllamacpp = _imported()
    if device != "cpu" and not any(
        info["type"].name.endswith("GPU") for info in xllamacpp.get_device_info()
    ):
        raise ModelError(f"large: this build of llama.cpp finds no GPU here for {device}")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter), 1.0)]
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0 if device == "cpu" else _ALL_LAYERS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = -1
    params.warmup = False
    params.fit_params = False
    params.cache_ram_mib = 0
    # The library also listens on a loopback port that nobody here uses: nobody else can
    # either, without this key.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.endpoint_slots = False
    params.cors_origins = ""
    try:
        server = xllamacpp.Server(params)
        # A server that is thrown away before its loop runs waits for itself for ever. Once it
        # has answered, the loop runs.
        server.handle_completions({"prompt": [0], "n_predict": 0, "cache_prompt": False})
    except Exception as error:  # the binding raises RuntimeError and others
        raise ModelError(f"large: llama.cpp cannot load {path}: {one_line(error)}") from error
    return server


def _imported() -> Any:
    # Waiting threads of the OpenMP runtime spin, which makes two of them slower than one where
    # others want the processor too. It reads this once, when it is loaded.
    bounded = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1"}
    added = {key: value for key, value in bounded.items() if key not in os.environ}
    os.environ.update(added)
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtra("the runtime llama", "llm") from error
    finally:
        for key in added:
            os.environ.pop(key, None)
    return xllamacpp


class LlamaBackend:
    """A backend on a server of llama.cpp in this process.

    evaluated_tokens  tokens that were computed so far
    reused_tokens     tokens whose keys and values were still there
    """

    pairs_at_once = 16

    def __init__(self, server: Any, answers: Sequence[int], device: str = "cpu") -> None:
        """Use a server.

        Args:
            server: an `xllamacpp.Server` with the adapter, for one request at a time.
            answers: tokens of the three answers.
            device: for the report.
        """
        self._server = server
        self._device = device
        self._answers = list(answers)
        self.evaluated_tokens = 0
        self.reused_tokens = 0

    @property
    def runtime(self) -> str:
        """Version of the package that brings llama.cpp."""
        return f"llama.cpp (xllamacpp {version('xllamacpp')}) on {self._device}"

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """See `Backend.answer`."""
        return [
            np.array(
                [self._logits(group.passage + claim) for claim in group.claims], np.float32
            ).reshape(-1, 3)
            for group in groups
        ]

    def _logits(self, tokens: Tokens) -> list[float]:
        request = {
            "prompt": list(tokens),
            "n_predict": 1,
            "cache_prompt": True,
            "samplers": [],
            "temperature": -1.0,  # the likeliest token; probabilities stay plain
            "logit_bias": [[token, _BIAS] for token in self._answers],
            "n_probs": len(self._answers),
            "post_sampling_probs": True,
        }
        try:
            reply = self._server.handle_completions(request)
            self._count(reply["timings"])
            [token] = reply["choices"][0]["logprobs"]["content"]
            found = {item["id"]: item["prob"] for item in token["top_probs"]}
            # Logarithms of probabilities are logits: they differ by the same number for all.
            return [math.log(max(found[token], _LEAST)) for token in self._answers]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelError(f"large: unexpected reply of llama.cpp: {one_line(error)}") from error
        except Exception as error:  # the binding raises RuntimeError and others
            raise ModelError(f"large: llama.cpp failed: {one_line(error)}") from error

    def _count(self, timings: Mapping[str, Any]) -> None:
        self.evaluated_tokens += int(timings["prompt_n"])
        self.reused_tokens += int(timings["cache_n"])
