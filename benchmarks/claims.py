"""Claims in context and in parts: suites of our own.

    python -m benchmarks.claims                         with the embedded verifier
    python -m benchmarks.claims --verifier large --device cuda

The suites are in tests/data. `contexts.jsonl`: a sentence that leans on the one before, once true
and once false; the false one is mostly true of something else. It is judged as the detector does,
alone, and after the sentence before. `recombined.jsonl`: a sentence whose parts are each true of
something in the source, but not together. A case is right if a true sentence is supported and a
false one is not.

The results go to benchmarks/results/claims.json, a section for each verifier, with the digests of
the data and of the verifier.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.machine import processor
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import Detector, Draft, Pair, Report
from halldetect.claims import extraction
from halldetect.models.integrity import digest_of
from halldetect.protocols import Verifier
from halldetect.report import ClaimReport, Status

DATA = Path(__file__).parent.parent / "tests" / "data"
RESULTS = Path(__file__).parent / "results" / "claims.json"


class WholeText:
    """An extractor for which the whole response is one claim."""

    description = {"name": "whole text"}  # noqa: RUF012

    def draft(self, block: str, limit: int) -> Draft:
        """The block as it is."""
        return Draft((" ".join(block.split()),))


def rows(name: str) -> list[dict[str, str]]:
    """The cases of a suite."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def supported(report: Report) -> bool:
    """Whether the last claim, the sentence that a case is about, is supported."""
    return bool(report.claims) and report.claims[-1].status is Status.SUPPORTED


def judge_cases(
    detector: Detector, cases: Sequence[dict[str, str]], before: str | None
) -> list[tuple[Report, Report]]:
    """The reports of the true and the false sentence of each case, all judged together.

    detector  checks
    cases     of a suite
    before    the field of the case with the sentence before; None: there is none
    """
    pairs = [
        Pair(case["source"], f"{case[before]} {case[which]}" if before else case[which])
        for case in cases
        for which in ("true", "false")
    ]
    reports = detector.check_many(pairs)
    return list(zip(reports[::2], reports[1::2], strict=True))


def counts(
    cases: Sequence[dict[str, str]], judged: Sequence[tuple[Report, Report]]
) -> dict[str, Any]:
    """How many true sentences are supported and how many false ones are not, by kind."""
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    for case, (true, false) in zip(cases, judged, strict=True):
        for kind in ("all", case.get("kind", "all")) if "kind" in case else ("all",):
            by_kind[kind]["pairs"] += 1
            by_kind[kind]["true_supported"] += supported(true)
            by_kind[kind]["false_flagged"] += not supported(false)
    return {
        kind: {
            **found,
            "accuracy": round(
                (found["true_supported"] + found["false_flagged"]) / (2 * found["pairs"]), 4
            ),
        }
        for kind, found in by_kind.items()
    }


def contexts(make: Any) -> dict[str, Any]:
    """The suite of sentences that lean on others, in three ways of reading them."""
    cases = rows("contexts.jsonl")
    ways: dict[str, tuple[Detector, str, AbstractContextManager[Any]]] = {
        "as the detector reads it": (make(), "lead", nullcontext()),
        "alone": (make(), "lead", patch.object(extraction, "in_context", list)),
        "after the sentence before": (make(WholeText(), guard=False), "lead", nullcontext()),
    }
    found = {}
    for name, (detector, before, setting) in ways.items():
        with setting:
            judged = judge_cases(detector, cases, before)
        found[name] = counts(cases, judged)
        found[name]["wrong"] = list(_wrong(cases, judged))
    return found


def recombined(make: Any) -> dict[str, Any]:
    """The suite of sentences that connect what the source does not."""
    cases = rows("recombined.jsonl")
    judged = judge_cases(make(), cases, None)
    flagged = [report.claims[-1] for _, report in judged if not supported(report)]
    return {
        **counts(cases, judged)["all"],
        "flagged_with_parts": sum(bool(claim.parts) for claim in flagged),
        "parts_all_supported": sum(map(_connected, flagged)),
        "wrong": list(_wrong(cases, judged)),
    }


def _connected(claim: ClaimReport) -> bool:
    return bool(claim.parts) and all(part.status is Status.SUPPORTED for part in claim.parts)


def _wrong(
    cases: Sequence[dict[str, str]], judged: Sequence[tuple[Report, Report]]
) -> Iterator[str]:
    for case, (true, false) in zip(cases, judged, strict=True):
        if not supported(true):
            yield f"{case['id']}: true sentence flagged"
        if supported(false):
            yield f"{case['id']}: false sentence supported"


def write_section(path: Path, name: str, found: dict[str, Any], verifier: Verifier | None) -> None:
    """Put results into a section of the results file, with digests.

    path      the file
    name      of the section
    found     the results
    verifier  that was used, if one was
    """
    results = json.loads(path.read_text("utf-8")) if path.exists() else {}
    section = results.setdefault(name, {})
    section.update(found)
    section["processor"] = processor()
    if verifier is not None:
        section["verifier"] = {
            key: value
            for key, value in verifier.description.items()
            if "digest" in key or key == "name"
        }
    section["data"] = {
        file: digest_of(DATA / file)
        for file in ("contexts.jsonl", "recombined.jsonl", "checks.jsonl")
    }
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the suites and write what they give."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="the results file")
    add_verifier_options(parser)
    given = parser.parse_args(arguments)
    verifier = verifier_of(given)

    def make(extractor: Any = None, **options: Any) -> Detector:
        return Detector(extractor, verifier, **options)

    started = time.perf_counter()
    found: dict[str, Any] = {"contexts": contexts(make), "recombined": recombined(make)}
    found["seconds"] = round(time.perf_counter() - started, 1)
    write_section(given.out, given.verifier, found, verifier)
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
