"""The large verifier with torch: many passages and claims at once, as one list of tokens.

A unit is a passage followed by its claims. A claim attends to its passage and itself, and its
positions continue those of the passage: every claim reads as if it were alone. If the claims of a
passage do not fit into one unit, several units hold the passage. A step holds units up to a number
of tokens; nothing is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from halldetect.large.adapter import Adapter
from halldetect.large.torch_model import Spans, TorchModel
from halldetect.large.verifier import Group, Logits
from halldetect.models.gguf import GgufFile
from halldetect.verification.devices import out_of_memory, torch_device, torch_failure

# Tokens of the usual unit at most, and of a step on an NVIDIA GPU; other devices take fewer.
_UNIT, _CUDA_STEP = 4096, 16384


def torch_backend(
    model: GgufFile,
    adapter: Adapter,
    answers: Sequence[int],
    *,
    device: str,
    threads: int | None = None,
) -> FlatTorch:
    """Return the backend for a device: float32 on a CPU, bfloat16 on a GPU that has it."""
    torch_device(device)
    if threads is not None and device == "cpu":
        torch.set_num_threads(threads)
    old = device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    dtype = torch.float32 if device == "cpu" or old else torch.bfloat16
    try:
        loaded = TorchModel(model, adapter, answers, device=device, dtype=dtype)
    except RuntimeError as error:
        raise torch_failure("large", error, device) from error
    return FlatTorch(loaded, step_tokens=_CUDA_STEP if device == "cuda" else _UNIT)


class FlatTorch:
    """A backend that computes units in steps of bounded size.

    Nothing is kept between calls: on a GPU, reading a passage again is faster than looking up kept
    states. Steps are queued without waiting for their results.
    """

    pairs_at_once = 256  # enough to fill several steps

    def __init__(
        self, model: TorchModel, *, unit_tokens: int = _UNIT, step_tokens: int = _UNIT
    ) -> None:
        """Use a loaded model, with at most `unit_tokens` tokens in the usual unit.

        When memory runs out, `step_tokens` is halved, down to one unit a step.
        """
        self._model = model
        self._unit_tokens = unit_tokens
        self._step_tokens = step_tokens
        kind = str(model.dtype).removeprefix("torch.")
        self.runtime = f"torch {torch.__version__} on {model.device} in {kind}"

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """Return the logits of every group; see `Backend`."""
        results = [np.zeros((len(group.claims), 3), np.float32) for group in groups]
        queued: list[tuple[Step, Tensor]] = []
        waiting = units(groups, self._unit_tokens)
        while waiting:
            taken = fitting(waiting, self._step_tokens)
            step = step_of(groups, waiting[:taken])
            try:
                queued.append((step, self._logits(step)))
            except RuntimeError as error:
                if taken == 1 or not out_of_memory(error):
                    raise torch_failure("large", error, self._model.device) from error
                self._step_tokens = len(step.tokens) // 2
                torch.cuda.empty_cache()
                continue
            waiting = waiting[taken:]
        for step, logits in queued:
            for (group, claim), answer in zip(step.claims, logits.cpu().numpy(), strict=True):
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


class Unit(NamedTuple):
    """A passage with its claims from `first` to before `last`, and the tokens of them all."""

    group: int
    first: int
    last: int
    size: int


class Step(NamedTuple):
    """Units as arrays.

    `spans` are the arrays of `Spans`, `last_tokens` the places of the last tokens of the claims,
    `claims` their groups and numbers.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    spans: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    last_tokens: NDArray[np.int64]
    claims: tuple[tuple[int, int], ...]


def units(groups: Sequence[Group], most: int) -> list[Unit]:
    """Put every claim into a unit of at most `most` tokens, or alone; return them in order."""
    found: list[Unit] = []
    for number, group in enumerate(groups):
        first, size = 0, len(group.passage)
        for at, claim in enumerate(group.claims):
            if at > first and size + len(claim) > most:
                found.append(Unit(number, first, at, size))
                first, size = at, len(group.passage)
            size += len(claim)
        if group.claims:
            found.append(Unit(number, first, len(group.claims), size))
    return found


def fitting(waiting: Sequence[Unit], tokens: int) -> int:
    """Return the number of the first units that fit into a step, at least one."""
    total = np.cumsum([unit.size for unit in waiting])
    return max(1, int(np.searchsorted(total, tokens, "right")))


def step_of(groups: Sequence[Group], chosen: Sequence[Unit]) -> Step:
    """Return the arrays of some units."""
    texts, positions, keys, queried, seen = [], [], [], [], []
    last_tokens, claims = [], []
    at = 0
    for unit in chosen:
        group, passage = groups[unit.group], np.arange(at, at + len(groups[unit.group].passage))
        for place, tokens in enumerate((group.passage, *group.claims[unit.first : unit.last])):
            own = np.arange(at, at + len(tokens))
            visible = np.concatenate([passage, own]) if place else own
            at += len(tokens)
            texts.append(tokens)
            positions.append(np.arange(len(visible) - len(tokens), len(visible)))
            keys.append(visible)
            queried.append(len(tokens))
            seen.append(len(visible))
            if place:
                last_tokens.append(at - 1)
                claims.append((unit.group, unit.first + place - 1))
    return Step(
        np.fromiter(chain.from_iterable(texts), np.int64, at),
        np.concatenate(positions),
        (np.concatenate(keys), np.array(queried), np.array(seen)),
        np.array(last_tokens, np.int64),
        tuple(claims),
    )
