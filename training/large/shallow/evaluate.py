"""Teacher and student on the development sets of `training.large.measure`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from halldetect.large.shape import Shape
from training.large import measure
from training.large.pack import Groups
from training.large.shallow.model import Student
from training.large.shallow.rows import Questions, Room, Step, steps
from training.large.shallow.setting import Setting, work

SETS = {
    "short": measure.SHORT_DEV, "long": measure.LONG_DEV, "suites": measure.SUITES,
    "languages": tuple(f"suite_{name}" for name in "de es fr it pt hi zh ja ar ru".split()),
}  # fmt: skip
CONFIG = Path(__file__).parents[3] / "src/halldetect/weights/large/config.json"


def of_teacher(student: Student, stream: Iterable[Step], claims: int) -> NDArray[np.float32]:
    """Return the teacher's logits of all claims, NaN where it was not asked."""
    found = np.full((claims, 3), np.nan, np.float32)
    for step in stream:
        reading = student.teacher(step.teacher, student.setting)
        found[step.teacher.claims] = reading.logits.cpu().numpy()
    return found


def of_student(student: Student, stream: Iterable[Step], claims: int) -> NDArray[np.float32]:
    """Return the student's logits of all claims, NaN where it was not asked."""
    found = np.full((claims, 3), np.nan, np.float32)
    for step in stream:
        found[step.student.claims] = student(step).logits.detach().cpu().numpy()
    return found


def mean(areas: dict[str, float], of: str) -> float:
    """Return the mean AUROC of the sets of a kind, of those that were judged."""
    found = [areas[name] for name in SETS[of] if name in areas]
    return round(float(np.mean(found)), 4) if found else 0.0


class Exam:
    """The development sets, and the teacher's answers to them."""

    def __init__(
        self, student: Student, work: Path, data: Groups, questions: Questions, room: Room
    ) -> None:
        self.student, self.work, self.data = student, work, data
        self.questions, self.room = questions, room
        tails = np.diff(data.tail_offsets)
        self.longest = min(measure.LONGEST, room.row - int(tails.max(initial=0)))
        self.teacher = of_teacher(student, self.stream(), data.claims)
        self.areas = self.area_by_set("teacher", self.teacher)

    def stream(self) -> Iterable[Step]:
        setting, chosen = self.student.setting, range(len(self.data))
        return steps(self.data, self.questions, chosen, self.room, setting, self.longest)

    def area_by_set(self, name: str, logits: NDArray[np.float32]) -> dict[str, float]:
        """Write the answers beside the rows, and return the AUROC of every set."""
        from halldetect_bench.stats.classification_metrics import auroc

        measure.save_logits(self.work, name, logits, self.data.first, CONFIG)
        config = json.loads(CONFIG.read_text(encoding="utf-8"))
        scores = measure.Answers(self.work, name).scores(config["calibration"])
        return {
            of: round(float(auroc(wrong.tolist(), score.tolist()) or 0.0), 4)
            for of, (wrong, score) in scores.items()
            if 0 < wrong.sum() < len(wrong)
        }

    def taken(self, name: str) -> dict[str, Any]:
        """Return the student's figures: AUROC by set, losses in the mean, agreement on claims."""
        ours = of_student(self.student, self.stream(), self.data.claims)
        areas = self.area_by_set(name, ours)
        supports = [torch.from_numpy(x).softmax(-1)[:, 0].numpy() for x in (self.teacher, ours)]
        return {
            "name": name, "claims": len(ours), "areas": areas,
            "means": {of: mean(areas, of) for of in SETS},
            "losses": {of: round(mean(self.areas, of) - mean(areas, of), 4) for of in SETS},
            "agreement": round(float((ours.argmax(-1) == self.teacher.argmax(-1)).mean()), 4),
            "difference": round(float(np.abs(supports[0] - supports[1]).mean()), 4),
        }  # fmt: skip


def share_of_work(setting: Setting, shape: Shape, data: Groups, questions: Questions) -> float:
    """Return the student's multiplications in linear maps as a share of the teacher's."""
    whole = Setting(shape.layers, shape.layers)
    sources, tails = len(data.ids), len(data.tail_ids)
    short = tails + data.claims * (len(questions.new) - len(questions.old))
    lasts = data.claims * setting.last
    ours = work(setting, shape, sources, short - lasts, lasts)
    return round(ours / work(whole, shape, sources, tails, 0), 4)
