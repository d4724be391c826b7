"""The large verifier with torch: packed rows on CUDA, one passage after the other elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from halldetect.errors import ModelError, one_line
from halldetect.large.adapter import Adapter
from halldetect.large.backend import Group, KeptPassages, Logits, Tokens
from halldetect.large.gguf_tensors import GgufFile
from halldetect.large.packing import BLOCK, Packed, Unit, fitted, packed, units
from halldetect.large.torch_model import Past, TorchModel
from halldetect.verification.devices import free_memory, out_of_memory, torch_device

# Tokens of a passage, or of claims, that a run of `TorchReader` takes at once.
_RUN_TOKENS = 1024
Rows = list[list[Unit]]


def torch_backend(
    model: GgufFile,
    adapter: Adapter,
    answers: Sequence[int],
    *,
    device: str,
    threads: int | None = None,
    compiled: bool = False,
    step_tokens: int | None = None,
) -> KeptPassages[TorchState] | PackedTorch:
    """The backend for a device: float32 on a CPU, bfloat16 on a GPU that has it.

    Args:
        model: the base.
        adapter: what is added to it.
        answers: tokens of the three answers.
        device: "cpu", "cuda" or "mps"; ModelError if it is not there.
        threads: threads of a CPU; torch's own choice if None.
        compiled: compile the layers for CUDA, which pays for thousands of passages.
        step_tokens: tokens of one step on CUDA; 16,384, or four times as many if compiled.
    """
    torch_device(device)
    if threads is not None and device == "cpu":
        torch.set_num_threads(threads)
    dtype = torch.float32 if device == "cpu" or not _has_bfloat16(device) else torch.bfloat16
    flex = compiled and device == "cuda"
    try:
        loaded = TorchModel(
            model, adapter, answers, device=device, dtype=dtype, flex=flex, compiled=flex
        )
    except RuntimeError as error:
        if out_of_memory(error):
            raise ModelError(
                f"large: the model does not fit into the memory of {device}"
            ) from error
        raise ModelError(f"large: torch cannot load the model: {one_line(error)}") from error
    if device == "cuda":
        return PackedTorch(loaded, step_tokens=step_tokens or (65536 if flex else 16384))
    return KeptPassages(TorchReader(loaded))


def _has_bfloat16(device: str) -> bool:
    return device != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)


def _name(model: TorchModel) -> str:
    kind = str(model.dtype).removeprefix("torch.")
    return f"torch {torch.__version__} on {model.device} in {kind}" + (
        ", compiled" if model.compiled else ""
    )


@dataclass(frozen=True, slots=True)
class TorchState:
    """Keys and values of every layer after a passage, and its length."""

    past: list[Past]
    length: int


class TorchReader:
    """Reads one passage at a time; its claims stand side by side behind its keys and values.

    A claim sees the passage and itself, so that claims can share a run. What that changes in
    the answers is the rounding of sums: 1e-5 of a logit in float32.
    """

    def __init__(self, model: TorchModel) -> None:
        """Use a model that is loaded.

        Args:
            model: a model whose masks are added (`flex` is False).
        """
        self._model = model

    @property
    def runtime(self) -> str:
        """Version of torch, device and type."""
        return _name(self._model)

    def read(self, passage: Tokens) -> TorchState:
        """Keys and values after a passage, read in runs of a fixed length."""
        past: list[Past] | None = None
        for start in range(0, len(passage), _RUN_TOKENS):
            part = passage[start : start + _RUN_TOKENS]
            total = start + len(part)
            order = torch.arange(total)
            visible = order[None, :] <= order[start:, None]
            _, past = self._run(part, list(range(start, total)), visible, past)
        assert past is not None
        return TorchState(past, len(passage))

    def answer(self, state: TorchState, claims: Sequence[Tokens]) -> Logits:
        """Logits of claims that continue from a passage."""
        results = [self._together(state, some) for some in _runs(claims, _RUN_TOKENS)]
        return np.concatenate(results) if results else np.zeros((0, 3), np.float32)

    def _together(self, state: TorchState, claims: Sequence[Tokens]) -> Logits:
        owner = np.repeat(np.arange(len(claims)), [len(claim) for claim in claims])
        order = np.arange(len(owner))
        own = (owner[:, None] == owner[None, :]) & (order[:, None] >= order[None, :])
        passage = np.ones((len(owner), state.length), np.bool_)
        visible = torch.from_numpy(np.concatenate([passage, own], 1))
        ids = [token for claim in claims for token in claim]
        positions = [state.length + at for claim in claims for at in range(len(claim))]
        states, _ = self._run(ids, positions, visible, state.past)
        last = torch.from_numpy(np.cumsum([len(claim) for claim in claims]) - 1)
        logits: Logits = self._model.logits(states[0, last.to(states.device)]).cpu().numpy()
        return logits

    def _run(
        self,
        ids: Sequence[int],
        positions: Sequence[int],
        visible: Tensor,
        past: list[Past] | None,
    ) -> tuple[Tensor, list[Past]]:
        model = self._model
        try:
            return model.states(
                torch.tensor([ids], device=model.device),
                torch.tensor([positions], device=model.device),
                _added(visible.to(model.device), model.dtype),
                past,
                keep=True,
            )
        except RuntimeError as error:
            raise _failure(error, model) from error


def _runs(claims: Sequence[Tokens], most: int) -> list[list[Tokens]]:
    """Claims in runs of at most so many tokens; a longer claim is a run of its own."""
    runs: list[list[Tokens]] = []
    size = most
    for claim in claims:
        if not runs or size + len(claim) > most:
            runs.append([])
            size = 0
        runs[-1].append(claim)
        size += len(claim)
    return runs


class PackedTorch:
    """A backend for a GPU: many passages and claims per step, in rows of a few lengths.

    Nothing is kept between calls: a GPU reads a passage again faster than it would keep apart
    what belongs to whom. Steps are queued without waiting for their results.
    """

    def __init__(self, model: TorchModel, *, row: int = 4096, step_tokens: int = 16384) -> None:
        """Use a model that is loaded.

        Args:
            model: the model. With `flex` every step has the same shape, filled up with padding,
                so that the layers are compiled once per length of the rows.
            row: tokens of the usual row; longer passages get longer rows.
            step_tokens: tokens of a step. When memory runs out it is halved, down to one row.
        """
        if row % BLOCK:
            raise ValueError(f"a row must be a multiple of {BLOCK} tokens")
        self._model = model
        self._row = row
        self._step_tokens = max(step_tokens, row)

    @property
    def runtime(self) -> str:
        """Version of torch, device and type."""
        return _name(self._model)

    @property
    def pairs_at_once(self) -> int:
        """Enough pairs to fill some steps."""
        return max(256, self._step_tokens // 64)

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """See `Backend.answer`."""
        results = [np.zeros((len(group.claims), 3), np.float32) for group in groups]
        queued: list[tuple[Packed, Tensor]] = []
        for row, some in units(groups, self._row).items():
            rows = fitted(some, row)
            while rows:
                count = max(1, self._step_tokens // row)
                step = self._packed(groups, rows[:count], row, count)
                try:
                    queued.append((step, self._logits(step)))
                except RuntimeError as error:
                    if count == 1 or not out_of_memory(error):
                        raise _failure(error, self._model) from error
                    self._step_tokens = count // 2 * row
                    free_memory(self._model.device)
                    continue
                rows = rows[count:]
        for step, logits in queued:
            for (group, claim), answer in zip(step.claims, logits.cpu().numpy(), strict=True):
                results[group][claim] = answer
        return results

    def _packed(self, groups: Sequence[Group], rows: Rows, row: int, count: int) -> Packed:
        if self._model.flex:
            empty: Rows = [[] for _ in range(count - len(rows))]
            return packed(groups, rows + empty, row)
        longest = max(sum(unit.size for unit in units_of_row) for units_of_row in rows)
        return packed(groups, rows, -(-longest // BLOCK) * BLOCK)

    def _logits(self, step: Packed) -> Tensor:
        model = self._model

        def moved(values: Any) -> Tensor:
            tensor = torch.from_numpy(values)
            if model.device == "cuda":
                return tensor.pin_memory().to(model.device, non_blocking=True)
            return tensor.to(model.device)

        unit, claim = moved(step.unit), moved(step.claim)
        if model.flex:
            mask = _block_mask(unit, claim, moved(step.blocks))
        else:
            mask = _added(_visible(unit, claim), model.dtype)
        states, _ = model.states(moved(step.ids), moved(step.positions), mask)
        return model.logits(states.flatten(0, 1)[moved(step.last_tokens)])


def _added(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask that is added to the scores: made once, not in every layer."""
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, float("-inf"))


