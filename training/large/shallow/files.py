"""Files of a shallow verifier: what training changed, in parts that are small enough to move.

`setting.json` has the setting. `part_N.safetensors` hold the low-rank maps and the maps to keys and
values, float16, and the numbers of the channels kept.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from training.large.shallow.model import Student, Teacher
from training.large.shallow.setting import Setting

MOST = 16_500_000  # bytes of a part


def save(student: Student, folder: Path) -> list[Path]:
    """Write a student and return its files."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: value.detach().half().cpu().contiguous()
        for name, value in (student.lora | student.maps).items()
    }
    for number, kept in enumerate(student.kept):
        tensors[f"kept.{number}"] = kept.to(torch.int32).cpu()
    parts: list[dict[str, Tensor]] = [{}]
    used = 0
    for name, value in tensors.items():
        size = value.numel() * value.element_size() + 200  # with its entry in the header
        if parts[-1] and used + size > MOST:
            parts.append({})
            used = 0
        parts[-1][name] = value
        used += size
    for old in folder.glob("part_*.safetensors"):
        old.unlink()
    written = [folder / "setting.json"]
    stored = json.dumps(student.setting.stored(), indent=1)
    written[0].write_text(stored + "\n", encoding="utf-8")
    for number, part in enumerate(parts):
        path = folder / f"part_{number:02}.safetensors"
        save_file(part, path)
        written.append(path)
    return written


def tensors_of(folder: Path) -> dict[str, Tensor]:
    """Return all tensors of a folder."""
    from safetensors.torch import load_file

    found: dict[str, Tensor] = {}
    for path in sorted(folder.glob("part_*.safetensors")):
        found |= load_file(path)
    return found


def setting_of(folder: Path) -> Setting:
    """Return the setting of a folder."""
    return Setting.read(json.loads((folder / "setting.json").read_text(encoding="utf-8")))


def load(teacher: Teacher, folder: Path, seed: int = 0) -> Student:
    """Return the student of a folder, for the teacher that it was made from."""
    setting, tensors = setting_of(folder), tensors_of(folder)
    kept = [tensors[f"kept.{number}"].long() for number in range(teacher.shape.layers)]
    student = Student(teacher, setting, kept, seed)
    for name, value in (student.lora | student.maps).items():
        value.data.copy_(tensors[name])
    return student
