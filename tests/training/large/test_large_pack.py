"""Rows of sources and claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from halldetect.large.answer_prompt import Prompt  # noqa: E402
from halldetect.large.gguf import GgufFile  # noqa: E402
from tests.support.tiny_qwen import write_tiny  # noqa: E402
from training.large import pack  # noqa: E402

pytestmark = pytest.mark.hf


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("tokenizer")).base


def lines(count: int, seed: int = 5) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "premise": "p" * int(rng.integers(1, 900)),
            "source": "one" if number % 3 else "two",
            "claims": [
                {"text": "c" * int(rng.integers(1, 90)), "label": "N", "weight": 0.5}
                for _ in range(int(rng.integers(0, 12)))
            ],
        }
        for number in range(count)
    ]


def test_every_claim_is_packed_once_and_rows_are_full(tokenizer: Path) -> None:
    data = pack.tokenise(lines(300), tokenizer)
    order = np.random.default_rng(0).permutation(len(data))
    rows = list(pack.packed(pack.units(data, order, 4096, 700), 4096, window=100))
    claims = np.concatenate([range(unit.start, unit.stop) for row in rows for unit in row])
    assert sorted(claims.tolist()) == list(range(data.claims))
    sizes = [sum(unit.size for unit in row) for row in rows]
    assert max(sizes) <= 4096
    assert sum(sizes) / (4096 * len(rows)) > 0.97


def test_rows_hold_what_the_text_says(tokenizer: Path) -> None:
    given = lines(20)
    data = pack.tokenise(given, tokenizer)
    rows = list(pack.packed(pack.units(data, range(len(data)), 2048, 5000), 2048))
    built = pack.build(data, rows, 2048)
    found = {}
    for place, claim in zip(built.answers, built.claims, strict=True):
        row, end = divmod(int(place), 2048)
        group, number = built.group[row, end], built.claim[row, end]
        mine = (built.group[row] == group) & np.isin(built.claim[row], [0, number])
        assert built.positions[row][mine].tolist() == list(range(mine.sum()))
        found[int(claim)] = tuple(built.ids[row][mine].tolist())
    prompt = Prompt(GgufFile(tokenizer))
    wanted = [
        passage + asked
        for line, passage in zip(
            given, prompt.passages([str(line["premise"]) for line in given]), strict=True
        )
        for asked in prompt.claims([claim["text"] for claim in line["claims"]])  # type: ignore[attr-defined]
    ]
    assert [found[number] for number in range(data.claims)] == wanted


def test_blocks_cover_what_is_visible(tokenizer: Path) -> None:
    data = pack.tokenise(lines(40), tokenizer)
    rows = list(pack.packed(pack.units(data, range(len(data)), 2048, 1500), 2048))
    built = pack.build(data, rows, 2048)
    group, claim = torch.from_numpy(built.group), torch.from_numpy(built.claim)
    seen = pack.dense_mask(group, claim)[:, 0].numpy()
    blocks = seen.reshape(len(rows), 16, pack.BLOCK, 16, pack.BLOCK).transpose(0, 1, 3, 2, 4)
    touched, whole = blocks.any((-1, -2)), blocks.all((-1, -2))
    assert ((built.partial | built.full) >= touched).all()
    assert (built.full <= whole).all()
    assert built.full.sum() > 0.8 * (whole & ~np.eye(16, dtype=bool)).sum()
    assert (built.partial & ~touched).sum() == 0
    mask = pack.block_mask(
        group, claim, torch.from_numpy(built.partial), torch.from_numpy(built.full)
    )
    assert (mask.to_dense()[:, 0].bool().numpy() == (built.partial | built.full)).all()


def test_groups_survive_being_saved(tokenizer: Path, tmp_path: Path) -> None:
    data = pack.tokenise(lines(5), tokenizer)
    data.save(tmp_path / "groups.npz")
    found = pack.Groups.load(tmp_path / "groups.npz")
    assert found.names == data.names
    assert (found.tail_ids == data.tail_ids).all()
    assert found.weights.tolist() == [0.5] * data.claims


def test_a_source_longer_than_a_row_is_refused(tokenizer: Path) -> None:
    data = pack.tokenise([{"premise": "p" * 600, "claims": ["c"]}], tokenizer)
    with pytest.raises(ValueError, match="exceed the row"):
        list(pack.units(data, [0], 512, 600))
