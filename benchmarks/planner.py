"""What the lazy planner saves and what it changes, on every evaluation set.

    python -m benchmarks.planner WORK LOGITS
    python -m benchmarks.planner WORK LOGITS --try min_overlap=0.3 --try silent_below=0.03

WORK is the folder of `training.base.evaluate prepare`, LOGITS what its `run` wrote: the
verifier's logits for every claim and window. The pairs are looked up there instead of being judged
again; everything else is the package itself. Needs no GPU and no model.

With `--try` other settings of the rule, one at a time, are compared on the development sets with
the rule of the package. Nothing is written: what is chosen there is then measured on all sets.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from halldetect.claims import Claim
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.reading.document import Span
from halldetect.reading.sentences import read_document
from halldetect.report import ClaimReport, Probabilities, Status, decide
from halldetect.scoring import Calibration, score_claim, score_response, window_rule
from halldetect.verification.rounds import verify
from halldetect.verification.scales import Window
from halldetect.verification.schedule import StoppingRule
from halldetect.verification.tasks import Task
from halldetect_bench.stats.classification_metrics import auroc
from training.base.evaluate import load_rows
from training.large.evaluate import DEVELOPMENT

RESULTS = Path(__file__).parent / "results" / "planner.json"
NOTICEABLE = 0.05  # a change of score that a reader might care about


class Recorded:
    """A verifier that gives recorded answers; it reads windows of any length, because
    those of the evaluation have been divided to fit already."""

    max_tokens = 1_000_000
    description: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._count = cache(self._tokens)
        self.answers: dict[tuple[str, str], Probabilities] = {}
        self.rounds = 0

    def _tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text."""
        return [self._count(text) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Look up the recorded probabilities, and count the call."""
        self.rounds += 1
        return [self.answers[pair] for pair in pairs]


@dataclass
class Way:
    """What one way of judging cost and said, response by response; `changes` are to its rule."""

    changes: dict[str, Any] = field(default_factory=dict)
    pairs: int = 0
    tokens: int = 0
    calls: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    claims: list[ClaimReport] = field(default_factory=list)

    def check(
        self, task: Task, verifier: Recorded, calibration: Calibration, options: Configuration
    ) -> None:
        """Judge the claims of one row and record the outcome."""
        before = verifier.rounds
        detector = Detector(verifier=verifier, config=options, calibration=calibration)
        rule = window_rule(detector)
        if self.changes:
            assert isinstance(rule, StoppingRule)
            rule = replace(rule, **self.changes)
        (judged,) = verify(verifier, [task], rule=rule)
        self.calls.append(verifier.rounds - before)
        self.pairs += sum(len(item.windows) for item in judged)
        self.tokens += sum(item.tokens for item in judged)
        claims = tuple(score_claim(item, options.scoring, calibration) for item in judged)
        score = score_response(claims, calibration).calibrated
        assert score is not None
        self.scores.append(score)
        self.verdicts.append(decide(score, claims, detector.threshold))
        self.claims.extend(claims)


def probabilities(logits: np.ndarray, temperature: float) -> list[Probabilities]:
    """Probabilities of logits at a temperature."""
    values = logits.astype(np.float64) / temperature
    powers = np.exp(values - values.max(1, keepdims=True))
    shares = powers / powers.sum(1, keepdims=True)
    return [Probabilities(*map(float, row)) for row in shares]


def compare(gold: Sequence[bool], exact: Way, lazy: Way) -> dict[str, float | int | None]:
    """What the lazy schedule changes: verdicts, scores, states, AUROC."""
    moved = [abs(a - b) for a, b in zip(exact.scores, lazy.scores, strict=True)]
    changed = sum(a != b for a, b in zip(exact.verdicts, lazy.verdicts, strict=True))
    states = [(a.status, b.status) for a, b in zip(exact.claims, lazy.claims, strict=True)]
    before, after = auroc(gold, exact.scores), auroc(gold, lazy.scores)
    return {
        "responses": len(gold),
        "claims": len(states),
        "pairs": exact.pairs,
        "pairs_judged_percent": percent(lazy.pairs, exact.pairs),
        "tokens": exact.tokens,
        "tokens_judged_percent": percent(lazy.tokens, exact.tokens),
        "times_fewer_tokens": round(exact.tokens / lazy.tokens, 2),
        "calls_a_response": round(fmean(lazy.calls), 1),
        "verdicts_changed": changed,
        "verdicts_changed_percent": percent(changed, len(gold)),
        "auroc_exact": None if before is None else round(before, 4),
        "auroc_change": None if before is None or after is None else round(after - before, 5),
        "score_moved_over_0.05_percent": percent(sum(m > NOTICEABLE for m in moved), len(gold)),
        "largest_score_move": round(max(moved), 4),
        "states_changed_percent": percent(sum(a != b for a, b in states), len(states)),
        "states_no_longer_contradicted_percent": percent(
            sum(a == Status.CONTRADICTED != b for a, b in states), len(states)
        ),
    }


def percent(part: int, of: int) -> float:
    """A share in percent."""
    return round(100 * part / of, 2)


class Recordings:
    """The rows, windows and recorded answers of the evaluation sets."""

    def __init__(self, work: Path, logits: Path, tokenizer: Path | None, temperature: float):
        self.verifier = Recorded(tokenizer or work / "mpnet" / "tokenizer.json")
        self._rows, self._texts, self._windows = load_rows(work)
        self._stored = np.load(logits)
        self._temperature = temperature
        self._read = cache(read_document)
        self._found = cache(self._document_windows)

    @property
    def sets(self) -> list[str]:
        """The names of the sets."""
        names = self._stored.files
        return [name.removeprefix("set_") for name in names if name.startswith("set_")]

    def _document_windows(self, document: int) -> tuple[Window, ...]:
        text = self._texts[document]
        return tuple(
            Window(text[start:end], 0, Span(start, end), tuple(scales))
            for start, end, *scales in self._windows[document]
        )

    def judge(
        self, name: str, calibration: Calibration, ways: Sequence[tuple[Way, Configuration]]
    ) -> list[bool]:
        """Judge the rows of a set in several ways; returns which are hallucinated."""
        answers = iter(probabilities(self._stored[f"set_{name}"], self._temperature))
        gold = []
        for row in (row for row in self._rows if row["dataset"] == name):
            found = self._found(row["document"])
            self.verifier.answers = {
                (window.text, claim): next(answers) for claim in row["claims"] for window in found
            }
            if not self.verifier.answers:
                continue
            claims = tuple(Claim(text, None, "recorded") for text in row["claims"])
            task = Task(claims, found, (self._read(self._texts[row["document"]]),))
            for way, options in ways:
                way.check(task, self.verifier, calibration, options)
            gold.append(bool(row["hallucinated"]))
        assert next(answers, None) is None, f"{name}: the logits belong to other rows"
        return gold


TRIED = (
    "times_fewer_tokens",
    "verdicts_changed_percent",
    "auroc_change",
    "states_changed_percent",
)


def _setting(text: str) -> dict[str, Any]:
    """A number of the rule, of NAME=VALUE."""
    name, _, value = text.partition("=")
    (default,) = (item.default for item in fields(StoppingRule) if item.name == name)
    return {name: int(value) if isinstance(default, int) else float(value)}


def compare_rules(
    recordings: Recordings, calibration: Calibration, sets: Sequence[str], tried: Sequence[str]
) -> None:
    """Print what other settings of the rule save and change, set by set, and their means."""
    changes: list[dict[str, Any]] = [{}, *map(_setting, tried)]
    found: dict[str, list[dict[str, Any]]] = {}
    for name in sets:
        exact, ways = Way(), [Way(change) for change in changes]
        lazy = [(way, Configuration()) for way in ways]
        gold = recordings.judge(name, calibration, [(exact, Configuration(exact=True)), *lazy])
        for way in ways:
            table = compare(gold, exact, way)
            row = {key: table[key] for key in TRIED}
            label = ", ".join(f"{key}={value}" for key, value in way.changes.items()) or "as it is"
            found.setdefault(label, []).append(row)
            print(name, label, json.dumps(row), flush=True)
    for label, rows in found.items():
        means = {key: round(fmean(row[key] or 0.0 for row in rows), 4) for key in TRIED}
        worst = min(row["auroc_change"] or 0.0 for row in rows)
        print("mean", label, json.dumps(means), "least auroc_change", worst, flush=True)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("logits", type=Path)
    parser.add_argument("--tokenizer", type=Path, help="default: WORK/mpnet/tokenizer.json")
    parser.add_argument("--calibration", type=json.loads, default={}, help="JSON object")
    parser.add_argument("--temperature", type=float, default=1.0, help="as folded in on export")
    parser.add_argument("--sets", help="default: all in LOGITS, with --try the development sets")
    parser.add_argument("--try", dest="tried", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    calibration = Calibration.from_mapping(options.calibration)
    recordings = Recordings(options.work, options.logits, options.tokenizer, options.temperature)
    sets = options.sets.split(",") if options.sets else recordings.sets
    if options.tried:
        chosen = sets if options.sets else [name for name in sets if name in DEVELOPMENT]
        compare_rules(recordings, calibration, chosen, options.tried)
        return
    table: dict[str, Any] = {}
    for name in sets:
        exact, lazy = Way(), Way()
        ways = [(exact, Configuration(exact=True)), (lazy, Configuration())]
        table[name] = compare(recordings.judge(name, calibration, ways), exact, lazy)
        print(name, json.dumps(table[name]), flush=True)
    rule = window_rule(Detector(verifier=recordings.verifier, calibration=calibration))
    assert rule is not None
    result = {
        "logits": options.logits.name,
        "temperature": options.temperature,
        "calibration": options.calibration,
        "rule": rule.to_dict(),
        "tokens_judged_percent": percent(
            sum(
                round(row["tokens"] * row["tokens_judged_percent"] / 100) for row in table.values()
            ),
            sum(row["tokens"] for row in table.values()),
        ),
        "datasets": table,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
