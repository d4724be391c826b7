"""Reports of our own texts on fake models, kept in tests/data/golden.

    python -m tests.support.golden

writes them again after an intended change; read the differences before the commit. `pairs.json`
holds the texts, every other file the reports of one configuration in short form.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from halldetect import Detector, Evidence, Pair, Report
from halldetect.inputs import split_documents
from tests.support.fakes import ListingExtractor, OverlapVerifier
from tests.support.paths import DATA

FOLDER = DATA / "golden"


@cache
def pairs() -> tuple[Pair, ...]:
    """Return the texts."""
    rows = json.loads((FOLDER / "pairs.json").read_text(encoding="utf-8"))
    return tuple(Pair(row["source"], row["response"], row.get("question")) for row in rows)


@cache
def long_pairs() -> tuple[Pair, ...]:
    """Return a source of some thousand words, made of all others, and two responses to it."""
    parts = ["\n".join(map(str, split_documents(pair.source)[0])) for pair in pairs()]
    source = "\n".join(f"Chapter {at}. {part}" for at in range(6) for part in parts)
    return tuple(Pair(source, pairs()[at].response) for at in (0, 15))


CONFIGURATIONS: dict[str, Callable[[], tuple[Detector, tuple[Pair, ...]]]] = {
    "default": lambda: (Detector(OverlapVerifier()), pairs()),
    "two-way": lambda: (Detector(OverlapVerifier(two_way=True), threshold=0.3), pairs()),
    "long": lambda: (Detector(OverlapVerifier(80)), long_pairs()),
    "paper": lambda: (Detector.paper(ListingExtractor(), OverlapVerifier(60)), pairs()),
}


def reports(name: str) -> list[Report]:
    """Return the reports of a configuration."""
    detector, given = CONFIGURATIONS[name]()
    return detector.check_many(given)


def short_form(report: Report) -> dict[str, Any]:
    """Return the contents of a report without the texts of its pair and without timings."""

    def passage(item: Evidence | None) -> list[Any] | None:
        if item is None:
            return None
        place: list[Any] = [f"{item.document}:{item.span.start}-{item.span.end}"]
        if (found := item.probabilities) is None:
            return place
        scales = ",".join(map(str, item.scales))
        return [*place, scales, found.entailment, found.neutral, found.contradiction]

    data = report.to_dict()
    del data["cost"]["seconds"]
    for claim, found in zip(data["claims"], report.claims, strict=True):
        for name in ("proof", "entailing", "contradicting"):
            if name in claim:
                claim[name] = passage(getattr(found, name))
    kept = ("verdict", "reason", "score", "fed_score", "claims", "citations", "cost")
    return {
        **{name: data[name] for name in kept if name in data},
        "models": [bool(report.provenance.extractor), bool(report.provenance.verifier)],
        "notes": data["provenance"]["notes"],
    }


def stored(name: str) -> Any:
    """Return the stored reports of a configuration."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def current(name: str) -> Any:
    """Return the same from the present code."""
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
    """Return JSON with every field of a report and every claim on its own line."""

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
    """Write all files."""
    for name in CONFIGURATIONS:
        (FOLDER / f"{name}.json").write_text(written(current(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
