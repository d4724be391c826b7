"""Reports of our own texts on fake models, kept in tests/data/golden.

    python -m tests.support.golden

writes them again, after a change that is meant; look through the differences before committing.
`pairs.json` holds the texts, every other file the reports of one configuration in short form.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from halldetect import Detector, Evidence, Pair, Report
from halldetect.inputs import split_names
from tests.support.fakes import ListingExtractor, OverlapVerifier
from tests.support.paths import DATA

FOLDER = DATA / "golden"


@cache
def pairs() -> tuple[Pair, ...]:
    """The texts."""
    rows = json.loads((FOLDER / "pairs.json").read_text(encoding="utf-8"))
    return tuple(Pair(row["source"], row["response"], row.get("question")) for row in rows)


@cache
def long_pairs() -> tuple[Pair, ...]:
    """A source of some thousand words, made of all the others, and two responses to it."""
    parts = ["\n".join(map(str, split_names(pair.source)[0])) for pair in pairs()]
    source = "\n".join(f"Chapter {at}. {part}" for at in range(6) for part in parts)
    return tuple(Pair(source, pairs()[at].response) for at in (0, 15))


CONFIGURATIONS: dict[str, Callable[[], tuple[Detector, tuple[Pair, ...]]]] = {
    "default": lambda: (Detector(verifier=OverlapVerifier()), pairs()),
    "exact": lambda: (Detector(verifier=OverlapVerifier(), exact=True), pairs()),
    "fed": lambda: (Detector(verifier=OverlapVerifier(), scoring="fed"), pairs()),
    "paper": lambda: (Detector.paper(ListingExtractor(), OverlapVerifier(60)), pairs()),
    "guarded": lambda: (Detector(ListingExtractor(), OverlapVerifier(), seed=3), pairs()),
    "narrow": lambda: (Detector("sentences", OverlapVerifier(36), exact=True), pairs()),
    "two-way": lambda: (Detector(verifier=OverlapVerifier(two_way=True), threshold=0.3), pairs()),
    "scales": lambda: (Detector(verifier=OverlapVerifier(), granularities=(1, 3)), pairs()[:6]),
    "long": lambda: (Detector(verifier=OverlapVerifier(80)), long_pairs()),
}


def reports(name: str) -> list[Report]:
    """The reports of a configuration."""
    detector, given = CONFIGURATIONS[name]()
    return detector.check_many(given)


def short_form(report: Report) -> dict[str, Any]:
    """What a report says, without texts that stand in the pairs and without timings."""

    def evidence(item: Evidence | None) -> list[Any] | None:
        if item is None:
            return None
        found = item.probabilities
        scales = ",".join(map(str, item.scales))
        place = f"{item.document}:{item.span.start}-{item.span.end} at {scales}"
        return [place, found.entailment, found.neutral, found.contradiction]

    cost = report.to_dict()["cost"]
    del cost["seconds"]
    return {
        "verdict": report.verdict,
        "reason": report.reason,
        "scores": [report.score, report.calibrated_score, report.fed_score],
        "claims": [
            {
                "text": claim.text,
                "span": None if claim.span is None else [claim.span.start, claim.span.end],
                "span_reason": claim.span_reason,
                "origin": claim.origin,
                "status": claim.status,
                "reason": claim.reason,
                "scores": [claim.support, claim.fed_score, claim.contradiction],
                "entailing": evidence(claim.entailing),
                "contradicting": evidence(claim.contradicting),
                "by_scale": [evidence(item) for item in claim.by_scale],
                "read_as": claim.read_as,
                "parts": [[part.text, part.status, part.support] for part in claim.parts],
                "error": None
                if claim.error is None
                else [claim.error.kind, claim.error.claim_words, claim.error.source_words],
                "citations": [[item.label, item.document, item.status] for item in claim.citations],
            }
            for claim in report.claims
        ],
        "question": report.question,
        "cost": cost,
        "models": [bool(report.provenance.extractor), bool(report.provenance.verifier)],
        "notes": list(report.provenance.notes),
    }


def stored(name: str) -> Any:
    """What is kept of a configuration."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def current(name: str) -> Any:
    """The same, of the code as it is now."""
    found = reports(name)
    made = found[0].provenance
    for report in found:
        used = report.provenance
        assert used.configuration == made.configuration
        assert used.extractor in ({}, made.extractor)
        assert used.verifier in ({}, made.verifier)
    result = {
        "configuration": made.configuration,
        "extractor": made.extractor,
        "verifier": made.verifier,
        "reports": [short_form(report) for report in found],
    }
    return json.loads(json.dumps(result))


def written(value: dict[str, Any]) -> str:
    """As JSON with every field of a report and every claim on a line of its own."""

    def fields(item: dict[str, Any], lists: dict[str, str], indent: str) -> str:
        lines = [
            f"{json.dumps(key)}: {lists.get(key) or json.dumps(field, ensure_ascii=False)}"
            for key, field in item.items()
        ]
        return f"{{{f',{indent}'.join(lines)}}}"

    rows = []
    for report in value["reports"]:
        claims = ",\n   ".join(json.dumps(item, ensure_ascii=False) for item in report["claims"])
        rows.append(fields(report, {"claims": f"[\n   {claims}]"} if claims else {}, "\n  "))
    return fields(value, {"reports": "[\n " + ",\n ".join(rows) + "\n]"}, "\n") + "\n"


def main() -> None:
    """Write all files again."""
    for name in CONFIGURATIONS:
        (FOLDER / f"{name}.json").write_text(written(current(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
