"""Measure the kinds of error on our minimal pairs and on datasets whose errors have types.

    python -m benchmarks.error_kinds                          the minimal pairs
    python -m benchmarks.error_kinds --data DIR               BUMP and SummEdits too

A case is a sentence with an error, its source, the kind that it should get (`MINIMAL_PAIRS`,
`BUMP`, `SUMMEDITS`) and all kinds that fit. Edits of names, places and times get the kind of the
changed words (a number, a date, ...). The precision of a kind is the share of its cases that it
fits; its recall is the share of the cases that should get it and get a fitting kind. The results go
to benchmarks/results/error_kinds.json.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.store import command, entries, store
from halldetect.facts.recogniser import FactKind, find_facts
from halldetect.faults.error_kinds import error_kind
from halldetect.reading.sentences import sentences
from halldetect.report import ErrorKind

_K = ErrorKind
# The expected kind and other fitting kinds, by the phenomenon or the type of the edit.
# None: the kind of the changed words.
MINIMAL_PAIRS: dict[str, tuple[ErrorKind | None, set[ErrorKind]]] = {
    "negation": (_K.NEGATION, set()),
    "numbers": (_K.NUMBER, set()),
    "units": (_K.NUMBER, set()),
    "dates": (_K.DATE, set()),
    "roles": (_K.NAME, set()),
    "entity_swap": (_K.NAME, set()),
}
BUMP: dict[str, tuple[ErrorKind | None, set[ErrorKind]]] = {
    "Intrinsic Entity Error": (None, {_K.NAME}),
    "Extrinsic Entity Error": (None, {_K.NAME, _K.INVENTED}),
    "Intrinsic Circumstance Error": (None, {_K.NAME, _K.DATE, _K.NUMBER}),
    "Extrinsic Circumstance Error": (None, {_K.NAME, _K.DATE, _K.NUMBER, _K.INVENTED}),
    "Intrinsic Predicate Error": (_K.NEGATION, set()),
    "Extrinsic Predicate Error": (_K.NEGATION, {_K.INVENTED}),
    "Coreference Error": (_K.NAME, set()),
}
SUMMEDITS: dict[str, tuple[ErrorKind | None, set[ErrorKind]]] = {
    "entity_modification": (None, {_K.NAME, _K.INVENTED}),
    "antonym_swap": (_K.NEGATION, set()),
    "negation_insertion_removal": (_K.NEGATION, set()),
    "hallucinated_fact_insertion": (_K.INVENTED, {_K.NAME, _K.NUMBER, _K.DATE}),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence (`claim`) with an error, whose type is named as in its dataset.

    `wanted` is the expected kind, `fitting` has all kinds that fit. `contradicted` is True if the
    source is known to contradict it.
    """

    dataset: str
    type: str
    claim: str
    source: str
    wanted: ErrorKind
    fitting: frozenset[ErrorKind]
    contradicted: bool = False


def minimal_pairs() -> Iterator[Case]:
    """Yield the contradicted rows of our minimal pairs."""
    for row in entries("checks"):
        wanted, also = MINIMAL_PAIRS.get(row["phenomenon"], (None, set()))
        if wanted is not None and row["label"] == "contradiction":
            claim, source = row["hypothesis"], row["premise"]
            fitting = frozenset({wanted, *also})
            yield Case("minimal pairs", row["phenomenon"], claim, source, wanted, fitting, True)


def edits(data: Path) -> Iterator[Case]:
    """Yield the edited sentences of summaries with one edit, from BUMP and SummEdits."""
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
    """Yield dataset, type of the edit, the text before and after, and the source."""
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
    """Return the kind of the first word that an edit inserted, or None."""
    known = {fact.key for fact in find_facts(before)}
    new = {fact.kind for fact in find_facts(after) if fact.key not in known}
    kinds = {FactKind.DATE: _K.DATE, FactKind.NUMBER: _K.NUMBER, FactKind.NAME: _K.NAME}
    return next((kind for found, kind in kinds.items() if found in new), None)


def figures(cases: Sequence[Case], given: Sequence[ErrorKind | None]) -> dict[str, Any]:
    """Return precision and recall by kind, as counts, and the kinds given to each type."""
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
        "precision_by_kind": _by_kind(kinds, given, right),
        "recall_by_kind": _by_kind(kinds, [case.wanted for case in cases], right),
        "given_by_type": {type_: dict(counted) for type_, counted in types.items()},
    }


def _by_kind(
    kinds: Sequence[ErrorKind], of: Sequence[ErrorKind | None], right: Sequence[bool]
) -> dict[str, list[int]]:
    """Return for each kind how many of its cases are right, and how many there are."""
    return {
        str(kind): [
            sum(fits for one, fits in zip(of, right, strict=True) if one is kind),
            of.count(kind),
        ]
        for kind in kinds
    }


def kind_of(case: Case) -> ErrorKind | None:
    """Return the kind that the rules give a case."""
    found = error_kind(case.claim, case.source, contradicted=case.contradicted, source=case.source)
    return None if found is None else found.kind


def measured(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the figures of every dataset."""
    found: dict[str, Any] = {}
    for dataset in dict.fromkeys(case.dataset for case in cases):
        own = [case for case in cases if case.dataset == dataset]
        found[dataset] = {"by_rule": figures(own, [kind_of(case) for case in own])}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command(__doc__, "error_kinds.json")
    parser.add_argument("--data", type=Path, help="the folder of the datasets")
    given = parser.parse_args(arguments)
    cases = list(minimal_pairs())
    if given.data is not None:
        cases += edits(given.data)
    found = {"rules": measured(cases)}
    store(given.out, found)
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
