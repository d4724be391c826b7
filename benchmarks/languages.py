"""Measure a verifier language by language.

    python -m benchmarks.languages --verifier large [--device cuda] [--base BASE.gguf]
    python -m benchmarks.languages --verifier large --data DIR

Every claim of tests/data/languages.jsonl is judged about its source. With `--data`, the labelled
sentences of MEMERAG in that folder follow. A group is a language ("de"), a pair of them if the
source has another one ("en-de"), or a part of MEMERAG ("memerag-de"). Reported for each group:
rows, those that were not judged, the share of right answers, balanced accuracy and AUROC with 95 %
intervals over sources. A claim is wrong if the source does not support it. `--verifier auto` is
the detector's own choice by language. Writes benchmarks/results/languages.json; no text.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.store import DATA, command, entries, store
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect.detector import Detector
from halldetect.inputs import Source
from halldetect.machine.integrity import digest_of
from halldetect.verification.presets import CASCADE
from halldetect_bench.registry import load_dataset
from halldetect_bench.stats.resampling import COMPARED, Rows, draw_documents, figure, figures

SUITE = "languages"
MEMERAG = ("en", "de", "es", "fr", "hi")
THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Claim:
    """A labelled claim about a source."""

    group: str
    source: Source
    text: str
    wrong: bool


def suite() -> Iterator[Claim]:
    """Yield the claims of the project's own suite."""
    for row in entries(SUITE):
        languages = dict.fromkeys((row["language"], row["claim_language"]))
        yield Claim("-".join(languages), row["source"], row["claim"], row["label"] != "E")


def memerag(data: str) -> Iterator[Claim]:
    """Yield the labelled sentences of MEMERAG."""
    for language in MEMERAG:
        name = f"memerag-{language}"
        for row in load_dataset(name, root=data).rows:
            yield from (Claim(name, row.source, text, wrong) for text, wrong in row.sentences)


def measure(detector: Detector, claims: list[Claim]) -> dict[str, Any]:
    """Return the figures of each group; a claim that was not judged has the score 0.5."""
    sources: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        sources[json.dumps([claim.group, claim.source])].append(claim)
    judged = detector.judge([(of[0].source, [one.text for one in of]) for of in sources.values()])
    rows: dict[str, list[tuple[str, bool, float | None]]] = defaultdict(list)
    for (source, of), reports in zip(sources.items(), judged, strict=True):
        for claim, report in zip(of, reports, strict=True):
            score = None if report.support is None else 1.0 - report.support
            rows[claim.group].append((source, claim.wrong, score))
    return {group: _figures(group, found) for group, found in sorted(rows.items())}


def _figures(group: str, found: list[tuple[str, bool, float | None]]) -> dict[str, Any]:
    names = tuple(str(at) for at in range(len(found)))
    scores = {
        name: THRESHOLD if score is None else score
        for name, (*_, score) in zip(names, found, strict=True)
    }
    wrong = np.array([label for _, label, _ in found])
    values = figures(Rows(names, wrong, draw_documents(group, [row[0] for row in found])), scores)
    right = [(scores[name] >= THRESHOLD) == label for name, label in zip(names, wrong, strict=True)]
    return {
        "rows": len(found),
        "not judged": sum(score is None for *_, score in found),
        "right": round(float(np.mean(right)), 4),
        **{name: {at: value if value is None else round(value, 4)
                  for at, value in asdict(figure(values[name])).items()} for name in COMPARED},
    }  # fmt: skip


def main() -> None:
    """Measure, print and write the figures."""
    parser = command(__doc__, "languages.json")
    add_verifier_options(parser)
    parser.add_argument("--data", help="the folder with the datasets; measures MEMERAG too")
    options = parser.parse_args()
    cascade = options.verifier == CASCADE and options.base is None
    detector = Detector(CASCADE if cascade else verifier_of(options), device=options.device)
    claims = [*suite(), *(memerag(options.data) if options.data else ())]
    found: dict[str, Any] = {
        "verifier": detector.verifier.description,
        "suite": digest_of(DATA / f"{SUITE}.jsonl"),
        "groups": measure(detector, claims),
    }
    store(options.out, found)
    for group, shown in found["groups"].items():
        print(group, json.dumps(shown))


if __name__ == "__main__":
    main()
