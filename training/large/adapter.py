"""Adapters of the large verifier: read, average, prune, round to 8 bits.

    python -m training.large.adapter soup OUT.safetensors ADAPTER[=WEIGHT] ... [--rank 64]
    python -m training.large.adapter prune ADAPTER OUT.lora8 --rank 24 [--top 45]
    python -m training.large.adapter round ADAPTER OUT.lora8 --top 45
    python -m training.large.adapter ship ADAPTER.lora8 OUT.lora8 --base-sha256 DIGEST

An adapter is a set of tensors `layers.N.MAP.A` (rank x inputs) and `layers.N.MAP.B` (outputs x
rank), added as B(Ax). A `.safetensors` file holds float16; a `.lora8` file holds 8-bit numbers with
one float16 scale for each 64 of them, A and the transposed B row by row. Its values are
float16(integer x scale) everywhere. The numbers have 7.6 bits of entropy, which the deflate of a
wheel almost reaches. A smaller largest integer (`--top`) makes them shorter there: the adapter of
the package takes 27.2 MB with 127, 23.8 with 63 (products change by 1.7 %), 22.4 with 47 (2.3 %).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

ROUNDED = ".lora8"
# Numbers that share a scale, and the largest integer by default.
RUN, TOP = 64, 127
Adapter = dict[str, Tensor]


def read(path: Path) -> Adapter:
    """Return the tensors of an adapter file, float32."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if path.suffix == ROUNDED:
        return _unrounded(tensors)
    return {name: value.float() for name, value in tensors.items()}


def write(path: Path, tensors: Adapter, top: int = TOP) -> None:
    """Write a file atomically, in the format of its suffix; `top` is the largest integer."""
    from safetensors.torch import save_file

    partial = path.with_name(path.name + ".partial")
    if path.suffix == ROUNDED:
        save_file(_rounded(tensors, top), partial)
    else:
        half = {name: value.cpu().half().contiguous() for name, value in tensors.items()}
        save_file(half, partial)
    partial.rename(path)


def _rounded(tensors: Adapter, top: int) -> Adapter:
    found = {}
    for name, value in tensors.items():
        rows = (value.T if name.endswith(".B") else value).detach().cpu().float()
        runs = rows.reshape(rows.shape[0], -1, math.gcd(rows.shape[1], RUN))
        # The scale is rounded first, so that the numbers fit the stored scale.
        scale = (runs.abs().amax(-1) / top).half().clamp(min=6e-8)
        numbers = (runs / scale.float()[:, :, None]).round().clamp(-top, top)
        numbers = numbers.to(torch.int8).reshape(rows.shape)
        found[name] = numbers.contiguous()
        found[f"{name}.scale"] = scale.contiguous()
    return found


def _unrounded(tensors: Adapter) -> Adapter:
    found = {}
    for name, numbers in tensors.items():
        if name.endswith(".scale"):
            continue
        scale = tensors[f"{name}.scale"].float()
        runs = numbers.float().reshape(numbers.shape[0], scale.shape[1], -1)
        rows = (runs * scale[:, :, None]).reshape(numbers.shape).half().float()
        found[name] = rows.T.contiguous() if name.endswith(".B") else rows
    return found


def map_names(tensors: Adapter) -> list[str]:
    """Return the name `layers.N.MAP` of every map, in order."""
    return [name[:-2] for name in tensors if name.endswith(".A") and name.startswith("layers.")]


