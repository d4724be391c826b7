"""Kinds of error, measured: on our minimal pairs and on datasets whose errors have types.

    python -m benchmarks.error_kinds                          the minimal pairs, by rule
    python -m benchmarks.error_kinds --data DIR               BUMP and SummEdits too
    python -m benchmarks.error_kinds --data DIR --judge [--verifier large --device cuda]

A case is a sentence with an error, its source, the kind that it should get (`MINIMAL_PAIRS`,
`BUMP`, `SUMMEDITS`) and all kinds that would fit. Edits of names, places and times get the kind of
the words that were changed (a number, a date, ...). The precision of a kind is the share of the
cases given it that it fits; its recall the share of the cases that should get it and get a kind
that fits.

With `--judge`, a verifier has a say as well: each error that a rule finds is mended in the claim
with the words of the source, and the source must then entail it. `confirmed_first` prefers the
errors that it confirms, `confirmed_only` also drops those that it was asked about and did not
confirm. FaithBench has no types of error, but a label for detail that is true and not in the source
("Benign"): there the kinds of the claims that the detector flags are counted, by label.

The results go to benchmarks/results/error_kinds.json, a section for the rules and one for each
verifier.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.claims import rows, write_section
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import Detector, Pair
from halldetect.explanation.error_kinds import error_kind
from halldetect.facts import FactKind, find_facts
from halldetect.protocols import Verifier
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.sentences import sentences
from halldetect.report import ErrorKind, ErrorReport, Status
from halldetect_bench.registry import load_dataset
from halldetect_bench.runner import sample

RESULTS = Path(__file__).parent / "results" / "error_kinds.json"
_K = ErrorKind
# What a row should get, and what fits as well, by the phenomenon or the type of the edit.
# None: the kind of the words that were changed.
MINIMAL_PAIRS: dict[str, tuple[ErrorKind | None, set[ErrorKind]]] = {
    "negation": (_K.NEGATION, set()),
    "numbers": (_K.NUMBER, set()),
    "units": (_K.UNIT, {_K.NUMBER}),
    "dates": (_K.DATE, set()),
    "roles": (_K.ROLE, set()),
    "quantifiers": (_K.QUANTIFIER, set()),
    "modality": (_K.CERTAINTY, set()),
    "entity_swap": (_K.NAME, {_K.ROLE}),
}
BUMP: dict[str, tuple[ErrorKind | None, set[ErrorKind]]] = {
    "Intrinsic Entity Error": (None, {_K.NAME, _K.ROLE}),
    "Extrinsic Entity Error": (None, {_K.NAME, _K.INVENTED}),
    "Intrinsic Circumstance Error": (None, {_K.NAME, _K.DATE, _K.NUMBER}),
    "Extrinsic Circumstance Error": (None, {_K.NAME, _K.DATE, _K.NUMBER, _K.INVENTED}),
    "Intrinsic Predicate Error": (_K.NEGATION, {_K.CERTAINTY, _K.ROLE}),
    "Extrinsic Predicate Error": (_K.NEGATION, {_K.CERTAINTY, _K.INVENTED}),
    "Coreference Error": (_K.NAME, {_K.ROLE}),
}
SUMMEDITS: dict[str, tuple[ErrorKind | None, set[ErrorKind]]] = {
    "entity_modification": (None, {_K.NAME, _K.ROLE, _K.INVENTED}),
    "antonym_swap": (_K.NEGATION, set()),
    "negation_insertion_removal": (_K.NEGATION, set()),
    "hallucinated_fact_insertion": (_K.INVENTED, {_K.NAME, _K.NUMBER, _K.DATE}),
}
# Around the sentence that is nearest to a claim, so many on each side are shown to the verifier.
_NEIGHBOURS = 2
_CONFIRMED = 0.5
# What a verifier adds to a pair of texts, with some to spare.
_SPECIAL_TOKENS = 32
FAITHBENCH_ROWS = 64


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence with an error of a known type.

    dataset       it comes from
    type          of the error, as the dataset calls it
    claim         the sentence
    source        it should say what this says
    wanted        the kind that it should get
    fitting       the kinds that would fit
    contradicted  whether the source is known to say otherwise
    """

    dataset: str
    type: str
    claim: str
    source: str
    wanted: ErrorKind
    fitting: frozenset[ErrorKind]
    contradicted: bool = False


