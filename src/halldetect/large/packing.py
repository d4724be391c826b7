"""Passages and their claims as rows of equal length, for a GPU.

In a row stand several passages, each followed by its claims. A claim sees its passage and
itself, and its positions go on after the passage: every claim reads as if it were alone. Where
the claims of a passage do not fit into one row, the passage stands in several.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halldetect.large.backend import Group

BLOCK = 128  # tokens of one block of the attention mask; rows are multiples of it


@dataclass(frozen=True, slots=True)
class Unit:
    """A passage with some of its claims, in one row.

    group        number of the group
    first, last  its claims, the last not included
    size         tokens of the passage and these claims
    """

    group: int
    first: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows as arrays.

    ids, positions  rows x tokens
    unit            rows x tokens, number of the unit in its row
    claim           rows x tokens, number of the claim in its unit from 1; 0 for the passage
    last_tokens     place of every claim's last token in the flattened rows
    claims          (group, claim) in the order of `last_tokens`
    blocks          rows x blocks x blocks, which blocks of tokens see anything of which
    filled          tokens that are not padding
    """

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    unit: NDArray[np.int32]
    claim: NDArray[np.int32]
    last_tokens: NDArray[np.int64]
    claims: tuple[tuple[int, int], ...]
    blocks: NDArray[np.bool_]
    filled: int


def row_length(tokens: int, shortest: int) -> int:
    """The length of the rows for a passage and claim of so many tokens: one of a few."""
    length = shortest
    while length < tokens:
        length *= 2
    return length


def units(groups: Sequence[Group], shortest: int) -> dict[int, list[Unit]]:
    """Every claim of the groups in a unit, by the length of the rows they go into.

    Args:
        groups: passages and claims.
        shortest: length of the usual rows; a longer passage gets rows twice, four times ... as
            long.
    """
    found: dict[int, list[Unit]] = {}
    for number, group in enumerate(groups):
        if not group.claims:
            continue
        passage = len(group.passage)
        row = row_length(passage + max(map(len, group.claims)), shortest)
        first, size = 0, passage
        for at, claim in enumerate(group.claims):
            if size + len(claim) > row:
                found.setdefault(row, []).append(Unit(number, first, at, size))
                first, size = at, passage
            size += len(claim)
        found.setdefault(row, []).append(Unit(number, first, len(group.claims), size))
    return found


def fitted(units: Sequence[Unit], row: int) -> list[list[Unit]]:
    """Units in as few rows as is easily found: the largest first, each where it fits best."""
    rows: list[list[Unit]] = []
    rooms: list[tuple[int, int]] = []  # room and number of every row, in order
    for unit in sorted(units, key=lambda unit: -unit.size):
        best = bisect_left(rooms, (unit.size, 0))
        if best < len(rooms):
            room, number = rooms.pop(best)
        else:
            room, number = row, len(rows)
            rows.append([])
        rows[number].append(unit)
        insort(rooms, (room - unit.size, number))
    return rows


def packed(groups: Sequence[Group], rows: Sequence[Sequence[Unit]], row: int) -> Packed:
    """Arrays of some rows.

    Args:
        groups: passages and claims.
        rows: units of each row.
        row: length of a row, a multiple of `BLOCK`.
    """
    shape = (len(rows), row)
    ids, positions = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    unit_of, claim_of = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    blocks = np.zeros((len(rows), row // BLOCK, row // BLOCK), np.bool_)
    last_tokens: list[int] = []
    claims: list[tuple[int, int]] = []
    filled = 0
    for line, row_units in enumerate(rows):
        at = 0
        for number, unit in enumerate(row_units):
            group = groups[unit.group]
            begin, length = at, len(group.passage)
            for place, tokens, start in _segments(group, unit):
                end = at + len(tokens)
                ids[line, at:end] = tokens
                positions[line, at:end] = np.arange(start, start + len(tokens))
                unit_of[line, at:end] = number
                claim_of[line, at:end] = place
                _mark(blocks[line], at, end, begin, length)
                if place:
                    last_tokens.append(line * row + end - 1)
                    claims.append((unit.group, unit.first + place - 1))
                at = end
        filled += at
        if at < row:
            # The rest reads itself, so that no token sees nothing: that would not be a number.
            unit_of[line, at:] = len(row_units)
            positions[line, at:] = np.arange(row - at)
            _mark(blocks[line], at, row, at, row - at)
    return Packed(
        ids,
        positions,
        unit_of,
        claim_of,
        np.array(last_tokens, np.int64),
        tuple(claims),
        blocks,
        filled,
    )


def _segments(group: Group, unit: Unit) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """Passage and claims of a unit: number, tokens, first position."""
    yield 0, group.passage, 0
    for place, claim in enumerate(group.claims[unit.first : unit.last], 1):
        yield place, claim, len(group.passage)


def _mark(blocks: NDArray[np.bool_], start: int, end: int, begin: int, length: int) -> None:
    """Mark what the tokens from start to end see: themselves, and their passage."""
    for block in range(start // BLOCK, (end - 1) // BLOCK + 1):
        blocks[block, start // BLOCK : block + 1] = True
        seen = min(block, (begin + length - 1) // BLOCK)
        blocks[block, begin // BLOCK : seen + 1] = True
