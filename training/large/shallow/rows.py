"""Rows for the teacher and the student, and which tokens of one are tokens of the other.

Both read the same sources and claims, the student with a question of its own. Tokens that the
upper layers compute are gathered into slots: those of claims first, of these the last ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halldetect.large.answer_prompt import Prompt
from halldetect.large.gguf import GgufFile
from training.large import pack
from training.large.pack import Groups, Packed, Unit
from training.large.shallow.setting import Setting

Ints = NDArray[np.int64]
HIDDEN = -2  # in place of a claim's number: no token sees this one


@dataclass(frozen=True)
class Room:
    """Sizes of a step, which never change: a compiled layer serves all steps."""

    row: int = 16384  # tokens of a row
    rows: int = 2
    claims: int = 7168  # slots for the tokens of claims in a row
    answers: int = 512  # claims of a row


@dataclass(frozen=True)
class Level:
    """Tokens of rows, and what decides which of them see each other: rows x tokens."""

    group: NDArray[np.int32]
    claim: NDArray[np.int32]  # 0: the source
    order: NDArray[np.int32]
    positions: NDArray[np.int32]

    def taken(self, places: Sequence[Ints], size: int) -> tuple[Level, Ints]:
        """Return some tokens of every row in `size` slots, and where they come from.

        A slot that is left over sees itself alone; it holds any other token, each another one, so
        that gradients are not added up in one place.
        """
        at = np.tile(np.arange(size), (len(places), 1))
        level = Level(*(np.zeros((len(places), size), np.int32) for _ in range(4)))
        level.group[:] = -1 - np.arange(size)
        level.claim[:] = -1
        for line, chosen in enumerate(places):
            if len(chosen) > size:
                raise ValueError(f"{len(chosen)} tokens do not fit into {size} slots")
            at[line, : len(chosen)] = chosen
            for mine, theirs in zip(vars(level).values(), vars(self).values(), strict=True):
                mine[line, : len(chosen)] = theirs[line, chosen]
        return level, at

    def without(self, hidden: NDArray[np.bool_]) -> Level:
        """Return the same tokens, some of which nothing sees."""
        return replace(self, claim=np.where(hidden, np.int32(HIDDEN), self.claim))

    def beside(self, other: Level) -> Level:
        """Return the tokens of both, row by row."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Level(*(np.concatenate(pair, 1) for pair in pairs))


@dataclass(frozen=True)
class Step:
    """Rows of one step."""

    teacher: Packed
    student: Packed
    claims: Level  # the slots of the claims' tokens
    claims_at: Ints  # their places in the row
    claims_keys: Level  # what they may see
    last: Level  # the slots of the claims' last tokens
    last_at: Ints  # their places among the slots of claims
    last_keys: Level
    answers: Ints  # place of every claim's very last token in the flattened slots
    same: tuple[Ints, Ints]  # tokens that both have: flattened places in the teacher's rows, ours
    same_claims: tuple[Ints, Ints]  # those of claims: in the teacher's rows, in our slots


class Questions:
    """Exchanges the teacher's question for the student's in tokenised groups."""

    def __init__(self, base: Path, question: str) -> None:
        model = GgufFile(base)
        one, two = (prompt.claims(["x"])[0] for prompt in (Prompt(model), Prompt(model, question)))
        alike = [first == second for first, second in zip(one, two, strict=False)]
        shared = alike.index(False) if False in alike else len(alike)
        self.old, self.new = (np.array(text[shared:], np.int32) for text in (one, two))

    def exchanged(self, data: Groups) -> Groups:
        """Return the groups with the student's question after every claim."""
        lengths = np.diff(data.tail_offsets)
        old, new = len(self.old), len(self.new)
        ends = data.tail_ids[data.tail_offsets[1:, None] - old + np.arange(old)]
        if (ends != self.old).any():
            raise ValueError("a claim does not end in the question")
        kept = lengths - old
        offsets = np.concatenate([[0], np.cumsum(kept + new)]).astype(np.int64)
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], kept + new)
        own = inside < np.repeat(kept, kept + new)
        inside = np.arange(len(data.tail_ids)) - np.repeat(data.tail_offsets[:-1], lengths)
        ids = np.empty(offsets[-1], np.int32)
        ids[own] = data.tail_ids[inside < np.repeat(kept, lengths)]
        ids[~own] = np.tile(self.new, len(lengths))
        return replace(data, tail_ids=ids, tail_offsets=offsets)


