"""Many processes prepare pairs, one process judges them on a GPU.

Cutting texts, tokenising and scoring is Python and keeps one core busy while a GPU waits. So
workers, one per core, run the methods of the evaluation unchanged; their verifier sends tokens
through a pipe to the process that has the GPU, which judges what has come from all workers in
large batches. A pair that several methods ask about is judged once.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu_weights import BASE, network_of
from halldetect.large.adapter import Adapter, read_adapter
from halldetect.large.answer_prompt import Prompt
from halldetect.large.load import CONTEXT, settings_beside
from halldetect.large.verifier import Backend, Group, LargeVerifier, Logits
from halldetect.models.gguf import GgufFile
from halldetect.models.integrity import digest_of
from halldetect.report import Probabilities
from halldetect.verification.verifiers.encoding import Encoded, refuse_too_long
from halldetect.verification.verifiers.labels import Labels
from halldetect.verification.verifiers.wordpiece import WordPieceEncoder

KEY_BYTES = 16
# Tokens of a batch, padding included; a batch holds pairs down to this share of its longest.
BATCH_TOKENS = 65_536
SHORTEST_SHARE = 0.75
# The names of the two models in messages.
LARGE = "large"
_NEXT, _STOP = "next", None

# Of a worker: its pipe to the process with the GPU.
_pipe: Connection | None = None


def ask(*message: Any) -> Any:
    """Send a message to the process with the GPU and wait for its answer."""
    if _pipe is None:
        raise RuntimeError("this process is no worker")
    _pipe.send(message)
    return _pipe.recv()


# Answers the tokens of all pairs, their lengths and a key of each with logits.
Answer = Callable[[NDArray[np.int32], NDArray[np.int32], list[bytes]], NDArray[np.float32]]


def _ask_base(*pairs: Any) -> NDArray[np.float32]:
    logits: NDArray[np.float32] = ask(BASE, *pairs)
    return logits


class BaseTexts:
    """The verifier of the package without its network: tokens go elsewhere, logits come back."""

    adds_up = True
    pairs_at_once = 1 << 20

    def __init__(self, folder: Path, on: dict[str, str], answer: Answer = _ask_base) -> None:
        """folder: of `gpu_weights`. on: where the network runs, for the description.
        answer: judges; by default the process that has the GPU does.
        """
        self._answer = answer
        encoder = WordPieceEncoder.from_file(folder / "tokenizer.json")
        if encoder is None:
            raise ValueError(f"{folder} has another tokenizer than the one of the package")
        self._encoder = encoder
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self._labels = Labels.from_config(config, BASE)
        stated = json.loads((folder / "description.json").read_text(encoding="utf-8"))
        self.description = {**stated, **on}
        self.max_tokens = int(stated["max_tokens"])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See `protocols.Verifier`."""
        return [len(tokens) for tokens in self._encoder.tokenize(texts)]

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """See `protocols.TokenVerifier`."""
        return self._encoder.tokenize(texts)

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that the model cannot read."""
        return list(self._encoder.unknown_words(text))

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """See `protocols.Verifier`."""
        return self._judge(self._encoder.encode(pairs))

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        """See `protocols.TokenVerifier`."""
        return self._judge([self._encoder.frame(*pair) for pair in pairs])

    def _judge(self, encoded: Sequence[Encoded]) -> list[Probabilities]:
        if not encoded:
            return []
        refuse_too_long(encoded, self.max_tokens + self._encoder.special_tokens, BASE)
        lengths = np.array([len(item) for item in encoded], np.int32)
        total = int(lengths.sum())
        flat = np.fromiter(chain.from_iterable(item.ids for item in encoded), np.int32, total)
        raw, ends = flat.tobytes(), (4 * np.cumsum(lengths)).tolist()
        starts = [0, *ends[:-1]]
        keys = [
            blake2b(raw[start:end], digest_size=KEY_BYTES).digest()
            for start, end in zip(starts, ends, strict=True)
        ]
        logits = self._answer(flat, lengths, keys)
        return [self._labels.read(row, BASE) for row in logits]


class RemoteBackend:
    """The backend of the large verifier as workers see it."""

    pairs_at_once = 1 << 20

    def __init__(self, runtime: str) -> None:
        """runtime: where the network runs, for the description."""
        self.runtime = runtime

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """See `large.verifier.Backend`."""
        found: list[Logits] = ask(LARGE, list(groups))
        return found


class BaseNetwork:
    """The weights of the package on a device; on a GPU in half precision."""

    def __init__(self, folder: Path, device: str) -> None:
        """folder: of `gpu_weights`. device: where to compute."""
        import torch

        self._torch = torch
        self._device = device
        model = network_of(folder)
        self._pad = model.shape.pad
        self._model = (model.half() if device == "cuda" else model).to(device).eval()
        self._known: dict[bytes, int] = {}
        self._answers = np.zeros((1 << 16, 3), np.float32)
        self.pairs = self.tokens = 0

    def forget(self) -> None:
        """Judge every pair anew from now on: for measuring time."""
        self._known.clear()

    def answer(
        self, flat: NDArray[np.int32], lengths: NDArray[np.int32], keys: list[bytes]
    ) -> NDArray[np.float32]:
        """The logits of some pairs; the arguments are those of `Answer`."""
        return self.judge([(flat, lengths, keys)])[0]

    def judge(
        self, requests: Sequence[tuple[NDArray[np.int32], NDArray[np.int32], list[bytes]]]
    ) -> list[NDArray[np.float32]]:
        """The logits of the pairs of each request; pairs that were judged before are looked up."""
        pieces: list[NDArray[np.int32]] = []
        first = len(self._known)
        for flat, lengths, keys in requests:
            ends = np.cumsum(lengths).tolist()
            for key, end, length in zip(keys, ends, lengths.tolist(), strict=True):
                if key not in self._known:
                    self._known[key] = first + len(pieces)
                    pieces.append(flat[end - length : end])
        if pieces:
            new = self._computed(pieces)
            while len(self._answers) < first + len(new):
                self._answers = np.concatenate([self._answers, np.zeros_like(self._answers)])
            self._answers[first : first + len(new)] = new
        return [self._answers[[self._known[key] for key in keys]] for _, _, keys in requests]

    def _computed(self, pieces: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        torch = self._torch
        lengths = np.array([len(piece) for piece in pieces])
        order = np.argsort(-lengths, kind="stable")
        queued = []
        with torch.inference_mode():
            for places in length_batches(lengths, order):
                width = -(-int(lengths[places[0]]) // 8) * 8
                mask = np.arange(width)[None, :] < lengths[places][:, None]
                ids = np.full(mask.shape, self._pad, np.int64)
                ids[mask] = np.concatenate([pieces[place] for place in places])
                out = self._model(
                    torch.from_numpy(ids).to(self._device, non_blocking=True),
                    torch.from_numpy(mask.astype(np.int64)).to(self._device, non_blocking=True),
                )
                queued.append((places, out.float()))
            found = np.zeros((len(pieces), 3), np.float32)
            for places, out in queued:
                found[places] = out.cpu().numpy()
        self.pairs += len(pieces)
        self.tokens += int(lengths.sum())
        return found


def length_batches(
    lengths: NDArray[np.int64], order: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Places of pairs in batches of similar length.

    lengths: of all pairs. order: their places, the longest first.
    """
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        end = start + max(1, BATCH_TOKENS // longest)
        part = order[start:end]
        kept = int((lengths[part] >= SHORTEST_SHARE * longest - 8).sum())
        yield part[:kept]
        start += kept


def large_texts(
    base: Path, weights: Path, backend: Backend, base_digest: str
) -> tuple[LargeVerifier, GgufFile, Adapter]:
    """The large verifier on a given backend, and what a network is made of.

    base: the GGUF file. weights: the adapter, or its folder. backend: answers.
    base_digest: that of the GGUF file.
    """
    model = GgufFile(base)
    file = weights / "adapter.lora8" if weights.is_dir() else weights
    adapter = read_adapter(file)
    if adapter.base_sha256 != base_digest:
        raise ValueError(f"the adapter {file} belongs to another base than {base}")
    settings = settings_beside(file)
    verifier = LargeVerifier(
        backend,
        Prompt(model),
        context=CONTEXT,
        temperature=adapter.temperature,
        description={
            "kind": "torch",
            "digest": digest_of(file),
            "base_digest": base_digest,
            "languages": None if adapter.languages is None else list(adapter.languages),
            "calibration": settings.get("calibration"),
            "operating_points": settings.get("operating_points"),
        },
    )
    return verifier, model, adapter


@dataclass(frozen=True)
class Work:
    """Rows of one dataset for one method, both by their number."""

    job: int
    dataset: str
    rows: tuple[int, ...]


# Called in a worker with a piece of work.
Score = Callable[[Work], Any]


@dataclass(frozen=True)
class Failure:
    """Why a piece of work was not done."""

    reason: str


class Judges:
    """Workers, and the loop that gives them work and answers."""

    def __init__(self, workers: int, score: Score) -> None:
        """workers: how many processes. score: what a worker does with a piece of work."""
        context = multiprocessing.get_context("fork")  # models in memory are shared
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(workers):
            here, there = context.Pipe()
            process = context.Process(target=_worker, args=(there, score), daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def run(
        self,
        work: Iterator[Work],
        judge: dict[str, Callable[[list[Any]], list[Any]]],
        done: Callable[[Work, Any], None],
    ) -> None:
        """Hand out all work; returns when it is done.

        work: what to do, in order. judge: answers the requests for one model, all together.
        done: is called with each piece of work and what came of it, or its `Failure`.
        """
        live = set(self._pipes)
        at_work: dict[Connection, Work] = {}
        requests: dict[Connection, tuple[str, Any]] = {}
        while live:
            for pipe in wait(list(live - set(requests)), timeout=0.002 if requests else None):
                assert isinstance(pipe, Connection)
                kind, *rest = pipe.recv()
                if kind != _NEXT:
                    requests[pipe] = (kind, rest[0] if len(rest) == 1 else tuple(rest))
                    continue
                if pipe in at_work:
                    done(at_work.pop(pipe), rest[0])
                following = next(work, _STOP)
                pipe.send(following)
                if following is _STOP:
                    live.remove(pipe)
                else:
                    at_work[pipe] = following
            self._answer(requests, judge)
        for process in self._processes:
            process.join()

    def _answer(
        self,
        requests: dict[Connection, tuple[str, Any]],
        judge: dict[str, Callable[[list[Any]], list[Any]]],
    ) -> None:
        for name, function in judge.items():
            asking = [pipe for pipe, (kind, _) in requests.items() if kind == name]
            if asking:
                answers = function([requests.pop(pipe)[1] for pipe in asking])
                for pipe, answer in zip(asking, answers, strict=True):
                    pipe.send(answer)


def _worker(pipe: Connection, score: Score) -> None:
    global _pipe
    _pipe = pipe
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.nice(10)  # the processes that drive the GPU come first
    result: Any = None
    while True:
        work = ask(_NEXT, result)
        if work is _STOP:
            return
        try:
            result = score(work)
        except Exception as error:  # one failed piece of work must not cost the others
            result = Failure(f"{type(error).__name__}: {error}"[:300])


class Clock:
    """Seconds since the start, and whether the time is up."""

    def __init__(self, seconds: float) -> None:
        """seconds: after which the time is up."""
        self._start = time.perf_counter()
        self._seconds = seconds

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def is_up(self) -> bool:
        """Whether the time is up."""
        return self.spent > self._seconds
