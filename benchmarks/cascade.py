"""Would a small verifier that screens windows save work? And which rule of the planner is best?

    python -m benchmarks.cascade WORK BASE_LOGITS [--small SMALL_LOGITS --small-cost 0.12]

What both verifiers say of every pair is looked up (see benchmarks/planner.py), so many settings
can be replayed. Settings are drawn at random and chosen on the HELD_OUT sets alone: the cheapest
within the bars there. The other sets are only reported.

lazy     the package's planner: windows in the order of the words they share with the claim
cascade  the first window as there; if it does not settle the claim, the small verifier reads
         the claim's windows and the large one judges them in the order of what it found, down
         to a screened support of `floor`

Tokens of the small verifier count with `--small-cost`, its share of the large one's work.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from benchmarks.planner import probabilities
from halldetect.report import Probabilities
from halldetect.scoring import Calibration
from halldetect.text.overlap import Promise
from halldetect.text.sentences import Span, sentences
from halldetect.verification.schedule import Course, Place, Rule
from halldetect.windows.scales import Window
from halldetect_bench.metrics import auroc
from training.base.evaluate import load_rows

RESULTS = Path(__file__).parent / "results" / "cascade.json"
HELD_OUT = ("storysumm", "dialsummeval", "wice", "bump", "pubmedqa")
LINE = 0.5
MOST_CHANGED, MOST_LOST = 0.5, 0.003  # percent of verdicts; AUROC
# The bar on AUROC means little on fewer responses: one of a hundred moves it by more.
ENOUGH_ROWS = 300

CHOICES: dict[str, Sequence[float]] = {
    "epsilon": (0.02, 0.03, 0.045, 0.06, 0.1),
    "glances": (2, 3, 4, 6),
    "far": (0.0, 0.1, 0.2, 0.3, 0.4),
    "silent": (0.0, 0.01, 0.02, 0.05, 0.1),
    "floor": (0.0, 0.01, 0.02, 0.05, 0.1, 0.2),
}


@dataclass(frozen=True)
class Claimed:
    """A claim against all its windows."""

    promise: list[float]
    tokens: list[int]
    places: list[Place]
    base: list[float]
    against: list[float]
    small: list[float] | None


@dataclass(frozen=True)
class Answered:
    hallucinated: bool
    claims: list[Claimed]


@dataclass
class Spent:
    base: int = 0
    small: int = 0


def lookup(work: Path, base: Any, small: Any | None, options: argparse.Namespace) -> dict[str, Any]:
    """Every response of every set, with the supports both verifiers give."""
    rows, texts, windows = load_rows(work)
    tokenizer = Tokenizer.from_file(str(work / "mpnet" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    calibration = Calibration()

    def count(strings: list[str]) -> list[int]:
        return [len(x.ids) for x in tokenizer.encode_batch(strings, add_special_tokens=False)]

    @cache
    def read(document: int) -> tuple[tuple[Window, ...], list[int], Promise]:
        text, spans = texts[document], sentences(texts[document])
        found = tuple(
            Window(
                text[start:end],
                0,
                Span(start, end),
                tuple(scales),
                tuple(span for span in spans if start <= span.start < end),
            )
            for start, end, *scales in windows[document]
        )
        return found, count([window.text for window in found]), Promise((text,), found)

    def supports(found: list[Probabilities]) -> list[float]:
        return [calibration.window_support(item) for item in found]

    sets: dict[str, list[Answered]] = {}
    for name in sorted({row["dataset"] for row in rows}):
        if f"set_{name}" not in base.files:
            continue
        judged = probabilities(base[f"set_{name}"], options.temperature)
        large, against = supports(judged), [item.contradiction or 0.0 for item in judged]
        little = (
            None
            if small is None
            else supports(probabilities(small[f"set_{name}"], options.small_temperature))
        )
        at = 0
        answered = []
        for row in (row for row in rows if row["dataset"] == name):
            found, sizes, promise = read(row["document"])
            places = [(0, window.span.start, window.span.end) for window in found]
            claims = []
            for claim, size in zip(row["claims"], count(row["claims"]), strict=True):
                part = slice(at, at + len(found))
                at += len(found)
                claims.append(
                    Claimed(
                        promise.of(claim, found),
                        [tokens + size for tokens in sizes],
                        places,
                        large[part],
                        against[part],
                        None if little is None else little[part],
                    )
                )
            if claims and found:
                answered.append(Answered(bool(row["hallucinated"]), claims))
        assert at == len(large), f"{name}: the logits belong to other rows"
        sets[name] = answered
        read.cache_clear()
        print(f"{name}: {len(answered)} responses", flush=True)
    return sets


@dataclass
class Going:
    claim: Claimed
    course: Course
    screened: bool

    def judge(self, windows: Iterable[int], rule: Rule, spent: Spent) -> None:
        for window in windows:
            spent.base += self.claim.tokens[window]
            support = self.claim.base[window]
            silent = rule.says_nothing(support, self.claim.against[window])
            self.course.meet(window, support, silent)

    def ahead(self, most: int | None, floor: float | None, spent: Spent) -> list[int]:
        """The next windows, once the first is done by what the small verifier says of them."""
        course = self.course
        if floor is not None and course.met and not self.screened:
            assert self.claim.small is not None
            spent.small += sum(self.claim.tokens[window] for window in course.left)
            hopeful = [window for window in course.left if self.claim.small[window] >= floor]
            hopeful.sort(key=lambda window: -self.claim.small[window])  # type: ignore[index]
            course.left = dict.fromkeys(hopeful)
            self.screened = True
        return course.ahead(most)


def replay(
    answered: Sequence[Answered], rule: Rule, floor: float | None
) -> tuple[Spent, list[float], float]:
    """Tokens, scores, and the share of claims whose support crosses the line otherwise."""
    spent, scores, crossed, claims = Spent(), [], 0, 0
    for response in answered:
        going = [
            Going(claim, Course.promising(claim.promise, claim.tokens, claim.places, rule), False)
            for claim in response.claims
        ]
        for item in going:
            while item.course.support <= LINE:
                wanted = item.ahead(None, floor, spent)
                if not wanted:
                    break
                item.judge(wanted, rule, spent)
        while True:
            item = min(going, key=lambda item: item.course.support)
            if not LINE < item.course.support < 1.0 - rule.epsilon:
                break
            wanted = item.ahead(rule.glances, floor, spent)
            if not wanted:
                break
            item.judge(wanted, rule, spent)
        scores.append(1.0 - min(item.course.support for item in going))
        claims += len(going)
        crossed += sum((i.course.support > LINE) != (max(i.claim.base) > LINE) for i in going)
    return spent, scores, crossed / max(1, claims)


class Comparison:
    def __init__(self, sets: dict[str, list[Answered]], small_cost: float) -> None:
        self.sets = sets
        self.cost = small_cost
        self.gold = {name: [row.hallucinated for row in rows] for name, rows in sets.items()}
        self.exact = {
            name: [1.0 - min(max(claim.base) for claim in row.claims) for row in rows]
            for name, rows in sets.items()
        }
        self.tokens = {
            name: sum(sum(claim.tokens) for row in rows for claim in row.claims)
            for name, rows in sets.items()
        }

    def of(self, name: str, setting: dict[str, float], cascade: bool) -> dict[str, float]:
        rule = Rule(
            lambda item: item.entailment,
            LINE,
            **{key: value for key, value in setting.items() if key != "floor"},  # type: ignore[arg-type]
        )
        floor = setting["floor"] if cascade else None
        spent, scores, crossed = replay(self.sets[name], rule, floor)
        exact = self.exact[name]
        changed = [(a >= 0.5) != (b >= 0.5) for a, b in zip(exact, scores, strict=True)]
        before, after = auroc(self.gold[name], exact), auroc(self.gold[name], scores)
        work = spent.base + self.cost * spent.small
        return {
            "responses": len(exact),
            "times_fewer_tokens": round(self.tokens[name] / work, 2),
            "base_tokens_percent": round(100 * spent.base / self.tokens[name], 2),
            "small_tokens_percent": round(100 * spent.small / self.tokens[name], 2),
            "verdicts_changed_percent": round(100 * sum(changed) / len(changed), 2),
            "auroc_change": round((after or 0.0) - (before or 0.0), 5),
            "states_crossed_percent": round(100 * crossed, 2),
        }

    def choose(self, cascade: bool, draws: int, seed: int = 0) -> dict[str, float] | None:
        """The cheapest setting within the bars on the held-out sets."""
        rng = np.random.default_rng(seed)
        best: tuple[float, dict[str, float]] | None = None
        names = [name for name in HELD_OUT if name in self.sets]
        for draw in range(draws):
            setting = {key: float(rng.choice(values)) for key, values in CHOICES.items()}
            setting["glances"] = int(setting["glances"])
            price = 0.0
            for name in names:
                found = self.of(name, setting, cascade)
                lost = -found["auroc_change"] if found["responses"] >= ENOUGH_ROWS else 0.0
                if found["verdicts_changed_percent"] > MOST_CHANGED or lost > MOST_LOST:
                    break
                price += 1.0 / found["times_fewer_tokens"]
                if best is not None and price >= best[0]:
                    break
            else:
                best = (price, setting)
                print(draw, round(price, 3), json.dumps(setting), flush=True)
        return None if best is None else best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("logits", type=Path)
    parser.add_argument("--small", type=Path)
    parser.add_argument("--small-cost", type=float, default=0.12)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--small-temperature", type=float, default=1.0)
    parser.add_argument("--draws", type=int, default=150)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    small = None if options.small is None else np.load(options.small)
    sets = lookup(options.work, np.load(options.logits), small, options)
    comparison = Comparison(sets, options.small_cost)
    result: dict[str, Any] = {
        "held_out": HELD_OUT,
        "bars": {"verdicts_changed_percent": MOST_CHANGED, "auroc_lost": MOST_LOST},
        "draws": dict.fromkeys(("lazy", "cascade"), options.draws),
        "small_cost": options.small_cost,
        "temperature": options.temperature,
        "small_temperature": options.small_temperature,
        "ways": {},
    }
    for way in ("lazy", "cascade") if small is not None else ("lazy",):
        chosen = comparison.choose(way == "cascade", options.draws)
        if chosen is None:
            print(f"{way}: nothing within the bars", flush=True)
            continue
        table = {name: comparison.of(name, chosen, way == "cascade") for name in sets}
        result["ways"][way] = {"setting": chosen, "datasets": table}
        print(way, json.dumps(chosen), flush=True)
        for name, row in table.items():
            print(f"  {name:14s} {json.dumps(row)}", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
