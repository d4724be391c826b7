"""The large verifier with torch: many passages and claims at once, packed into rows.

A unit is a passage followed by its claims. A claim attends to its passage and itself, and its
positions continue those of the passage: every claim reads as if it were alone. If the claims of a
passage do not fit into one unit, several units hold the passage. A row holds as many units as fit,
so that hardly a token is padding.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from halldetect.large.adapter import Adapter
from halldetect.large.torch_model import TorchModel
from halldetect.large.verifier import Group, Logits
from halldetect.models.gguf import GgufFile
from halldetect.verification.devices import out_of_memory, torch_device, torch_failure

_BLOCK = 128  # lengths of rows are multiples of it
# The least number of tokens in a full row: short units share a row.
_SHORTEST = 512
# Tokens of the usual unit at most, and of a step on an NVIDIA GPU; other devices take fewer.
_ROW, _CUDA_STEP = 4096, 16384


def torch_backend(
    model: GgufFile, adapter: Adapter, answers: Sequence[int], device: str
) -> PackedTorch:
    """Return the backend for a device: float32 on a CPU, bfloat16 on a GPU that has it."""
    torch_device(device)
    old = device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    dtype = torch.float32 if device == "cpu" or old else torch.bfloat16
    try:
        loaded = TorchModel(model, adapter, answers, device=device, dtype=dtype)
    except RuntimeError as error:
        raise torch_failure("large", error, device) from error
    return PackedTorch(loaded, step_tokens=_CUDA_STEP if device == "cuda" else _ROW)


class PackedTorch:
    """A backend that computes rows in steps of bounded size.

    Nothing is kept between calls: on a GPU, reading a passage again is faster than looking up kept
    states. Steps are queued without waiting for their results.
    """

    pairs_at_once = 256  # enough to fill several steps

    def __init__(
        self, model: TorchModel, *, row: int = _ROW, step_tokens: int = _CUDA_STEP
    ) -> None:
        """Use a loaded model, with at most `row` tokens in the usual row.

        When memory runs out, `step_tokens` is halved, down to one row.
        """
        self._model = model
        self._row = row
        self._step_tokens = max(step_tokens, row)
        kind = str(model.dtype).removeprefix("torch.")
        self.runtime = f"torch {torch.__version__} on {model.device} in {kind}"

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """Return the logits of every group; see `Backend`."""
        results = [np.zeros((len(group.claims), 3), np.float32) for group in groups]
        queued: list[tuple[Packed, Tensor]] = []
        waiting = units(groups, self._row)
        while waiting:
            wanted = max(waiting[-1].size, min(_SHORTEST, sum(unit.size for unit in waiting)))
            length = -(-wanted // _BLOCK) * _BLOCK
            count = max(1, self._step_tokens // length)
            rest = waiting.copy()
            step = packed(groups, filled_rows(rest, length, count), length)
            try:
                queued.append((step, self._logits(step)))
            except RuntimeError as error:
                if count == 1 or not out_of_memory(error):
                    raise torch_failure("large", error, self._model.device) from error
                self._step_tokens = count // 2 * length
                torch.cuda.empty_cache()
                continue
            waiting = rest
        for step, logits in queued:
            for (group, claim), answer in zip(step.claims, logits.cpu().numpy(), strict=True):
                results[group][claim] = answer
        return results

    def _logits(self, step: Packed) -> Tensor:
        model = self._model

        def moved(values: NDArray[np.int64]) -> Tensor:
            tensor = torch.from_numpy(values)
            if model.device == "cuda":
                return tensor.pin_memory().to(model.device, non_blocking=True)
            return tensor.to(model.device)

        ids, positions, unit, claim = moved(step.tokens)
        order = torch.arange(claim.shape[1], device=claim.device)
        seen = (claim[:, None, :] == 0) | (claim[:, :, None] == claim[:, None, :])
        seen &= unit[:, :, None] == unit[:, None, :]
        visible = (seen & (order[:, None] >= order[None, :]))[:, None]
        # Added to the scores; built once instead of in every layer.
        mask = torch.zeros(visible.shape, dtype=model.dtype, device=claim.device)
        mask.masked_fill_(~visible, float("-inf"))
        states = model.states(ids, positions, mask)
        return model.logits(states.flatten(0, 1)[moved(step.last_tokens)])


class Unit(NamedTuple):
    """A passage with its claims from `first` to before `last`, and the tokens of them all."""

    group: int
    first: int
    last: int
    size: int


class Packed(NamedTuple):
    """Rows of units as arrays.

    `tokens` has four arrays of rows x tokens: the tokens, their positions, their units in the row,
    and their claims in the unit, from 1 on, with 0 for the passage. `last_tokens` has the place of
    every claim's last token in the flattened rows, `claims` its group and number.
    """

    tokens: NDArray[np.int64]
    last_tokens: NDArray[np.int64]
    claims: tuple[tuple[int, int], ...]


def units(groups: Sequence[Group], row: int) -> list[Unit]:
    """Put every claim into a unit of at most `row` tokens, or alone; return the shortest first."""
    found: list[Unit] = []
    for number, group in enumerate(groups):
        first, size = 0, len(group.passage)
        for at, claim in enumerate(group.claims):
            if at > first and size + len(claim) > row:
                found.append(Unit(number, first, at, size))
                first, size = at, len(group.passage)
            size += len(claim)
        if group.claims:
            found.append(Unit(number, first, len(group.claims), size))
    return sorted(found, key=attrgetter("size"))


def filled_rows(waiting: list[Unit], length: int, count: int) -> list[list[Unit]]:
    """Take units, the shortest first in the list, into at most `count` rows of a length.

    A row begins with the longest unit left; the longest ones that fit follow.
    """
    rows: list[list[Unit]] = []
    while waiting and len(rows) < count:
        rows.append([])
        room = length
        while at := bisect_right(waiting, room, key=attrgetter("size")):
            rows[-1].append(waiting.pop(at - 1))
            room -= rows[-1][-1].size
    return rows


def packed(groups: Sequence[Group], rows: Sequence[Sequence[Unit]], length: int) -> Packed:
    """Return the arrays of some rows, padded to a length."""
    arrays = np.zeros((4, len(rows), length), np.int64)
    ids, positions, unit_of, claim_of = arrays
    unit_of -= 1  # padding attends to padding
    last_tokens: list[int] = []
    claims: list[tuple[int, int]] = []
    for line, row in enumerate(rows):
        at = 0
        for number, unit in enumerate(row):
            group = groups[unit.group]
            for place, tokens in enumerate((group.passage, *group.claims[unit.first : unit.last])):
                end, start = at + len(tokens), len(group.passage) if place else 0
                ids[line, at:end] = tokens
                positions[line, at:end] = np.arange(start, start + len(tokens))
                unit_of[line, at:end] = number
                claim_of[line, at:end] = place
                if place:
                    last_tokens.append(line * length + end - 1)
                    claims.append((unit.group, unit.first + place - 1))
                at = end
    return Packed(arrays, np.array(last_tokens, np.int64), tuple(claims))