def _visible(unit: Tensor, claim: Tensor) -> Tensor:
    """Which token sees which: rows x 1 x tokens x tokens."""
    order = torch.arange(unit.shape[1], device=unit.device)
    same = unit[:, :, None] == unit[:, None, :]
    seen = (claim[:, None, :] == 0) | (claim[:, :, None] == claim[:, None, :])
    return (same & seen & (order[:, None] >= order[None, :]))[:, None]


def _block_mask(unit: Tensor, claim: Tensor, blocks: Tensor) -> Any:
    """The same for flex_attention; blocks of tokens that see nothing are never computed."""
    from torch.nn.attention.flex_attention import BlockMask

    def visible(row: Any, head: Any, query: Any, key: Any) -> Any:
        same = unit[row, query] == unit[row, key]
        seen = (claim[row, key] == 0) | (claim[row, query] == claim[row, key])
        return same & seen & (query >= key)

    counts = blocks.sum(-1, dtype=torch.int32)[:, None]
    order = torch.argsort(blocks.to(torch.int8), dim=-1, descending=True, stable=True)
    return BlockMask.from_kv_blocks(
        counts, order.to(torch.int32)[:, None].contiguous(), BLOCK_SIZE=BLOCK, mask_mod=visible
    )


def _failure(error: RuntimeError, model: TorchModel) -> ModelError:
    if out_of_memory(error):
        return ModelError(
            f"large: not enough memory on {model.device}, even for one row of text; use --device "
            "cpu or free memory there"
        )
    return ModelError(f"large: torch failed: {one_line(error)}")
