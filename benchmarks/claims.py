"""Claims in context and in parts: suites of our own, and splits of sentences from the datasets.

    python -m benchmarks.claims                         the suites, with the embedded verifier
    python -m benchmarks.claims --verifier large --device cuda
    python -m benchmarks.claims --draw --data DIR       draw 300 split sentences, keep their ids
    python -m benchmarks.claims --splits --data DIR     judge the splits that were drawn

Two suites are in tests/data. `contexts.jsonl`: a sentence that leans on the one before, once true
and once false; the false one is mostly true of something else. It is judged as the detector does,
alone, and after the sentence before. `recombined.jsonl`: a sentence whose parts are each true of
something in the source, but not together. A case is right if a true sentence is supported and a
false one is not.

A split is faithful if the verifier says that the sentence entails each part and that the parts
together entail the sentence, where they cover it.

The results go to benchmarks/results/claims.json, a section for each verifier, with the digests of
the data and of the verifier.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.machine import processor
from halldetect import Detector, Draft, Pair, Report
from halldetect.claims import extraction
from halldetect.claims.guard.sentence_parts import sentence_parts
from halldetect.report import ClaimReport, Status
from halldetect.text.sentences import sentences

DATA = Path(__file__).parent.parent / "tests" / "data"
RESULTS = Path(__file__).parent / "results" / "claims.json"
SPLITS = Path(__file__).parent / "results" / "claims_splits.json"
DATASETS = (
    "qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto", "storysumm",
    "dialsummeval", "wice", "pubmedqa", "bump",
)  # fmt: skip
SPLIT_COUNT = 300
_ENTAILED = 0.5


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


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


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


def draw_splits(data: Path, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Split sentences of the datasets' responses, drawn at random: dataset, row, sentence.

    data   the folder of the datasets
    count  how many
    seed   of the draw
    """
    from halldetect_bench.registry import load_dataset

    places = []
    for name in DATASETS:
        seen: set[str] = set()
        for row in load_dataset(name, data).rows:
            for number, span in enumerate(sentences(row.response)):
                text = span.cut(row.response)
                if text not in seen and sentence_parts(text):
                    seen.add(text)
                    places.append({"dataset": name, "row": row.id, "sentence": number})
    random.Random(seed).shuffle(places)
    return sorted(places[:count], key=lambda item: (item["dataset"], str(item["row"])))


def judge_splits(detector: Detector, data: Path) -> dict[str, Any]:
    """Whether the sentences that were drawn entail their parts, and the parts the sentences."""
    from halldetect_bench.registry import load_dataset

    places = json.loads(SPLITS.read_text(encoding="utf-8"))["splits"]
    texts: dict[tuple[str, str], str] = {}
    for name in {item["dataset"] for item in places}:
        for row in load_dataset(name, data).rows:
            texts[name, row.id] = row.response
    pairs: list[tuple[str, str]] = []
    owners: list[int] = []
    for number, item in enumerate(places):
        response = texts[item["dataset"], item["row"]]
        sentence = sentences(response)[item["sentence"]].cut(response)
        parts = [text for text, _ in sentence_parts(sentence)]
        new = [(sentence, part) for part in parts]
        if len(parts) > 1:
            new.append((". ".join(parts) + ".", sentence))
        pairs += new
        owners += [number] * len(new)
    step = 256
    entailed = [
        answer.entailment > _ENTAILED
        for start in range(0, len(pairs), step)
        for answer in detector.verifier.judge(pairs[start : start + step])
    ]
    forward: set[int] = set()
    back: set[int] = set()
    for (premise, _), owner, good in zip(pairs, owners, entailed, strict=True):
        response = texts[places[owner]["dataset"], places[owner]["row"]]
        if not good:
            (forward if premise in response else back).add(owner)
    return {
        "splits": len(places),
        "a_part_not_entailed": len(forward),
        "sentence_not_entailed_by_parts": len(back),
        "either": len(forward | back),
        "list": [places[at] for at in sorted(forward | back)],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verifier", default="base", help="as for `halldetect check`")
    parser.add_argument("--device", default=None, help="as for `halldetect check`")
    parser.add_argument("--data", type=Path, help="the folder of the datasets")
    parser.add_argument("--draw", action="store_true", help="draw split sentences")
    parser.add_argument("--splits", action="store_true", help="judge the splits that were drawn")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the results file")
    given = parser.parse_args(arguments)
    if given.draw:
        drawn = draw_splits(given.data, SPLIT_COUNT)
        SPLITS.write_text(json.dumps({"seed": 0, "splits": drawn}, indent=1) + "\n", "utf-8")
        print(f"{len(drawn)} splits drawn")
        return

    def make(extractor: Any = None, **options: Any) -> Detector:
        if given.device is not None:
            options["device"] = given.device
        return Detector(extractor, shared, **options)

    verifier = None if given.verifier == "base" else given.verifier
    options = {} if given.device is None else {"device": given.device}
    shared: Any = Detector(verifier=verifier, **options).verifier
    started = time.perf_counter()
    if given.splits:
        found: dict[str, Any] = {"splits": judge_splits(make(), given.data)}
    else:
        found = {"contexts": contexts(make), "recombined": recombined(make)}
    results = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
    section = results.setdefault(given.verifier, {})
    section.update(found)
    section["seconds"] = round(time.perf_counter() - started, 1)
    section["processor"] = processor()
    section["verifier"] = {
        key: value for key, value in shared.description.items() if "digest" in key or key == "name"
    }
    section["data"] = {name: digest(DATA / name) for name in ("contexts.jsonl", "recombined.jsonl")}
    given.out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for suite, figures in found.items():
        print(suite, json.dumps(figures, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
