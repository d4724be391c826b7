"""The start of a shallow verifier without training: which channels stay, and its keys and values.

Channels are ranked by the root mean square of what they carry times the norm of their weights on
the way out, over the tokens that go through the layer. Keys and values above a token's last layer
are fitted by least squares to the teacher's, from the states of the pruned layers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.large.model import normalised
from training.large.shallow.model import Student, Teacher, unit
from training.large.shallow.rows import Step
from training.large.shallow.setting import Setting

SAMPLE = 16384  # tokens of a step that are measured, at most
RIDGE = 1e-5  # share of the mean square that is added, so that the squares can be solved


def sampled(places: Tensor, most: int = SAMPLE) -> Tensor:
    """Return numbers of some places, drawn at random."""
    return torch.randperm(len(places))[:most]


def channels(teacher: Teacher, setting: Setting, steps: Iterable[Step]) -> list[Tensor]:
    """Return the channels that each layer keeps, in order."""
    shape = teacher.shape
    energy = torch.zeros(shape.layers, shape.ffn, device=teacher.device)
    for step in steps:
        answers = torch.from_numpy(step.teacher.answers)
        every, claims = (torch.from_numpy(of[0]) for of in (step.same, step.same_claims))
        parts = (every, torch.cat([claims, answers]), answers)
        chosen = [part[sampled(part)].to(teacher.device) for part in parts]

        def each(number: int, _: Tensor, middle: Tensor, chosen: list[Tensor] = chosen) -> None:
            tokens = chosen[setting.part(number)]
            frozen = teacher.base.frozen[number]
            carried = teacher.layer.channels(middle.flatten(0, 1)[tokens], frozen, ())
            energy[number] += carried.float().square().sum(0)

        teacher(step.teacher, setting, each)
    found = []
    for number, frozen in enumerate(teacher.base.frozen):
        scores = energy[number].sqrt() * frozen[6].float().norm(dim=0)
        found.append(scores.topk(setting.width(shape, number)).indices.sort().values.cpu())
    return found


class Squares:
    """Least squares from one input to keys and values of several layers."""

    def __init__(self, inputs: int, outputs: int, layers: range, device: str) -> None:
        def zeros(*sizes: int) -> Tensor:
            return torch.zeros(sizes, device=device)

        self.inner = zeros(inputs + 1, inputs + 1)
        self.outer = {number: zeros(inputs + 1, outputs) for number in layers}
        self.sums = {number: zeros(2, outputs) for number in layers}
        self.tokens = 0

    def add(self, x: Tensor, targets: dict[int, Tensor]) -> None:
        """Add tokens: their states, and keys and values of every layer."""
        x = functional.pad(x.float(), (0, 1), value=1.0)
        self.inner += x.T @ x
        self.tokens += len(x)
        for number, y in targets.items():
            self.outer[number] += x.T @ y
            self.sums[number] += torch.stack([y.sum(0), y.square().sum(0)])

    def solved(self) -> dict[int, tuple[Tensor, Tensor, float]]:
        """Return weight, bias and explained share of the variance, by layer."""
        inner = self.inner.double()
        ridge = RIDGE * inner.diagonal().mean() + 1e-9
        ridged = inner + ridge * torch.eye(len(inner), device=inner.device, dtype=inner.dtype)
        factor = torch.linalg.cholesky(ridged)
        found = {}
        for number, outer in self.outer.items():
            outer = outer.double()
            w = torch.cholesky_solve(outer, factor)
            first, second = self.sums[number].double()
            rest = second - 2 * (w * outer).sum(0) + (w * (inner @ w)).sum(0)
            variance = (second - first.square() / max(self.tokens, 1)).sum().clamp(min=1e-9)
            share = 1 - float(rest.sum() / variance)
            found[number] = (w[:-1].T.float().contiguous(), w[-1].float(), share)
        return found


def fit(student: Student, steps: Iterable[Step], name: str) -> dict[str, Any]:
    """Fit the keys and values of sources (`source`) or claims (`claim`), and return how well."""
    teacher, setting, shape = student.teacher, student.setting, student.shape
    of_source = name == "source"
    layers = range(setting.source if of_source else setting.claim, shape.layers)
    if not layers:
        return {"layers": name, "tokens": 0, "explained": []}
    first = shape.heads * shape.head_size  # where keys and values begin in the joint map
    outputs = 2 * shape.kv_heads * shape.head_size
    squares = Squares(shape.hidden, outputs, layers, student.device)
    for step in steps:
        theirs, ours = map(torch.from_numpy, step.same if of_source else step.same_claims)
        if of_source:
            sources = torch.from_numpy(step.student.claim.reshape(-1))[ours] == 0
            theirs, ours = theirs[sources], ours[sources]
        chosen = sampled(ours)
        theirs, ours = (places[chosen].to(student.device) for places in (theirs, ours))
        targets: dict[int, Tensor] = {}

        def each(
            number: int, x: Tensor, _: Tensor, places: Tensor = theirs,
            targets: dict[int, Tensor] = targets,
        ) -> None:  # fmt: skip
            if number in layers:
                frozen = teacher.base.frozen[number]
                h = normalised(x.flatten(0, 1)[places], frozen[0], shape.epsilon)
                targets[number] = functional.linear(h, frozen[1][first:], frozen[2][first:]).float()

        teacher(step.teacher, setting, each)
        reading = student(step, depth=1 if of_source else 2)
        states = (reading.lower if of_source else reading.upper).detach().flatten(0, 1)[ours]
        squares.add(unit(states, shape.epsilon), targets)
    explained = []
    for number, (weight, bias, share) in squares.solved().items():
        student.maps[f"{name}.{number}.weight"].data.copy_(weight)
        student.maps[f"{name}.{number}.bias"].data.copy_(bias)
        explained.append(round(share, 3))
    return {"layers": name, "tokens": squares.tokens, "explained": explained}
