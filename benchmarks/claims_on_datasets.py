"""Claims on the datasets: faithful splits, detection with and without context, kinds of error.

    python -m benchmarks.claims_on_datasets draw --data DIR        draw 300 split sentences
    python -m benchmarks.claims_on_datasets splits --data DIR      judge those that were drawn
    python -m benchmarks.claims_on_datasets detection --data DIR --limit 40
    python -m benchmarks.claims_on_datasets kinds --data DIR       needs no verifier
    ... --verifier large --device cuda

`splits`: a split changes the meaning if the verifier does not say that the sentence entails each
part, or that the parts together entail the sentence (where there are several).

`detection`: AUROC and balanced accuracy of the detector, and of the same detector that reads every
sentence as it stands and begins windows where they are cut; the verifier answers each pair once.

`kinds`: the kind that the rules give a sentence that was edited by people or models, beside the
type of the edit; SummEdits (rows with one type of edit) and BUMP.

The results go to benchmarks/results/claims.json. The list of splits is in claims_splits.json, as
dataset, row and sentence: no text of a dataset is kept.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.claims import RESULTS, verifier_of, write_section
from halldetect import Detector, Pair
from halldetect.claims import extraction
from halldetect.claims.guard.sentence_parts import sentence_parts
from halldetect.explanation.error_kinds import error_kind
from halldetect.protocols import Verifier
from halldetect.report import Probabilities, Report, Status
from halldetect.text.sentences import sentences
from halldetect.windows import scales
from halldetect_bench.registry import load_dataset
from halldetect_bench.runner import sample
from halldetect_bench.stats.bootstrap import difference
from halldetect_bench.stats.classification_metrics import at_threshold, auroc

SPLITS = RESULTS.with_name("claims_splits.json")
DATASETS = (
    "qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto", "storysumm",
    "dialsummeval", "wice", "pubmedqa", "bump",
)  # fmt: skip
DETECTION = ("qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto-test")
SPLIT_COUNT = 300
_ENTAILED = 0.5
_NAMED = {"name", "number", "date", "unit", "quantifier", "role swapped"}
# Which kinds fit a type of edit.
SUMMEDITS = {
    "entity_modification": _NAMED,
    "antonym_swap": {"negation"},
    "negation_insertion_removal": {"negation"},
    "hallucinated_fact_insertion": {"invented detail", *_NAMED},
}
BUMP = {
    "Entity": _NAMED,
    "Circumstance": _NAMED | {"invented detail"},
    "Predicate": {"negation", "certainty", "invented detail"},
    "Coreference": {"name", "role swapped"},
}


def draw(data: Path, count: int = SPLIT_COUNT, seed: int = 0) -> list[dict[str, Any]]:
    """Split sentences of the datasets' responses, drawn at random: dataset, row, sentence.

    data   the folder of the datasets
    count  how many
    seed   of the draw
    """
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


def judge_splits(verifier: Verifier, data: Path) -> dict[str, Any]:
    """Whether the sentences that were drawn entail their parts, and the parts the sentences.

    verifier  judges
    data      the folder of the datasets
    """
    places = json.loads(SPLITS.read_text(encoding="utf-8"))["splits"]
    responses = {
        (name, row.id): row.response
        for name in {item["dataset"] for item in places}
        for row in load_dataset(name, data).rows
    }
    questions: list[tuple[int, str, tuple[str, str]]] = []
    for number, item in enumerate(places):
        response = responses[item["dataset"], item["row"]]
        sentence = sentences(response)[item["sentence"]].cut(response)
        parts = [text for text, _ in sentence_parts(sentence)]
        questions += [(number, "a_part_not_entailed", (sentence, part)) for part in parts]
        if len(parts) > 1:
            whole = ". ".join(parts) + "."
            questions.append((number, "sentence_not_entailed_by_parts", (whole, sentence)))
    answers = verifier.judge([pair for _, _, pair in questions])
    failed: dict[str, set[int]] = {"a_part_not_entailed": set()}
    for (number, way, _), answer in zip(questions, answers, strict=True):
        if answer.entailment <= _ENTAILED:
            failed.setdefault(way, set()).add(number)
    either = set().union(*failed.values())
    return {
        "splits": len(places),
        **{way: len(found) for way, found in failed.items()},
        "either": len(either),
        "list": [places[number] for number in sorted(either)],
    }


class Remembering:
    """A verifier that answers each pair once."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._known: dict[tuple[str, str], Probabilities] = {}
        self.max_tokens = verifier.max_tokens
        self.description = verifier.description
        self.count_tokens = verifier.count_tokens
        for name in ("pairs_at_once", "reads_whole_sources"):
            if hasattr(verifier, name):
                setattr(self, name, getattr(verifier, name))

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """The probabilities of each pair."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            self._known.update(zip(new, self._verifier.judge(new), strict=True))
        return [self._known[pair] for pair in pairs]


def detection(verifier: Verifier, data: Path, limit: int) -> dict[str, Any]:
    """The detector with context and without, on samples of the datasets.

    verifier  judges
    data      the folder of the datasets
    limit     rows per dataset
    """
    remembering = Remembering(verifier)
    found: dict[str, Any] = {}
    for name in DETECTION:
        rows = sample(load_dataset(name, data).rows, limit, 0)
        pairs = [Pair(row.source, row.response, row.question) for row in rows]
        gold = [bool(row.hallucinated) for row in rows]
        started = time.perf_counter()
        with_context = Detector(verifier=remembering).check_many(pairs)
        with (
            patch.object(extraction, "in_context", list),
            patch.object(scales, "MAX_LEAD_IN", 0),
        ):
            without = Detector("sentences", remembering).check_many(pairs)
        found[name] = {
            "rows": len(rows),
            "with_context": _figures(gold, with_context),
            "without": _figures(gold, without),
            "auroc_gain": _gain(gold, without, with_context),
            "claims_read_otherwise": sum(
                claim.read_as is not None for report in with_context for claim in report.claims
            ),
            "claims_with_parts": sum(
                bool(claim.parts) for report in with_context for claim in report.claims
            ),
            "verdicts_changed": sum(
                one.verdict != other.verdict
                for one, other in zip(with_context, without, strict=True)
            ),
            "seconds": round(time.perf_counter() - started, 1),
        }
        print(name, json.dumps(found[name]), flush=True)
    return found


def _figures(gold: Sequence[bool], reports: Sequence[Report]) -> dict[str, Any]:
    scores = [1.0 if report.score is None else report.score for report in reports]
    cut = at_threshold(gold, scores)
    states = Counter(claim.status for report in reports for claim in report.claims)
    return {
        "auroc": _rounded(auroc(gold, scores)),
        "balanced_accuracy": _rounded(cut.balanced_accuracy),
        "recall": _rounded(cut.recall),
        "precision": _rounded(cut.precision),
        "claims": sum(states.values()),
        "supported": states[Status.SUPPORTED],
        "verifier_tokens": sum(report.cost.verifier_tokens for report in reports),
    }


def _gain(gold: Sequence[bool], first: Sequence[Report], second: Sequence[Report]) -> list[float]:
    scores = [
        [1.0 if item.score is None else item.score for item in one] for one in (first, second)
    ]
    gained = difference(auroc, gold, *scores, seed=0)
    if gained is None:
        return []
    return [round(value, 4) for value in (gained.value, gained.low, gained.high)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def kinds(data: Path) -> dict[str, Any]:
    """How often the kind of an edited sentence fits the type of the edit, by type."""
    found: dict[str, dict[str, Counter[str]]] = {"summedits": {}, "bump": {}}
    for kind, before, after, source in _edits(data):
        dataset, _, type_ = kind.partition(":")
        counted = found[dataset].setdefault(type_, Counter())
        known = {span.cut(before) for span in sentences(before)}
        edited = [span.cut(after) for span in sentences(after) if span.cut(after) not in known]
        if len(edited) != 1:
            continue
        error = error_kind(edited[0], source, contradicted=False)
        fitting = (SUMMEDITS | BUMP)[type_]
        counted["rows"] += 1
        counted["given"] += error is not None
        counted["fitting"] += error is not None and error.kind.value in fitting
        counted[error.kind.value if error else "none"] += 1
    return {
        dataset: {
            type_: {
                **counted,
                "precision": round(counted["fitting"] / max(counted["given"], 1), 4),
                "recall": round(counted["fitting"] / max(counted["rows"], 1), 4),
            }
            for type_, counted in types.items()
        }
        for dataset, types in found.items()
    }


def _edits(data: Path) -> Iterator[tuple[str, str, str, str]]:
    """Dataset and type, the text before, the text after, and the source."""
    for path in sorted((data / "summedits").glob("summedits_*.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            types = row.get("edit_types") or []
            if len(types) == 1 and types[0] in SUMMEDITS and int(row["label"]) == 0:
                yield (
                    f"summedits:{types[0]}",
                    row["original_summary"],
                    row["summary"],
                    row["doc"],
                )
    rows = json.loads((data / "bump" / "task1_dataset.json").read_text(encoding="utf-8"))
    for row in rows:
        type_ = next((name for name in BUMP if name in row["corrected_error_type"]), None)
        if type_ is not None:
            yield f"bump:{type_}", row["reference_summary"], row["edited_summary"], row["article"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("draw", "splits", "detection", "kinds"))
    parser.add_argument("--data", type=Path, required=True, help="the folder of the datasets")
    parser.add_argument("--verifier", default="base", help="as for `halldetect check`")
    parser.add_argument("--device", default=None, help="as for `halldetect check`")
    parser.add_argument("--limit", type=int, default=40, help="rows per dataset: 40")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the results file")
    given = parser.parse_args(arguments)
    if given.what == "draw":
        drawn = draw(given.data)
        SPLITS.write_text(json.dumps({"seed": 0, "splits": drawn}, indent=1) + "\n", "utf-8")
        print(f"{len(drawn)} splits drawn")
        return
    if given.what == "kinds":
        found = {"kinds_on_datasets": kinds(given.data)}
        write_section(given.out, "rules", found, None)
    else:
        verifier = verifier_of(given.verifier, given.device)
        if given.what == "splits":
            found = {"splits": judge_splits(verifier, given.data)}
        else:
            found = {"detection": detection(verifier, given.data, given.limit)}
        write_section(given.out, given.verifier, found, verifier)
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
