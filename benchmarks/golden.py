"""Compare the reports of 1,000 mixed responses with those of the last commit, byte for byte.

    python -m benchmarks.golden            # which reports changed, by set
    python -m benchmarks.golden --write    # store the new ones, after an intended change
    python -m benchmarks.golden --confirm  # no report changed: stored figures still hold

The texts are the project's own suites and, with ../shared beside the checkout, rows of public
sets. The answers of `base` are kept in a file, so a round takes seconds unless a change asks about
other windows; those are judged anew. The file of reports holds digests only, no text.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks import code_state
from benchmarks.store import RESULTS, base_weights, command, entries, store, stored
from benchmarks.suites import FILES, suite_rows
from halldetect.detector import Detector
from halldetect.inputs import Pair
from halldetect.models.verifiers import load_verifier
from halldetect.protocols import Verifier
from halldetect.report import Probabilities, Report
from halldetect_bench.registry import load_dataset

REPORTS = RESULTS / "golden_reports.json"
ANSWERS = RESULTS / "golden_answers.npz"
SHARED = Path(__file__).parents[2] / "shared" / "datasets"
PUBLIC = """qags-cnndm summeval xsumfaith summedits faithbench defacto-test storysumm dialsummeval
    wice pubmedqa bump ragtruth-selection-qa ragtruth-selection-summary
    ragtruth-selection-data2txt""".split()
OWN_ROWS, PUBLIC_ROWS = 46, 28  # at most, of a suite and of a public set
# The groups of code that a report goes through.
SHOWN = ("reading", "verification", "faults")
BLOCK = 64  # responses a call; the answers are kept after each
SCALE = 1_000_000  # the probabilities of a report have six decimals
FIELDS = ("entailment", "neutral", "contradiction")


HOSTILE = "hostile_answers"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Entry:
    """A response to check, with a name that stays."""

    group: str
    name: str
    pair: Pair


def sample(seed: str, items: Sequence[Item], most: int) -> list[Item]:
    """Return some items, the same ones every time."""
    return random.Random(seed).sample(items, k=min(most, len(items)))


def own_entries() -> list[Entry]:
    """Return rows of the project's suites."""
    drawn = [
        Entry(HOSTILE, f"{HOSTILE}/{entry['id']}", Pair(entry["source"], entry["response"]))
        for entry in entries(HOSTILE)[:OWN_ROWS]
    ]
    for suite in FILES:
        rows = sample(suite, suite_rows(suite), OWN_ROWS)
        for row in rows:
            pair = Pair(row.source, row.claim, row.question)
            drawn.append(Entry(suite, f"{suite}/{row.id}", pair))
    return drawn


def public_entries() -> Iterator[Entry]:
    """Yield rows of public sets, if they lie beside the checkout."""
    for name in PUBLIC if SHARED.is_dir() else ():
        rows = [row for row in load_dataset(name, SHARED).rows if len(row.source) < 20_000]
        for row in sample(name, rows, PUBLIC_ROWS):
            yield Entry(name, f"{name}/{row.id}", Pair(row.source, row.response, row.question))


class RememberingVerifier:
    """A verifier that judges each pair once and keeps the answer in a file."""

    def __init__(self, inner: Verifier, path: Path) -> None:
        self.inner, self.path, self.asked = inner, path, 0
        self.answers: dict[int, tuple[int, ...]] = {}
        if path.exists():
            kept = np.load(path)
            rows = map(tuple, kept["answers"].tolist())
            self.answers = dict(zip(kept["keys"].tolist(), rows, strict=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def description(self) -> dict[str, Any]:
        return self.inner.description

    @property
    def max_tokens(self) -> int:
        return self.inner.max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.inner.count_tokens(texts)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the kept answers, and ask the verifier for the others."""
        keys = [pair_key(pair) for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self.answers}
        if new:
            self.asked += len(new)
            for key, answer in zip(new, self.inner.judge([*new.values()]), strict=True):
                self.answers[key] = tuple(round(getattr(answer, field) * SCALE) for field in FIELDS)
        return [Probabilities(*(part / SCALE for part in self.answers[key])) for key in keys]

    def save(self) -> None:
        """Write the answers in the order of their keys."""
        keys = sorted(self.answers)
        answers = [self.answers[key] for key in keys]
        np.savez_compressed(
            self.path, keys=np.array(keys, np.uint64), answers=np.array(answers, np.uint32)
        )


def pair_key(pair: tuple[str, str]) -> int:
    """Return a number that stands for a premise and a hypothesis."""
    text = "\0".join(pair).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def report_digest(report: Report) -> str:
    """Return a digest of everything a report says, but for times and versions."""
    data = report.to_dict()
    data["cost"].pop("seconds", None)
    data["provenance"] = {"notes": data["provenance"].get("notes")}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Golden:
    """The digests of all reports, by the name of their response."""

    reports: Mapping[str, str]
    asked: int  # pairs that no kept answer covers

    @cached_property
    def total(self) -> str:
        """Return one digest for all of them."""
        text = json.dumps(self.reports, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def measure(drawn: Sequence[Entry], answers: Path = ANSWERS, save: bool = False) -> Golden:
    """Check all responses with kept answers."""
    verifier = RememberingVerifier(load_verifier("base"), answers)
    detector = Detector(verifier)
    digests: dict[str, str] = {}
    for start in range(0, len(drawn), BLOCK):
        block = drawn[start : start + BLOCK]
        asked = verifier.asked
        reports = detector.check_many([entry.pair for entry in block])
        for entry, report in zip(block, reports, strict=True):
            digests[entry.name] = report_digest(report)
        if save and verifier.asked > asked:
            verifier.save()
            print(f"{len(digests)} of {len(drawn)}", flush=True)
    return Golden(digests, verifier.asked)


def changed(now: Golden, before: Mapping[str, str]) -> list[str]:
    """Return the names of the responses whose report is another, or new."""
    return [name for name, digest in now.reports.items() if before.get(name) != digest]


def main() -> None:
    """Compare, and store with --write."""
    parser = command(__doc__)
    parser.add_argument("--write", action="store_true", help="store the new reports")
    parser.add_argument("--confirm", action="store_true", help="note that no report changed")
    parser.add_argument("--answers", type=Path, default=ANSWERS, help="the kept answers")
    options = parser.parse_args()
    now = measure([*own_entries(), *public_entries()], options.answers, save=True)
    before = stored(REPORTS).get("reports", {})
    names = changed(now, before)
    print(f"{len(now.reports)} reports, {len(names)} changed, {now.asked} pairs judged anew")
    for group, count in Counter(name.partition("/")[0] for name in names).most_common():
        print(f"  {group}: {count}", *[name for name in names if name.startswith(f"{group}/")][:3])
    if options.confirm and (names or not SHARED.is_dir()):
        raise SystemExit("nothing is confirmed: a report changed, or rows are missing")
    for group, old, new in code_state.pending() if options.confirm else ():
        if group in SHOWN:
            code_state.add_entry(group, old, new, shown=f"{len(now.reports)} reports the same")
    if options.write:
        kept = {**before, **now.reports} if not SHARED.is_dir() else now.reports
        store(REPORTS, {"weights": base_weights(), "reports": kept})


if __name__ == "__main__":
    main()
