"""What a shallow verifier computes: which tokens go through which layers, and how wide they are."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from halldetect.large.shape import Shape


@dataclass(frozen=True)
class Setting:
    """Layers, widths and question.

    All tokens go through the first `source` layers, the tokens of claims through the first
    `claim`, the last `last` tokens of every claim through all of them. Above its last layer a
    token has no state: its keys and values there are linear maps of its last state.
    """

    source: int
    claim: int
    widths: tuple[float, ...] = (1.0, 1.0, 1.0)  # share of the channels, in the three parts
    question: str = "\n\nAnswer:"
    last: int = 1
    rank: int = 48

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Setting:
        """Return the setting that `asdict` has written as JSON."""
        known = {field.name: stored[field.name] for field in fields(cls)}
        return cls(**known | {"widths": tuple(known["widths"])})

    def stored(self) -> dict[str, Any]:
        """Return the setting as JSON has it."""
        return asdict(self)

    def part(self, layer: int) -> int:
        """Return the part of a layer: 0 for all tokens, 1 for claims, 2 for last tokens."""
        return int(layer >= self.source) + int(layer >= self.claim)

    def width(self, shape: Shape, layer: int) -> int:
        """Return the number of channels that a layer keeps, a multiple of 128 where it can be."""
        step = 128 if shape.ffn % 128 == 0 else 1
        kept = round(self.widths[self.part(layer)] * shape.ffn / step) * step
        return min(max(kept, step), shape.ffn)


def work(setting: Setting, shape: Shape, sources: int, claims: int, lasts: int) -> float:
    """Return the multiplications in linear maps for so many tokens of each kind.

    `claims` counts the tokens of claims without those that `lasts` counts.
    """
    state = shape.kv_heads * shape.head_size
    mapped = 2 * shape.hidden * state  # keys and values from one state
    total = 0.0
    for layer in range(shape.layers):
        wide = setting.width(shape, layer)
        whole = 2 * shape.hidden * (shape.hidden + state) + 3 * shape.hidden * wide
        part = setting.part(layer)
        total += lasts * whole
        total += claims * (whole if part < 2 else mapped)
        total += sources * (whole if part < 1 else mapped)
    return total
