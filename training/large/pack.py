"""Sources with their claims as rows of a fixed number of tokens.

`halldetect.large.answer_prompt` tokenises a source and each of its claims separately. A row holds
several sources, each followed by its claims. A claim sees its source and itself; its positions
continue those of the source. So a source is read once for any number of claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from halldetect.large.answer_prompt import Prompt
from halldetect.large.gguf import GgufFile
from training.files import read
from training.large.model import Batch

BLOCK = 128  # tokens of one block of the attention mask
LONGEST_CLAIM = 2000  # characters; far beyond any sentence

Made = TypeVar("Made")

ENTAILMENT, NEUTRAL, CONTRADICTION, DENIED, NONE = range(5)
CODES = {
    "entailment": ENTAILMENT, "E": ENTAILMENT, "neutral": NEUTRAL, "N": NEUTRAL,
    "contradiction": CONTRADICTION, "C": CONTRADICTION,
    "not_entailment": DENIED, "notE": DENIED, "": NONE,
}  # fmt: skip


@dataclass
class Groups:
    """Tokenised sources and claims; claims first[i] to first[i + 1] belong to source i."""

    ids: NDArray[np.int32]  # sources
    offsets: NDArray[np.int64]
    first: NDArray[np.int64]
    tail_ids: NDArray[np.int32]  # claims
    tail_offsets: NDArray[np.int64]
    codes: NDArray[np.int8]
    weights: NDArray[np.float32]
    kinds: NDArray[np.int16]  # of sources
    names: list[str]  # of kinds

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def claims(self) -> int:
        return len(self.codes)

    def save(self, path: Path) -> None:
        partial = path.with_name(path.name + ".partial.npz")
        values = {name: value for name, value in vars(self).items() if name != "names"}
        np.savez(partial, names=np.array(self.names), **values)
        partial.rename(path)

    @staticmethod
    def load(path: Path) -> Groups:
        with np.load(path) as found:
            values = {name: found[name] for name in found.files}
        names = [str(name) for name in values.pop("names")]
        return Groups(names=names, **values)


def parts_of(claim: Any) -> tuple[str, Any, float]:
    """Return text, label and weight of a claim, which is a string or an object of these."""
    if isinstance(claim, str):
        return claim, "", 1.0
    return str(claim["text"]), claim.get("label", ""), float(claim.get("weight", 1.0))


def tokenise(groups: Iterable[dict[str, Any]], base: Path, batch: int = 4096) -> Groups:
    """Tokenise groups of `premise` and `claims` (see `parts_of`), with an optional `source` name.

    A label is one of `CODES`. `base` is the GGUF file of the base.
    """
    prompt = Prompt(GgufFile(base))
    names: dict[str, int] = {}
    kinds: list[int] = []
    counts: list[int] = []
    codes: list[int] = []
    weights: list[float] = []
    lengths: tuple[list[int], list[int]] = ([], [])
    pieces: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])

    def encode(texts: list[str], side: int) -> None:
        for ids in (prompt.claims if side else prompt.passages)(texts):
            lengths[side].append(len(ids))
            pieces[side].append(np.array(ids, dtype=np.int32))
        texts.clear()

    sources: list[str] = []
    claims: list[str] = []
    for group in groups:
        sources.append(str(group["premise"]))
        kind = str(group.get("source", ""))
        kinds.append(names.setdefault(kind, len(names)))
        counts.append(len(group["claims"]))
        for claim in group["claims"]:
            text, label, weight = parts_of(claim)
            claims.append(text.strip()[:LONGEST_CLAIM])
            weights.append(weight)
            codes.append(CODES[label or ""])
        if len(sources) >= batch:
            encode(sources, 0)
            encode(claims, 1)
    encode(sources, 0)
    encode(claims, 1)

    def joined(side: int) -> NDArray[np.int32]:
        return np.concatenate(pieces[side]) if pieces[side] else np.zeros(0, np.int32)

    def starts(values: list[int]) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(np.array(values, dtype=np.int64))]).astype(np.int64)

    return Groups(
        ids=joined(0), offsets=starts(lengths[0]), first=starts(counts),
        tail_ids=joined(1), tail_offsets=starts(lengths[1]),
        codes=np.array(codes, np.int8), weights=np.array(weights, np.float32),
        kinds=np.array(kinds, np.int16), names=list(names),
    )  # fmt: skip


def load(path: Path, base: Path) -> Groups:
    """Return the groups of a file, tokenised once and cached next to it."""
    cache = path.with_name(path.name.split(".jsonl")[0] + ".npz")
    if not cache.exists():
        tokenise(read(path), base).save(cache)
    return Groups.load(cache)


@dataclass(frozen=True, slots=True)
class Unit:
    """A source, cut to its first `source` tokens, with some of its claims."""

    group: int
    start: int
    stop: int
    source: int
    size: int


def units(data: Groups, chosen: Iterable[int], row: int, longest: int) -> Iterator[Unit]:
    """Yield the chosen groups, divided where the claims of one do not fit into a row."""
    tails = np.diff(data.tail_offsets)
    for group in chosen:
        length = int(min(data.offsets[group + 1] - data.offsets[group], longest))
        start = int(data.first[group])
        end = int(data.first[group + 1])
        size = length
        for claim in range(start, end):
            tail = int(tails[claim])
            if length + tail > row:
                raise ValueError(f"a source and claim of {length + tail} tokens exceed the row")
            if size + tail > row:
                yield Unit(group, start, claim, length, size)
                start, size = claim, length
            size += tail
        if end > start:
            yield Unit(group, start, end, length, size)


def packed(
    stream: Iterable[Unit],
    row: int,
    window: int = 768,
    needs: Callable[[Unit], tuple[int, ...]] = lambda _: (),
    limits: tuple[int, ...] = (),
) -> Iterator[list[Unit]]:
    """Yield rows of units with little padding: the largest first, each where it fits best.

    Rows that are less than 99 % full are repacked with the next units.

    Args:
        stream: the units.
        row: tokens of a row.
        window: units to sort at a time.
        needs: what a unit takes of other things of which a row has few.
        limits: how much of these a row has.
    """
    pool: list[Unit] = []
    iterator = iter(stream)
    done = False
    while not done or pool:
        fresh = 0
        while fresh < window and not done:
            unit = next(iterator, None)
            if unit is None:
                done = True
            else:
                pool.append(unit)
                fresh += 1
        pool.sort(key=lambda unit: -unit.size)
        rows: list[list[Unit]] = []
        room: list[int] = []
        spare: list[list[int]] = []
        for unit in pool:
            best = -1
            wanted = needs(unit)
            for place, free in enumerate(room):
                if unit.size <= free and (best < 0 or free < room[best]):  # noqa: SIM102
                    if all(n <= left for n, left in zip(wanted, spare[place], strict=True)):
                        best = place
            if best < 0:
                rows.append([])
                room.append(row)
                spare.append(list(limits))
                best = len(rows) - 1
            rows[best].append(unit)
            room[best] -= unit.size
            spare[best] = [left - n for n, left in zip(wanted, spare[best], strict=True)]
        last = done or len(pool) > 20 * window  # units that never fit well together
        pool = []
        for units_of_row, free, left in zip(rows, room, spare, strict=True):
            full = any(n <= limit // 50 for n, limit in zip(left, limits, strict=True))
            if last or full or free <= row // 100:
                yield units_of_row
            else:
                pool.extend(units_of_row)


@dataclass
class Packed:
    """Rows as arrays (rows x tokens), with the numbers of their claims."""

    ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    group: NDArray[np.int32]
    claim: NDArray[np.int32]  # 0: the source itself
    answers: NDArray[np.int64]
    claims: NDArray[np.int64]  # numbers of the claims in the data, in the order of the answers
    partial: NDArray[np.bool_]  # rows x blocks x blocks that are partly visible
    full: NDArray[np.bool_]
    filled: int


def build(data: Groups, rows: Sequence[Sequence[Unit]], row: int, pad: int = 0) -> Packed:
    """Return the arrays of some rows of units."""
    shape = (len(rows), row)
    found = Packed(
        np.full(shape, pad, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.int32),
        np.zeros(shape, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64),
        np.zeros((len(rows), row // BLOCK, row // BLOCK), bool),
        np.zeros((len(rows), row // BLOCK, row // BLOCK), bool), 0,
    )  # fmt: skip
    answers: list[int] = []
    claims: list[int] = []
    for line, units_of_row in enumerate(rows):
        at = 0
        for number, unit in enumerate(units_of_row):
            begin = int(data.offsets[unit.group])
            segments = [(at, at + unit.source)]
            found.ids[line, at : at + unit.source] = data.ids[begin : begin + unit.source]
            found.positions[line, at : at + unit.source] = np.arange(unit.source)
            end = at + unit.source
            for place, claim in enumerate(range(unit.start, unit.stop), 1):
                tail = data.tail_ids[data.tail_offsets[claim] : data.tail_offsets[claim + 1]]
                stop = end + len(tail)
                found.ids[line, end:stop] = tail
                found.positions[line, end:stop] = np.arange(unit.source, unit.source + len(tail))
                found.claim[line, end:stop] = place
                segments.append((end, stop))
                answers.append(line * row + stop - 1)
                claims.append(claim)
                end = stop
            found.group[line, at:end] = number
            _mark(found.partial[line], found.full[line], segments)
            at = end
        found.filled += at
        if at < row:
            # The padding counts as a source, so that every token sees at least itself.
            found.group[line, at:] = len(units_of_row)
            found.positions[line, at:] = np.arange(row - at)
            _mark(found.partial[line], found.full[line], [(at, row)])
    found.partial &= ~found.full
    found.answers = np.array(answers, np.int64)
    found.claims = np.array(claims, np.int64)
    return found


def _mark(
    partial: NDArray[np.bool_], full: NDArray[np.bool_], segments: list[tuple[int, int]]
) -> None:
    """Mark the blocks of a source and its claims; segments[0] is the source."""
    first, last = segments[0]
    end = segments[-1][1]
    for start, stop in segments:
        for block in range(start // BLOCK, (stop - 1) // BLOCK + 1):
            partial[block, first // BLOCK : min(block, (last - 1) // BLOCK) + 1] = True
            partial[block, start // BLOCK : block + 1] = True
    inner = -(-first // BLOCK)  # blocks that lie wholly in the source
    for block in range(inner, end // BLOCK):
        full[block, inner : max(inner, min(block, last // BLOCK))] = True


def dense_mask(group: torch.Tensor, claim: torch.Tensor) -> torch.Tensor:
    """Return the visible tokens of each token: rows x 1 x tokens x tokens, boolean."""
    tokens = group.shape[1]
    order = torch.arange(tokens, device=group.device)
    same = group[:, :, None] == group[:, None, :]
    seen = (claim[:, None, :] == 0) | (claim[:, :, None] == claim[:, None, :])
    return (same & seen & (order[:, None] >= order[None, :]))[:, None]


def block_mask(
    group: torch.Tensor, claim: torch.Tensor, partial: torch.Tensor, full: torch.Tensor
) -> Any:
    """Return the same for flex_attention, from precomputed blocks."""

    def visible(b: Any, h: Any, q: Any, k: Any) -> Any:
        same = group[b, q] == group[b, k]
        seen = (claim[b, k] == 0) | (claim[b, q] == claim[b, k])
        return same & seen & (q >= k)

    return sparse(partial, full, visible)


def sparse(partial: torch.Tensor, full: torch.Tensor, visible: Callable[..., Any]) -> Any:
    """Return the mask of flex_attention from its blocks, rows x blocks of queries x of keys.

    Args:
        partial: whether some of a block's tokens, but not all, are visible.
        full: whether all are.
        visible: tells it of a single query and key.
    """
    from torch.nn.attention.flex_attention import BlockMask

    def ordered(blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        counts = blocks.sum(-1, dtype=torch.int32)[:, None]
        order = torch.argsort(blocks.to(torch.int8), dim=-1, descending=True, stable=True)
        return counts, order.to(torch.int32)[:, None].contiguous()

    return BlockMask.from_kv_blocks(
        *ordered(partial), *ordered(full), BLOCK_SIZE=BLOCK, mask_mod=visible
    )


def to_device(rows: Packed, device: str, kind: str) -> Batch:
    """Return a batch for `model.Verifier`; `kind` is the verifier's kind of attention."""

    def moved(values: NDArray[Any]) -> torch.Tensor:
        found = torch.from_numpy(values)
        return found.pin_memory().to(device, non_blocking=True) if device == "cuda" else found

    group, claim = moved(rows.group), moved(rows.claim)
    if kind == "dense":
        mask = dense_mask(group, claim)
    else:
        mask = block_mask(group, claim, moved(rows.partial), moved(rows.full))
    return Batch(moved(rows.ids), moved(rows.positions), mask, moved(rows.answers))


def prefetched(
    data: Groups, rows: Iterable[list[Unit]], row: int, per_step: int, depth: int = 6
) -> Iterator[Packed]:
    """Yield steps of `per_step` rows, built ahead by threads; empty rows fill the last step, so
    that every step has the same shape."""
    yield from ahead(steps_of(rows, per_step), lambda step: build(data, step, row), depth)


def steps_of(rows: Iterable[list[Unit]], per_step: int) -> Iterator[list[list[Unit]]]:
    """Yield the rows in steps; empty rows fill the last one."""
    step: list[list[Unit]] = []
    for units_of_row in rows:
        step.append(units_of_row)
        if len(step) == per_step:
            yield step
            step = []
    if step:
        yield step + [[] for _ in range(per_step - len(step))]


def ahead(
    steps: Iterable[list[list[Unit]]], make: Callable[[list[list[Unit]]], Made], depth: int = 6
) -> Iterator[Made]:
    """Yield what is made of each step, in order, made ahead by threads."""
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        waiting: list[Future[Made]] = []
        for step in steps:
            waiting.append(pool.submit(make, step))
            if len(waiting) >= depth:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()
