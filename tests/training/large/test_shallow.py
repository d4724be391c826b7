"""The shallow verifier: its gathered computation against a plain one, its start and its files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from halldetect.large.answer_prompt import QUESTION, Prompt  # noqa: E402
from halldetect.large.gguf import GgufFile  # noqa: E402
from halldetect.large.torch_model import rotated  # noqa: E402
from tests.support.tiny_qwen import TinyModel, write_tiny  # noqa: E402
from tests.training.large.test_large_model import groups  # noqa: E402
from training.large import adapter, pack  # noqa: E402
from training.large.model import Verifier, normalised  # noqa: E402
from training.large.shallow import files, fit  # noqa: E402
from training.large.shallow.__main__ import Lessons, Log, parser, run, train  # noqa: E402
from training.large.shallow.model import Reading, Student, Teacher, unit  # noqa: E402
from training.large.shallow.rows import Questions, Room, Step, joined, steps  # noqa: E402
from training.large.shallow.setting import Setting, work  # noqa: E402

pytestmark = pytest.mark.hf

ROOM = Room(row=768, rows=2, claims=384, answers=16)
SHORT = "\n\nAnswer:"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    return write_tiny(tmp_path_factory.mktemp("shallow"))


@pytest.fixture
def teacher(tiny: TinyModel) -> Teacher:
    return Teacher(Verifier(tiny.base, device="cpu", rank=1), adapter.read(tiny.adapter))


def student_of(teacher: Teacher, setting: Setting) -> Student:
    """Return a student with all channels and random maps."""
    everything = [torch.arange(teacher.shape.ffn)] * teacher.shape.layers
    student = Student(teacher, setting, everything, 1)
    generator = torch.Generator().manual_seed(2)
    for name, value in (student.lora | student.maps).items():
        if not name.endswith(".A"):
            value.data.normal_(0, 0.05, generator=generator)
    return student


def only_step(tiny: TinyModel, setting: Setting, room: Room = ROOM) -> tuple[pack.Groups, Step]:
    data = pack.tokenise(groups(4), tiny.base)
    questions = Questions(tiny.base, setting.question)
    found = list(steps(data, questions, range(len(data)), room, setting, 300))
    assert len(found) == 1
    return data, found[0]


def test_all_layers_and_the_long_question_give_the_teachers_answers(
    teacher: Teacher, tiny: TinyModel
) -> None:
    setting = Setting(3, 3, question=QUESTION, rank=2)
    everything = [torch.arange(teacher.shape.ffn)] * 3
    _, step = only_step(tiny, setting)
    theirs = teacher(step.teacher, setting)
    ours = Student(teacher, setting, everything, 1)(step)
    np.testing.assert_allclose(ours.logits.detach(), theirs.logits, atol=2e-5)
    model = Verifier(tiny.base, device="cpu", rank=4)
    model.load(adapter.read(tiny.adapter))
    shipped = model(pack.to_device(step.teacher, "cpu", "dense")).detach()
    np.testing.assert_allclose(theirs.logits, shipped, atol=2e-4)


def plain(student: Student, ids: np.ndarray, source: int, claim: int) -> torch.Tensor:
    """Return the logits of one claim, every token in every layer, without slots.

    A token beyond its last layer keeps the state it had there.
    """
    setting, shape, base = student.setting, student.shape, student.teacher.base
    size = shape.head_size
    kind = np.full(len(ids), 1)
    kind[:source], kind[len(ids) - setting.last :] = 0, 2
    ends = np.array([setting.source, setting.claim, shape.layers])[kind]
    x = base.embedding[torch.from_numpy(ids)][None]
    angles = student.teacher.angles(torch.arange(len(ids))[None])
    for number in range(shape.layers):
        frozen = student.frozen[number]
        lora = [student.lora[f"layers.{number}.{name}"] for name in student.names]
        h = normalised(x, frozen[0], shape.epsilon)
        q, k, v = (
            h @ (weight + b @ a).T + bias
            for weight, bias, a, b in zip(
                frozen[1].split([shape.hidden, size * 2, size * 2]),
                frozen[2].split([shape.hidden, size * 2, size * 2]),
                lora[0:6:2], lora[1:6:2], strict=True,
            )
        )  # fmt: skip
        for name, token in (("source", 0), ("claim", 1)):
            gone = torch.from_numpy((kind == token) & (ends <= number))
            if gone.any():
                maps = [student.maps[f"{name}.{number}.{end}"] for end in ("weight", "bias")]
                mapped = unit(x, shape.epsilon) @ maps[0].T + maps[1]
                k = torch.where(gone[None, :, None], mapped[..., : size * 2], k)
                v = torch.where(gone[None, :, None], mapped[..., size * 2 :], v)
        q, k = (rotated(part.unflatten(-1, (-1, size)).transpose(1, 2), *angles) for part in (q, k))
        v = v.unflatten(-1, (-1, size)).transpose(1, 2)
        k, v = (part.repeat_interleave(2, 1) for part in (k, v))
        scores = (q @ k.transpose(2, 3)) / size**0.5
        scores = scores.masked_fill(~torch.ones(len(ids), len(ids)).tril().bool(), -torch.inf)
        h = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        y = x + h @ (frozen[3] + lora[7] @ lora[6]).T
        h = normalised(y, frozen[4], shape.epsilon)
        gate, up = (
            h @ (weight + b @ a).T
            for weight, a, b in zip(frozen[5].chunk(2), lora[8:12:2], lora[9:12:2], strict=True)
        )
        y = y + (torch.nn.functional.silu(gate) * up) @ (frozen[6] + lora[13] @ lora[12]).T
        x = torch.where(torch.from_numpy(ends <= number)[None, :, None], x, y)
    return (normalised(x[0, -1], base.norm, shape.epsilon).float() @ base.head.T).detach()


@pytest.mark.parametrize(("source", "claim", "last"), [(1, 2, 1), (1, 2, 3), (2, 2, 1), (1, 3, 1)])
def test_gathered_slots_give_what_every_claim_alone_gives(
    teacher: Teacher, tiny: TinyModel, source: int, claim: int, last: int
) -> None:
    setting = Setting(source, claim, question=SHORT, last=last, rank=2)
    student = student_of(teacher, setting)
    data, step = only_step(tiny, setting)
    logits = student(step).logits.detach()
    short = Questions(tiny.base, SHORT).exchanged(data)
    assert sorted(step.student.claims.tolist()) == list(range(data.claims))
    for number, found in zip(step.student.claims, logits, strict=True):
        group = int(np.searchsorted(data.first, number, "right")) - 1
        before = data.ids[data.offsets[group] : data.offsets[group + 1]][:300]
        tail = short.tail_ids[short.tail_offsets[number] : short.tail_offsets[number + 1]]
        alone = plain(student, np.concatenate([before, tail]), len(before), len(tail))
        np.testing.assert_allclose(found, alone, atol=2e-5)


def test_block_masks_cover_what_is_visible(teacher: Teacher, tiny: TinyModel) -> None:
    room = Room(row=768, rows=2, claims=384, answers=128)
    setting = Setting(1, 2, question=SHORT)
    _, step = only_step(tiny, setting, room)
    student = student_of(teacher, setting)
    for queries, keys in ((step.claims, step.claims_keys), (step.last, step.last_keys)):
        teacher.base.kind = "dense"
        seen = student.mask(queries, keys)[:, 0]
        teacher.base.kind = "flex"
        blocks = student.mask(queries, keys)
        size = pack.BLOCK
        tiles = seen.unflatten(2, (-1, size)).unflatten(1, (-1, size)).transpose(2, 3).flatten(3)
        assert torch.equal(blocks.to_dense()[:, 0].bool(), tiles.any(3))
        assert int(blocks.full_kv_num_blocks.sum()) == int(tiles.all(3).sum())
        places = torch.arange(seen.shape[1])[:, None], torch.arange(seen.shape[2])[None]
        for line in range(2):
            assert torch.equal(blocks.mask_mod(line, 0, *places), seen[line])


def test_an_exchanged_question_is_what_the_prompt_says(tiny: TinyModel) -> None:
    data = pack.tokenise(groups(5), tiny.base)
    prompt = Prompt(GgufFile(tiny.base), SHORT)
    short = Questions(tiny.base, SHORT).exchanged(data)
    texts = [claim["text"] for group in groups(5) for claim in group["claims"]]  # type: ignore[attr-defined]
    wanted = [token for ids in prompt.claims(texts) for token in ids]
    assert short.tail_ids.tolist() == wanted


def test_the_same_tokens_are_paired(tiny: TinyModel, teacher: Teacher) -> None:
    setting = Setting(1, 2, question=SHORT)
    _, step = only_step(tiny, setting)
    first, second = step.same
    assert len(first) > 100
    np.testing.assert_array_equal(
        step.teacher.ids.reshape(-1)[first], step.student.ids.reshape(-1)[second]
    )
    ids = np.take_along_axis(step.student.ids, step.claims_at, 1).reshape(-1)
    first, second = step.same_claims
    np.testing.assert_array_equal(step.teacher.ids.reshape(-1)[first], ids[second])


def test_steps_keep_to_their_room(tiny: TinyModel) -> None:
    data = pack.tokenise(groups(60), tiny.base)
    data = joined([data, data])
    room = Room(row=768, rows=1, claims=200, answers=5)
    setting = Setting(1, 2, question=SHORT)
    found = list(steps(data, Questions(tiny.base, SHORT), range(len(data)), room, setting, 300))
    claims = np.concatenate([step.student.claims for step in found])
    assert sorted(claims.tolist()) == list(range(data.claims))


def test_pruning_keeps_the_channels_that_carry_most(teacher: Teacher, tiny: TinyModel) -> None:
    setting = Setting(1, 2, (0.5, 1.0, 0.25), SHORT)
    for frozen in teacher.base.frozen:
        frozen[6][:, ::2] *= 1e-4
    _, step = only_step(tiny, setting)
    kept = fit.channels(teacher, setting, [step])
    assert [len(channels) for channels in kept] == [48, 96, 24]
    assert (kept[0] % 2 == 1).all()
    assert (kept[2] % 2 == 1).all()


def test_least_squares_find_maps_that_exist(teacher: Teacher, tiny: TinyModel) -> None:
    # Layers that change nothing: the keys of each are linear maps of the state before the first.
    for number, frozen in enumerate(teacher.base.frozen):
        teacher.base.frozen[number] = (*frozen[:3], frozen[3] * 0, *frozen[4:6], frozen[6] * 0)
    setting = Setting(1, 2, question=SHORT)
    everything = [torch.arange(teacher.shape.ffn)] * 3
    student = Student(teacher, setting, everything, 1)
    _, step = only_step(tiny, setting)
    for name, layers in (("source", 2), ("claim", 1)):
        found = fit.fit(student, [step], name)
        assert len(found["explained"]) == layers
        assert min(found["explained"]) > 0.99
    theirs, ours = teacher(step.teacher, setting), student(step)
    assert ours.lower.shape == theirs.lower.shape


def test_training_lowers_the_loss_and_files_bring_it_back(
    teacher: Teacher, tiny: TinyModel, tmp_path: Path
) -> None:
    setting = Setting(1, 2, (0.5, 0.5, 0.5), SHORT, rank=4)
    data, step = only_step(tiny, setting)
    student = Student(teacher, setting, fit.channels(teacher, setting, [step]), 1)
    words = [str(tmp_path), "--adapter", "A", "--out", "o", "--device", "cpu", "--steps", "15"]
    words += ["--rate", "2e-3", "--map-rate", "2e-3", "--warm", "2", "--gold", "0"]
    options = parser().parse_args(words)
    lessons = Lessons(student, data, options)
    before = lessons(step, 1.0)[1]
    train(student, lessons, iter([step] * 16), options, Log(tmp_path / "log.jsonl"))
    after = lessons(step, 1.0)[1]
    assert after["soft"] < before["soft"]
    assert after["lower"] < before["lower"]
    files.save(student, tmp_path / "saved")
    again = files.load(teacher, tmp_path / "saved")
    assert again.setting == setting
    mine: list[Reading] = [one(step) for one in (student, again)]
    np.testing.assert_allclose(mine[0].logits.detach(), mine[1].logits.detach(), atol=0.02)


def test_work_counts_tokens_in_the_layers_they_go_through(teacher: Teacher) -> None:
    shape = teacher.shape
    whole = work(Setting(3, 3), shape, 10, 5, 1)
    assert whole == 16 * shape.weights
    assert work(Setting(1, 2), shape, 10, 5, 1) < 0.7 * whole
    assert work(Setting(3, 3, (0.5, 1, 1)), replace(shape), 10, 5, 1) < whole


def test_the_command_goes_on_from_its_files(tiny: TinyModel, tmp_path: Path) -> None:
    (tmp_path / "base.gguf").symlink_to(tiny.base)
    pack.tokenise(groups(6), tiny.base).save(tmp_path / "one.npz")
    words = [
        str(tmp_path), "--adapter", str(tiny.adapter), "--train", "one.jsonl.xz", "--device", "cpu",
        "--row", "1280", "--rows", "1", "--claims", "512", "--answers", "8", "--fit-steps", "2",
        "--layers", "1,2", "--widths", "0.5,0.5,0.8", "--rank", "2", "--steps", "3", "--every", "1",
    ]  # fmt: skip
    run(parser().parse_args([*words, "--out", "first"]))
    start = ["--start", str(tmp_path / "first"), "--out", "second"]
    run(parser().parse_args([*words, *start]))
    first, second = (files.tensors_of(tmp_path / name) for name in ("first", "second"))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first if "kept" in name)
    assert not torch.equal(first["layers.0.q.B"], second["layers.0.q.B"])
