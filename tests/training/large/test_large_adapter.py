"""Adapters: averages, ranks and 8 bits."""

from __future__ import annotations

import math
import sys
import zlib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from tests.support.tiny_qwen import SHAPE  # noqa: E402
from training.large import adapter  # noqa: E402
from training.large.model import drawn  # noqa: E402

pytestmark = pytest.mark.hf


def made(seed: int, rank: int = 6) -> adapter.Adapter:
    found = {name: value.detach() for name, value in drawn(SHAPE, rank, seed, "cpu").items()}
    generator = torch.Generator().manual_seed(seed + 100)
    for name, value in found.items():
        if name.endswith(".B"):
            value.normal_(0, 0.1, generator=generator)
    return found


def products(tensors: adapter.Adapter) -> dict[str, torch.Tensor]:
    return {
        name: tensors[f"{name}.B"] @ tensors[f"{name}.A"] for name in adapter.map_names(tensors)
    }


def difference(first: adapter.Adapter, second: adapter.Adapter) -> float:
    """Return |D1 - D2| / |D1| over all maps' products (Frobenius), from the factors alone."""
    apart = whole = 0.0
    for name in adapter.map_names(first):
        ups = [first[f"{name}.B"], -second[f"{name}.B"]]
        downs = [first[f"{name}.A"], second[f"{name}.A"]]
        apart += float(adapter.factors(ups, downs)[1].double().square().sum())
        whole += float(adapter.factors(ups[:1], downs[:1])[1].double().square().sum())
    return math.sqrt(apart / whole)


def test_the_average_is_that_of_the_products() -> None:
    first, second = made(1), made(2)
    both = products(adapter.combined([first, second], 12))
    for name, value in both.items():
        expected = (products(first)[name] + products(second)[name]) / 2
        torch.testing.assert_close(value, expected, atol=1e-5, rtol=1e-4)


def test_a_soup_takes_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = made(1), made(2)
    for name, tensors in (("a", first), ("b", second)):
        adapter.write(tmp_path / f"{name}.safetensors", tensors)
    words = [f"{tmp_path}/a.safetensors=0.75", f"{tmp_path}/b.safetensors=0.25"]
    out = tmp_path / "c.safetensors"
    monkeypatch.setattr(sys, "argv", ["adapter", "soup", str(out), *words, "--rank", "12"])
    adapter.main()
    for name, value in products(adapter.read(out)).items():
        expected = 0.75 * products(first)[name] + 0.25 * products(second)[name]
        torch.testing.assert_close(value, expected, atol=1e-2, rtol=1e-2)


def test_a_cut_to_a_rank_is_the_best_one() -> None:
    whole = made(3)
    cut = products(adapter.combined([whole], 2))
    for name, value in products(whole).items():
        u, s, vt = torch.linalg.svd(value)
        best = u[:, :2] @ torch.diag(s[:2]) @ vt[:2]
        torch.testing.assert_close(cut[name], best, atol=1e-5, rtol=1e-3)


def test_free_ranks_lose_less_for_the_same_size() -> None:
    whole = made(4)
    for name, value in whole.items():  # one map that matters much more
        if name.startswith("layers.0.dn"):
            value *= 5
    even = adapter.combined([whole], 3)
    free = adapter.combined([whole], 3, uniform=False)
    sizes = [sum(value.numel() for value in found.values()) for found in (even, free)]
    assert sizes[1] <= sizes[0]
    assert difference(whole, free) < difference(whole, even)


def test_eight_bits_change_little(tmp_path: Path) -> None:
    tensors = adapter.combined([made(5)], 4, uniform=False)
    adapter.write(tmp_path / "a.lora8", tensors)
    assert difference(tensors, adapter.read(tmp_path / "a.lora8")) < 0.02


def test_smaller_numbers_take_less_space_in_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from halldetect.large.adapter import read_adapter

    tensors, paths = made(7, rank=64), {}
    for top in (127, 45):
        paths[top] = tmp_path / f"{top}.lora8"
        adapter.write(tmp_path / "a.lora8", tensors)
        words = ["adapter", "round", str(tmp_path / "a.lora8"), str(paths[top])]
        monkeypatch.setattr(sys, "argv", [*words, "--top", str(top)])
        adapter.main()
    sizes = {top: len(zlib.compress(path.read_bytes())) for top, path in paths.items()}
    assert sizes[45] < 0.85 * sizes[127]
    assert difference(tensors, adapter.read(paths[45])) < 0.03
    adapter.ship(paths[45], tmp_path / "out.lora8", "ab" * 32)
    found = read_adapter(tmp_path / "out.lora8").tensors
    for name, value in adapter.read(paths[45]).items():
        torch.testing.assert_close(torch.from_numpy(found[name]), value, atol=0, rtol=0)


def test_float16_files_are_read_back(tmp_path: Path) -> None:
    tensors = made(6)
    adapter.write(tmp_path / "a.safetensors", tensors)
    found = adapter.read(tmp_path / "a.safetensors")
    assert all(torch.equal(found[name], tensors[name].half().float()) for name in tensors)
    assert difference(tensors, found) < 1e-3


def test_what_ships_is_read_by_the_package(tmp_path: Path) -> None:
    from halldetect.large.adapter import read_adapter

    adapter.write(tmp_path / "cut.lora8", made(6))
    for name in ("one.lora8", "two.lora8"):
        adapter.ship(tmp_path / "cut.lora8", tmp_path / name, "ab" * 32)
    assert (tmp_path / "one.lora8").read_bytes() == (tmp_path / "two.lora8").read_bytes()
    found = read_adapter(tmp_path / "one.lora8")
    assert (found.base_sha256, found.temperature, found.languages) == ("ab" * 32, 1.0, ("en",))
    for name, value in adapter.read(tmp_path / "cut.lora8").items():
        torch.testing.assert_close(torch.from_numpy(found.tensors[name]), value, atol=0, rtol=0)