def minimal_pairs() -> Iterator[Case]:
    """The contradicted rows of our minimal pairs."""
    for row in rows("checks.jsonl"):
        wanted, also = MINIMAL_PAIRS.get(row["phenomenon"], (None, set()))
        if wanted is not None and row["label"] == "contradiction":
            claim, source = row["hypothesis"], row["premise"]
            fitting = frozenset({wanted, *also})
            yield Case("minimal pairs", row["phenomenon"], claim, source, wanted, fitting, True)


def edits(data: Path) -> Iterator[Case]:
    """The edited sentences of BUMP and SummEdits, where one sentence of a summary was edited.

    data  the folder of the datasets
    """
    for dataset, type_, before, after, source in _edited(data):
        known = {span.cut(before) for span in sentences(before)}
        changed = [span.cut(after) for span in sentences(after) if span.cut(after) not in known]
        if len(changed) != 1:
            continue
        wanted, also = (BUMP | SUMMEDITS)[type_]
        by_words = changed_kind(before, changed[0])
        first = wanted or by_words or _K.INVENTED
        fitting = frozenset({first, *also, *([by_words] if by_words else [])})
        yield Case(dataset, type_, changed[0], source, first, fitting)


def _edited(data: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Dataset, type of the edit, the text before, the text after, and the source."""
    for path in sorted((data / "summedits").glob("summedits_*.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            types = row.get("edit_types") or []
            if len(types) == 1 and types[0] in SUMMEDITS and int(row["label"]) == 0:
                yield "summedits", types[0], row["original_summary"], row["summary"], row["doc"]
    for row in json.loads((data / "bump" / "task1_dataset.json").read_text(encoding="utf-8")):
        type_ = row["corrected_error_type"]
        if type_ in BUMP:
            yield "bump", type_, row["reference_summary"], row["edited_summary"], row["article"]


def changed_kind(before: str, after: str) -> ErrorKind | None:
    """The kind of the first word that an edit has put in, where it is of one.

    before, after  the texts
    """
    known = {fact.key for fact in find_facts(before)}
    new = {fact.kind for fact in find_facts(after) if fact.key not in known}
    kinds = {FactKind.DATE: _K.DATE, FactKind.NUMBER: _K.NUMBER, FactKind.NAME: _K.NAME}
    return next((kind for found, kind in kinds.items() if found in new), None)


def passage(claim: str, source: str) -> str:
    """The sentence of a source that is nearest to a claim, with its neighbours.

    claim, source  the texts
    """
    keys, spans = content_keys(claim), sentences(source)
    if not spans:
        return source
    shares = [shared_part(keys, content_keys(span.cut(source))) for span in spans]
    at = shares.index(max(shares))
    first, last = max(at - _NEIGHBOURS, 0), min(at + _NEIGHBOURS, len(spans) - 1)
    return source[spans[first].start : spans[last].end]


def mended(claim: str, error: ErrorReport) -> str | None:
    """The claim with the words of the source in the place of its own; None where that is no text.

    claim  that fails
    error  what a rule finds wrong with it
    """
    said, found = error.claim_words, error.source_words
    if not said or error.kind in (_K.ROLE, _K.INVENTED):
        return None
    place = re.search(rf"(?<!\w){re.escape(said.removesuffix(' …'))}(?!\w)", claim)
    if place is None:
        return None
    if error.kind is _K.CAUSE:
        return claim[: place.start()].rstrip(" ,") + "."
    whole = f"{claim[: place.start()]}{found}{claim[place.end() :]}"
    return re.sub(r"\s+([.,;!?])", r"\1", " ".join(whole.split()))


def choices(cases: Sequence[Case], verifier: Verifier | None) -> dict[str, list[ErrorKind | None]]:
    """The kind that each way of choosing gives each case.

    cases     the claims
    verifier  says whether a claim holds once an error of it is mended; None: by rule only
    """
    found = [
        [error]
        if (error := error_kind(case.claim, case.source, contradicted=case.contradicted))
        else []
        for case in cases
    ]
    if verifier is None:
        return {"by_rule": [errors[0].kind if errors else None for errors in found]}
    asked = [
        (number, at, text)
        for number, errors in enumerate(found)
        for at, error in enumerate(errors)
        if (text := mended(cases[number].claim, error)) is not None
    ]
    passages = [passage(case.claim, case.source) for case in cases]
    read = verifier.count_tokens(passages)
    said = verifier.count_tokens([text for _, _, text in asked])
    room = verifier.max_tokens - _SPECIAL_TOKENS
    asked = [
        item for item, own in zip(asked, said, strict=True) if read[item[0]] + own <= room
    ]  # the rest is not asked about
    answers = verifier.judge([(passages[number], text) for number, _, text in asked])
    holds = {
        (number, at): answer.entailment > _CONFIRMED
        for (number, at, _), answer in zip(asked, answers, strict=True)
    }
    chosen: dict[str, list[ErrorKind | None]] = {}
    for way in ("by_rule", "confirmed_first", "confirmed_only"):
        chosen[way] = []
        for number, errors in enumerate(found):
            places = list(range(len(errors)))
            if way != "by_rule":
                confirmed = [at for at in places if holds.get((number, at), False)]
                places = [*confirmed, *(at for at in places if at not in confirmed)]
            if way == "confirmed_only":
                places = [at for at in places if holds.get((number, at), True)]
            chosen[way].append(errors[places[0]].kind if places else None)
    return chosen


def figures(cases: Sequence[Case], given: Sequence[ErrorKind | None]) -> dict[str, Any]:
    """Precision and recall by kind, as counts, and what each type of error was given.

    cases  with what they should get
    given  what they got
    """
    pairs = list(zip(cases, given, strict=True))
    right = [kind in case.fitting for case, kind in pairs]
    named = [kind is not None for _, kind in pairs]
    kinds = [kind for kind in ErrorKind if any(kind in (case.wanted, got) for case, got in pairs)]
    types: dict[str, Counter[str]] = {}
    for case, kind in pairs:
        types.setdefault(case.type, Counter())[str(kind or "none")] += 1
    return {
        "cases": len(pairs),
        "given": sum(named),
        "precision": round(sum(right) / max(sum(named), 1), 4),
        "recall": round(sum(right) / max(len(pairs), 1), 4),
        "precision_by_kind": {
            str(kind): [
                sum(fits for (_, got), fits in zip(pairs, right, strict=True) if got is kind),
                sum(got is kind for _, got in pairs),
            ]
            for kind in kinds
        },
        "recall_by_kind": {
            str(kind): [
                sum(
                    fits
                    for fits, (case, _) in zip(right, pairs, strict=True)
                    if case.wanted is kind
                ),
                sum(case.wanted is kind for case, _ in pairs),
            ]
            for kind in kinds
        },
        "given_by_type": {type_: dict(counted) for type_, counted in types.items()},
    }


def measured(cases: Sequence[Case], verifier: Verifier | None) -> dict[str, Any]:
    """The figures of every dataset, by the way of choosing.

    cases     of all datasets
    verifier  as for `choices`
    """
    found: dict[str, Any] = {}
    for way, given in choices(cases, verifier).items():
        for dataset in dict.fromkeys(case.dataset for case in cases):
            here = [number for number, case in enumerate(cases) if case.dataset == dataset]
            figures_here = figures([cases[n] for n in here], [given[n] for n in here])
            found.setdefault(dataset, {})[way] = figures_here
    return found


def faithbench(verifier: Verifier, data: Path, limit: int = FAITHBENCH_ROWS) -> dict[str, Any]:
    """The kinds of the claims that are flagged in FaithBench, by the label of the response.

    verifier  of the detector
    data      the folder of the datasets
    limit     rows per label
    """
    labelled = load_dataset("faithbench", data).rows
    found = {}
    for label in ("benign", "unwanted"):
        chosen = sample([row for row in labelled if row.kind == label], limit, 0)
        pairs = [Pair(row.source, row.response) for row in chosen]
        reports = Detector(verifier=verifier).check_many(pairs)
        flagged = [
            claim
            for report in reports
            for claim in report.claims
            if claim.status in (Status.CONTRADICTED, Status.UNSUPPORTED)
        ]
        kinds = Counter(str(claim.error.kind) if claim.error else "none" for claim in flagged)
        found[label] = {"rows": len(chosen), "flagged": len(flagged), "kinds": dict(kinds)}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the datasets")
    parser.add_argument("--judge", action="store_true", help="with a verifier, too")
    parser.add_argument("--limit", type=int, help="cases per dataset; default: all")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the results file")
    add_verifier_options(parser)
    given = parser.parse_args(arguments)
    cases = list(minimal_pairs())
    if given.data is not None:
        edited = list(edits(given.data))
        for dataset in ("bump", "summedits"):
            own = [case for case in edited if case.dataset == dataset]
            cases += random.Random(0).sample(own, min(given.limit or len(own), len(own)))
    started = time.perf_counter()
    verifier = verifier_of(given) if given.judge else None
    found = measured(cases, verifier)
    if verifier is not None and given.data is not None:
        found["faithbench"] = faithbench(verifier, given.data)
    found["seconds"] = round(time.perf_counter() - started, 1)
    write_section(given.out, given.verifier if given.judge else "rules", found, verifier)
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