def factors(ups: list[Tensor], downs: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, s, V^T of the sum of B_i A_i, from the factors alone."""
    up, down = torch.cat(ups, 1).float(), torch.cat(downs, 0).float()
    left, left_r = torch.linalg.qr(up)
    right, right_r = torch.linalg.qr(down.T)
    u, s, vt = torch.linalg.svd(left_r @ right_r.T, full_matrices=False)
    return left @ u, s, vt @ right.T


def combined(
    adapters: list[Adapter],
    rank: int,
    weights: list[float] | None = None,
    *,
    uniform: bool = True,
    device: str = "cpu",
) -> Adapter:
    """Return the weighted sum of the adapters' products, by default their mean, cut to a rank.

    If not uniform, the largest singular values per stored number over all maps are kept, and the
    rank is the mean of the maps, weighted by their sizes.
    """
    found: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
    weights = weights or [1 / len(adapters)] * len(adapters)
    for name in map_names(adapters[0]):
        ups = [tensors[f"{name}.B"].to(device) * weight
               for tensors, weight in zip(adapters, weights, strict=True)]  # fmt: skip
        downs = [tensors[f"{name}.A"].to(device) for tensors in adapters]
        found[name] = factors(ups, downs)
    ranks = {name: min(rank, len(s)) for name, (_, s, _) in found.items()}
    if not uniform:
        ranks = _ranks(found, rank)
    result = {}
    for name, (u, s, vt) in found.items():
        kept = ranks[name]
        root = s[:kept].sqrt()
        # The scale is split equally, so that both sides round equally well.
        result[f"{name}.A"] = (root[:, None] * vt[:kept]).contiguous()
        result[f"{name}.B"] = (u[:, :kept] * root).contiguous()
    return result


def _ranks(found: dict[str, tuple[Tensor, Tensor, Tensor]], rank: int) -> dict[str, int]:
    costs = {name: u.shape[0] + vt.shape[1] for name, (u, _, vt) in found.items()}
    budget = rank * sum(costs.values())
    ranks = dict.fromkeys(found, 1)
    budget -= sum(costs.values())
    worth = [
        (float(value) ** 2 / costs[name], name)
        for name, (_, s, _) in found.items()
        for value in s[1:]
    ]
    for _, name in sorted(worth, reverse=True):
        if costs[name] <= budget:
            budget -= costs[name]
            ranks[name] += 1
    return ranks


def ship(adapter: Path, out: Path, base_sha256: str, languages: Sequence[str] = ("en",)) -> None:
    """Write a `.lora8` file with the metadata for the package; its numbers do not change."""
    data = adapter.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"] = {
        "format": "halldetect-lora8",
        "base_sha256": base_sha256,
        "temperature": "1.0",
        "languages": json.dumps(languages),
    }
    # The bytes are reproducible, which `save_file` does not guarantee.
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    out.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    soup = commands.add_parser("soup", help="average adapters")
    soup.add_argument("out", type=Path)
    soup.add_argument("adapters", nargs="+", metavar="ADAPTER[=WEIGHT]")
    prune = commands.add_parser("prune", help="cut to a rank")
    again = commands.add_parser("round", help="round an adapter of any suffix, once more")
    for command in (prune, again):
        command.add_argument("adapter", type=Path)
        command.add_argument("out", type=Path)
        command.add_argument("--top", type=int, default=TOP, choices=range(1, TOP + 1), metavar="N")
    for command, rank in ((soup, 64), (prune, 24)):
        command.add_argument("--rank", type=int, default=rank)
        command.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    package = commands.add_parser("ship", help="add what the package must know")
    package.add_argument("adapter", type=Path)
    package.add_argument("out", type=Path)
    package.add_argument("--base-sha256", required=True)
    package.add_argument("--languages", nargs="+", default=["en"], help="that it learned")
    options = parser.parse_args()
    if options.command == "soup":
        paths, given = zip(*(word.partition("=")[::2] for word in options.adapters), strict=True)
        weights = [float(weight) for weight in given] if all(given) else None
        adapters = [read(Path(path)) for path in paths]
        write(options.out, combined(adapters, options.rank, weights, device=options.device))
    elif options.command == "prune":
        cut = combined([read(options.adapter)], options.rank, uniform=False, device=options.device)
        write(options.out, cut, options.top)
    elif options.command == "round":
        write(options.out, read(options.adapter), options.top)
    else:
        ship(options.adapter, options.out, options.base_sha256, options.languages)


if __name__ == "__main__":
    main()
