"""The large verifier with torch: many passages and claims at once, as one list of tokens.

A step holds passages, each followed by claims about it, up to a number of tokens; nothing is
padded. A claim attends to its passage and itself, and its positions continue those of the passage:
every claim reads as if it were alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from halldetect.large.adapter import Adapter
from halldetect.large.gguf import GgufFile
from halldetect.large.torch_model import Spans, TorchModel
from halldetect.large.verifier import Group, Logits
from halldetect.machine.devices import out_of_memory, torch_device, torch_failure

# Tokens of a step on an NVIDIA GPU; other devices take fewer.
_CUDA_STEP, _STEP = 16384, 4096
# A claim: the indices of its group and in it.
Place = tuple[int, int]


def torch_backend(
    model: GgufFile, adapter: Adapter, answers: Sequence[int], device: str
) -> FlatTorch:
    """Return the backend for a device: float32 on a CPU, bfloat16 on a GPU that has it."""
    torch_device(device)
    old = device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    dtype = torch.float32 if device == "cpu" or old else torch.bfloat16
    try:
        loaded = TorchModel(model, adapter, answers, device=device, dtype=dtype)
    except RuntimeError as error:
        raise torch_failure("large", error, device) from error
    return FlatTorch(loaded, _CUDA_STEP if device == "cuda" else _STEP)


class FlatTorch:
    """A backend that computes claims in steps of bounded size.

    Nothing is kept between calls: on a GPU, reading a passage again is faster than looking up kept
    states. Steps are queued without waiting for their results.
    """

    pairs_at_once = 256  # enough to fill several steps

    def __init__(self, model: TorchModel, step_tokens: int) -> None:
        """Use a loaded model; `step_tokens` is halved when memory runs out."""
        self._model = model
        self._step_tokens = step_tokens
        kind = str(model.dtype).removeprefix("torch.")
        self.runtime = f"torch {torch.__version__} on {model.device} in {kind}"

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """Return the logits of every group; see `Backend`."""
        results = [np.zeros((len(group.claims), 3), np.float32) for group in groups]
        queued: list[tuple[Sequence[Place], Tensor]] = []
        waiting = [
            (at, claim) for at, group in enumerate(groups) for claim in range(len(group.claims))
        ]
        while waiting:
            taken = waiting[: fitting(groups, waiting, self._step_tokens)]
            step = step_of(groups, taken)
            try:
                queued.append((taken, self._logits(step)))
            except RuntimeError as error:
                if len(taken) == 1 or not out_of_memory(error):
                    raise torch_failure("large", error, self._model.device) from error
                self._step_tokens = len(step.tokens) // 2
                torch.cuda.empty_cache()
                continue
            waiting = waiting[len(taken) :]
        for places, logits in queued:
            for (group, claim), answer in zip(places, logits.cpu().numpy(), strict=True):
                results[group][claim] = answer
        return results

    def _logits(self, step: Step) -> Tensor:
        model = self._model

        def moved(values: NDArray[np.int64]) -> Tensor:
            tensor = torch.from_numpy(values)
            if model.device == "cuda":
                return tensor.pin_memory().to(model.device, non_blocking=True)
            return tensor.to(model.device)

        spans = Spans(*map(moved, step.spans), *(int(span.max()) for span in step.spans[1:]))
        states = model.states(moved(step.tokens), moved(step.positions), spans)
        return model.logits(states[moved(step.last_tokens)])


class Step(NamedTuple):
    """Passages and claims as arrays: `spans` are those of `Spans`.

    `last_tokens` has the place of the last token of every claim.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    spans: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    last_tokens: NDArray[np.int64]


def fitting(groups: Sequence[Group], claims: Sequence[Place], most: int) -> int:
    """Return how many of the first claims fit into a step with their passages; at least one."""
    size, read = 0, -1
    for count, (at, claim) in enumerate(claims):
        size += len(groups[at].claims[claim]) + (len(groups[at].passage) if at != read else 0)
        read = at
        if size > most and count:
            return count
    return len(claims)


def step_of(groups: Sequence[Group], claims: Sequence[Place]) -> Step:
    """Return the arrays of some claims and their passages."""
    texts, positions, keys, last_tokens = [], [], [], []
    at = 0
    for number, places in groupby(claims, itemgetter(0)):
        group = groups[number]
        passage = np.arange(at, at + len(group.passage))
        for tokens in (group.passage, *(group.claims[claim] for _, claim in places)):
            own = np.arange(at, at + len(tokens))
            visible = np.union1d(passage, own)
            at += len(tokens)
            texts.append(tokens)
            keys.append(visible)
            positions.append(np.arange(len(visible) - len(tokens), len(visible)))
            if tokens is not group.passage:
                last_tokens.append(at - 1)
    queries, seen = (np.array([*map(len, runs)]) for runs in (texts, keys))
    return Step(
        np.fromiter(chain.from_iterable(texts), np.int64, at),
        np.concatenate(positions),
        (np.concatenate(keys), queries, seen),
        np.array(last_tokens),
    )