def joined(parts: Sequence[Groups]) -> Groups:
    """Return the groups of several files as one."""
    names = list(dict.fromkeys(name for part in parts for name in part.names))

    def starts(values: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        counts = np.concatenate([np.diff(offsets) for offsets in values])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    kinds = [np.array([names.index(name) for name in part.names], np.int16)[part.kinds]
             for part in parts]  # fmt: skip
    return Groups(
        ids=np.concatenate([part.ids for part in parts]),
        offsets=starts([part.offsets for part in parts]),
        first=starts([part.first for part in parts]),
        tail_ids=np.concatenate([part.tail_ids for part in parts]),
        tail_offsets=starts([part.tail_offsets for part in parts]),
        codes=np.concatenate([part.codes for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
        kinds=np.concatenate(kinds), names=names,
    )  # fmt: skip


def steps(
    data: Groups,
    questions: Questions,
    chosen: Iterable[int],
    room: Room,
    setting: Setting,
    longest: int,
) -> Iterator[Step]:
    """Yield the steps of the chosen groups, one after the other."""
    short = questions.exchanged(data)
    tails = np.diff(short.tail_offsets)

    def needs(unit: Unit) -> tuple[int, ...]:
        return int(tails[unit.start : unit.stop].sum()), unit.stop - unit.start

    units = (
        part
        for unit in pack.units(data, chosen, room.row, longest)
        for part in divided(unit, data, tails, room)
    )
    stream = pack.packed(units, room.row, needs=needs, limits=(room.claims, room.answers))

    def make(step: list[list[Unit]]) -> Step:
        return built(data, short, step, room, setting, questions)

    yield from pack.ahead(pack.steps_of(stream, room.rows), make)


def divided(unit: Unit, data: Groups, tails: NDArray[np.int64], room: Room) -> Iterator[Unit]:
    """Yield a unit in parts whose claims have slots in a row."""
    long = np.diff(data.tail_offsets[unit.start : unit.stop + 1])
    start, used, size = unit.start, 0, unit.source
    for claim in range(unit.start, unit.stop):
        tail = int(tails[claim])
        if claim > start and (used + tail > room.claims or claim - start == room.answers):
            yield Unit(unit.group, start, claim, unit.source, size)
            start, used, size = claim, 0, unit.source
        used += tail
        size += int(long[claim - unit.start])
    yield Unit(unit.group, start, unit.stop, unit.source, size)


def built(
    data: Groups,
    short: Groups,
    step: list[list[Unit]],
    room: Room,
    setting: Setting,
    questions: Questions,
) -> Step:
    """Return the rows of a step; `short` has the student's question."""
    teacher, student = (pack.build(groups, step, room.row) for groups in (data, short))
    order = np.broadcast_to(np.arange(room.row, dtype=np.int32), student.ids.shape)
    row = Level(student.group, student.claim, order, student.positions)
    claims, claims_at = row.taken([np.flatnonzero(line > 0) for line in row.claim], room.claims)
    ends = [ends_of(*lines) for lines in zip(claims.group, claims.claim, strict=True)]
    back = np.arange(setting.last)[::-1]
    places = [(line[:, None] - back).reshape(-1) for line in ends]
    last, last_at = claims.taken(places, room.answers * setting.last)
    answers = [
        line * last_at.shape[1] + (np.arange(len(found)) + 1) * setting.last - 1
        for line, found in enumerate(ends)
    ]
    gone = np.zeros(claims.claim.shape, bool)
    for line, chosen in enumerate(places):
        gone[line, chosen] = True
    hidden = row.without(row.claim > 0)
    counts = [len(units) for units in step]
    same = (
        stems(teacher, counts, len(questions.old)),
        stems(student, counts, len(questions.new)),
    )
    slots = np.full(student.ids.size, -1, np.int64)
    for line, at in enumerate(claims_at):
        used = claims.claim[line] > 0
        slots[line * room.row + at[used]] = line * room.claims + np.flatnonzero(used)
    of_claim = slots[same[1]] >= 0
    return Step(
        teacher, student, claims, claims_at, hidden.beside(claims), last, last_at,
        hidden.beside(claims.without(gone)).beside(last), np.concatenate(answers).astype(np.int64),
        same, (same[0][of_claim], slots[same[1]][of_claim]),
    )  # fmt: skip


def ends_of(group: NDArray[np.int32], claim: NDArray[np.int32]) -> Ints:
    """Return the places of the last tokens of a row's claims, in their order."""
    last = np.append((np.diff(group) != 0) | (np.diff(claim) != 0), True)
    return np.flatnonzero(last & (claim > 0))


def stems(rows: Packed, counts: Sequence[int], question: int) -> Ints:
    """Return the flattened places of all tokens of sources and of claims before their question."""
    found = np.zeros(rows.ids.shape, bool)
    for line, count in enumerate(counts):
        found[line] = rows.group[line] < count
        ends = ends_of(rows.group[line], rows.claim[line])
        found[line][(ends[:, None] - np.arange(question)).reshape(-1)] = False
    return np.flatnonzero(found)
