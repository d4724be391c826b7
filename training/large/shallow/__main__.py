"""Teach the large verifier to answer with fewer and narrower layers and a shorter question.

    python -m training.large.shallow WORK --adapter A.lora8 --out run1 --layers 14,18 --seconds 540

WORK holds base.gguf, the groups to train on (`--train`) and, for figures, eval_groups and eval_rows
of `training.large.measure prepare`. The teacher is the adapter on its base. WORK/run1 gets the
files of `files.save`, rewritten regularly, and `log.jsonl`. `--start` goes on from such a folder.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.large import adapter, pack
from training.large.model import Verifier
from training.large.shallow import files, fit
from training.large.shallow.evaluate import Exam, share_of_work
from training.large.shallow.model import Student, Teacher, unit
from training.large.shallow.rows import Questions, Room, Step, joined, steps
from training.large.shallow.setting import Setting
from training.large.train import chosen, objective, rate

STATES = 8192  # tokens of a step whose states are compared, at most


class Log:
    """Lines of JSON on standard output and in a file, with the elapsed seconds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.start = time.monotonic()

    def __call__(self, **values: Any) -> None:
        line = json.dumps({"elapsed": round(time.monotonic() - self.start, 1), **values})
        print(line, flush=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def endless(kept: np.ndarray, seed: int) -> Iterator[int]:
    """Yield the numbers of all groups, in a new order in every pass."""
    passes = 0
    while True:
        yield from np.random.default_rng([seed, passes]).permutation(kept).tolist()
        passes += 1


def apart(states: tuple[Tensor, Tensor], places: tuple[Tensor, Tensor], epsilon: float) -> Tensor:
    """Return how far states of the same tokens are apart, as a share of their mean square."""
    first, second = (
        unit(rows.flatten(0, 1)[at], epsilon).float()
        for rows, at in zip(states, places, strict=True)
    )
    return (first - second).square().mean()


class Lessons:
    """The losses of a step."""

    def __init__(self, student: Student, data: pack.Groups, options: argparse.Namespace) -> None:
        self.student, self.options = student, options
        self.codes = torch.from_numpy(data.codes.astype(np.int64)).to(student.device)
        self.weights = torch.from_numpy(data.weights).to(student.device)
        self.weights[self.codes == pack.NONE] = 0.0

    def __call__(self, step: Step, left: float) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss, and its parts; the states count by the share of training `left`."""
        student, options = self.student, self.options
        theirs, ours = student.teacher(step.teacher, student.setting), student(step)
        epsilon = student.shape.epsilon
        shares = functional.softmax(theirs.logits, -1)
        soft = shares * (shares.clamp(min=1e-9).log() - functional.log_softmax(ours.logits, -1))
        index = student.moved(step.student.claims)
        gold = objective(ours.logits, self.codes[index], 0.0) * self.weights[index]
        parts = {"soft": soft.sum(-1).mean(), "gold": gold.mean()}
        for name, same, states in (
            ("lower", step.same, (theirs.lower, ours.lower)),
            ("upper", step.same_claims, (theirs.upper, ours.upper)),
        ):
            drawn = np.random.default_rng(0).permutation(len(same[0]))[:STATES]
            places = (student.moved(same[0][drawn]), student.moved(same[1][drawn]))
            parts[name] = apart(states, places, epsilon)
        final = theirs.final.float()
        parts["final"] = (ours.final.float() - final).square().mean() / final.square().mean().clamp(
            min=1e-9
        )
        states = parts["lower"] + parts["upper"] + options.final * parts["final"]
        loss = parts["soft"] + options.gold * parts["gold"] + options.states * left * states
        right = (ours.logits.argmax(-1) == 0) == (theirs.logits.argmax(-1) == 0)
        parts["agreement"] = right.float().mean()
        return loss, {name: value.detach() for name, value in parts.items()}


def train(
    student: Student,
    lessons: Lessons,
    stream: Iterator[Step],
    options: argparse.Namespace,
    say: Log,
) -> None:
    """Train in place, until the time or the steps are over."""
    lora, maps = list(student.lora.values()), list(student.maps.values())
    groups = [{"params": lora, "top": options.rate}, {"params": maps, "top": options.map_rate}]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]], betas=(0.9, 0.98), weight_decay=0.0,
        fused=student.device == "cuda",
    )  # fmt: skip
    tokens = claims = number = 0
    sums: list[dict[str, Tensor]] = []
    begin = saved = last = time.monotonic()
    for step in stream:
        spent = (time.monotonic() - begin) / options.seconds if number else 0.0
        progress = number / options.steps if options.steps else spent
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = group["top"] * rate(progress, number, options.warm)
        loss, parts = lessons(step, 1 - progress)
        loss.backward()
        parts["norm"] = torch.nn.utils.clip_grad_norm_([*lora, *maps], 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        sums.append(parts)
        number += 1
        tokens += step.teacher.filled
        claims += len(step.teacher.claims)
        if number % 5 == 0 or number == 1:
            parts["soft"].item()  # waits for the device, for a correct time
        if number == 1:
            say(compiled=round(time.monotonic() - begin, 1))
            begin = saved = last = time.monotonic()  # the time of compilation does not count
        if number % options.every == 0:
            now = time.monotonic()
            means = {name: torch.stack([one[name] for one in sums]).mean().item() for name in parts}
            say(step=number, progress=round(progress, 3), tokens=tokens, claims=claims,
                seconds_a_step=round((now - last) / len(sums), 3),
                tokens_a_second=round(tokens / max(now - begin, 1e-3)),
                gigabytes=gigabytes(student.device),
                **{name: round(value, 4) for name, value in means.items()})  # fmt: skip
            sums.clear()
            last = now
            if not np.isfinite(list(means.values())).all():
                raise SystemExit("the loss is not finite; the files saved before are kept")
        if time.monotonic() - saved > options.save_every:
            files.save(student, options.work / options.out)
            saved = time.monotonic()
    say(steps=number, tokens=tokens, claims=claims, trained=round(time.monotonic() - begin, 1))


def gigabytes(device: str) -> float:
    """Return the peak memory of the GPU."""
    return round(torch.cuda.max_memory_allocated() / 1e9, 1) if device == "cuda" else 0.0


def started(
    options: argparse.Namespace,
    teacher: Teacher,
    setting: Setting,
    stream: Iterator[Step],
    say: Log,
) -> Student:
    """Return the student of `--start`, or a new one with channels and maps that are fitted."""
    if options.start is not None:
        return files.load(teacher, options.start, options.seed)
    kept = fit.channels(teacher, setting, islice(stream, options.fit_steps))
    say(channels=[len(channels) for channels in kept])
    student = Student(teacher, setting, kept, options.seed)
    for name in ("source", "claim"):
        say(**fit.fit(student, islice(stream, options.fit_steps), name))
    return student


def run(options: argparse.Namespace) -> None:
    """Fit, examine, train, examine again and save."""
    out: Path = options.work / options.out
    out.mkdir(parents=True, exist_ok=True)
    say = Log(out / "log.jsonl")
    say(options={name: str(value) for name, value in vars(options).items()})
    base = options.work / options.base
    teacher = Teacher(Verifier(base, device=options.device, rank=1), adapter.read(options.adapter))
    if options.start is not None:
        setting = files.setting_of(options.start)
    else:
        source, claim = options.layers
        setting = Setting(source, claim, options.widths, "\n\n" + options.question, options.last,
                          options.rank)  # fmt: skip
    questions = Questions(base, setting.question)
    room = Room(options.row, options.rows, options.claims, options.answers)
    data = joined([pack.load(options.work / name, base) for name in options.train])
    kept = chosen(data, options.share, options.seed)
    say(groups=len(kept), tokens=len(data.ids) + len(data.tail_ids), question=len(questions.new),
        work=share_of_work(setting, teacher.shape, data, questions))  # fmt: skip
    stream = steps(data, questions, endless(kept, options.seed), room, setting, options.longest)
    student = started(options, teacher, setting, stream, say)
    exam = None
    if options.exam:
        given = pack.load(options.work / "eval_groups.jsonl.xz", base)
        exam = Exam(student, options.work, given, questions, room)
        say(teacher=exam.areas, work=share_of_work(setting, teacher.shape, given, questions))
        say(exam=exam.taken(f"{options.out}-before"))
    train(student, Lessons(student, data, options), stream, options, say)
    written = files.save(student, out)
    say(files=[path.name for path in written], bytes=sum(path.stat().st_size for path in written))
    if exam:
        say(exam=exam.taken(f"{options.out}-after"))
    say(done=True)


def numbers(count: int, kind: type) -> Any:
    """Return a reader of as many numbers, divided by commas."""

    def read(text: str) -> tuple[Any, ...]:
        found = tuple(kind(part) for part in text.split(","))
        if len(found) != count:
            raise argparse.ArgumentTypeError(f"{count} numbers are needed, divided by commas")
        return found

    return read


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    found = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    found.add_argument("work", type=Path)
    found.add_argument("--adapter", type=Path, required=True, help="of the teacher")
    found.add_argument("--out", required=True, help="folder in WORK for the files and the log")
    found.add_argument("--base", default="base.gguf", help="file in WORK")
    found.add_argument("--train", type=lambda text: text.split(","), default=["all.jsonl.xz"],
                       metavar="A,B", help="files of groups in WORK")  # fmt: skip
    found.add_argument("--share", action="append", default=[], metavar="NAME=SHARE")
    found.add_argument("--start", type=Path, help="folder of a student to go on from")
    found.add_argument("--layers", type=numbers(2, int), default=(14, 18), metavar="S,C",
                       help="layers for sources, and for claims")  # fmt: skip
    found.add_argument("--widths", type=numbers(3, float), default=(0.67, 0.67, 0.67),
                       metavar="A,B,C", help="share of channels: up to S, to C, above")  # fmt: skip
    found.add_argument("--question", default="Answer:", help="after each claim, on its own line")
    found.add_argument("--last", type=int, default=1, help="tokens of a claim for all layers")
    found.add_argument("--rank", type=int, default=48)
    found.add_argument("--rate", type=float, default=2e-4)
    found.add_argument("--map-rate", type=float, default=1e-4)
    found.add_argument("--warm", type=int, default=40, help="steps of rising learning rate")
    found.add_argument("--gold", type=float, default=0.15, help="weight of the labels")
    found.add_argument("--states", type=float, default=0.5, help="weight of states, at the start")
    found.add_argument("--final", type=float, default=0.2, help="weight of last states among them")
    found.add_argument("--seconds", type=float, default=540.0)
    found.add_argument("--steps", type=int, help="a schedule by steps instead of seconds")
    found.add_argument("--fit-steps", type=int, default=16)
    found.add_argument("--longest", type=int, default=2048, help="tokens of a source")
    found.add_argument("--row", type=int, default=16384, help="tokens of a row")
    found.add_argument("--rows", type=int, default=2, help="rows of a step")
    found.add_argument("--claims", type=int, default=7168, help="slots for claims' tokens in a row")
    found.add_argument("--answers", type=int, default=512, help="claims of a row at most")
    found.add_argument("--exam", action="store_true", help="measure on the development sets")
    found.add_argument("--seed", type=int, default=1)
    found.add_argument("--every", type=int, default=25, help="steps between reports")
    found.add_argument("--save-every", type=float, default=150.0, help="seconds")
    found.add_argument("--eager", action="store_true", help="compile the attention alone")
    found.add_argument("--device", default="cuda")
    return found


def main() -> None:
    options = parser().parse_args()
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(options.seed)
    run(options)


if __name__ == "__main__":
    main()
