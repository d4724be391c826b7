"""What the lazy planner saves and what it changes, on every evaluation set.

    python -m benchmarks.planner WORK LOGITS

WORK is the folder of `training.base.evaluate prepare`, LOGITS what its `run` wrote: the
verifier's logits for every claim and window. The pairs are looked up there instead of being judged
again; everything else is the package itself. Needs no GPU and no model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from halldetect.claims import Claim
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.report import ClaimReport, Probabilities, Status, decide
from halldetect.scoring import Calibration, score_claim, score_response, window_rule
from halldetect.text.document import Span
from halldetect.text.sentences import read_document
from halldetect.verification.rounds import Task, verify
from halldetect.windows.scales import Window
from halldetect_bench.stats.classification_metrics import auroc
from training.base.evaluate import load_rows

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
    """What one way of judging cost and said, response by response."""

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
        (judged,) = verify(verifier, [task], rule=window_rule(detector))
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


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("logits", type=Path)
    parser.add_argument("--tokenizer", type=Path, help="default: WORK/mpnet/tokenizer.json")
    parser.add_argument("--calibration", type=json.loads, default={}, help="JSON object")
    parser.add_argument("--temperature", type=float, default=1.0, help="as folded in on export")
    parser.add_argument("--sets", help="default: all in LOGITS")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    calibration = Calibration.from_mapping(options.calibration)
    verifier = Recorded(options.tokenizer or options.work / "mpnet" / "tokenizer.json")
    rows, texts, windows = load_rows(options.work)
    stored = np.load(options.logits)

    @cache
    def document_windows(document: int) -> tuple[Window, ...]:
        return tuple(
            Window(texts[document][start:end], 0, Span(start, end), tuple(scales))
            for start, end, *scales in windows[document]
        )

    read = cache(read_document)
    names = [name.removeprefix("set_") for name in stored.files if name.startswith("set_")]
    table: dict[str, Any] = {}
    for name in options.sets.split(",") if options.sets else names:
        answers = iter(probabilities(stored[f"set_{name}"], options.temperature))
        exact, lazy, gold = Way(), Way(), []
        for row in (row for row in rows if row["dataset"] == name):
            found = document_windows(row["document"])
            verifier.answers = {
                (window.text, claim): next(answers) for claim in row["claims"] for window in found
            }
            if not verifier.answers:
                continue
            claims = tuple(Claim(text, None, "recorded") for text in row["claims"])
            task = Task(claims, found, (read(texts[row["document"]]),))
            exact.check(task, verifier, calibration, Configuration(exact=True))
            lazy.check(task, verifier, calibration, Configuration())
            gold.append(bool(row["hallucinated"]))
        assert next(answers, None) is None, f"{name}: the logits belong to other rows"
        table[name] = compare(gold, exact, lazy)
        print(name, json.dumps(table[name]), flush=True)
    rule = window_rule(Detector(verifier=verifier, calibration=calibration))
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
