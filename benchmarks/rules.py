"""Switch off each family of hand-written rules, and measure what it buys.

    python -m benchmarks.rules --answers FILE.npz            # all families, and docs/rules.md
    python -m benchmarks.rules --families copies "bare answers"
    python -m benchmarks.rules --page                        # docs/rules.md from stored results
    python -m benchmarks.rules --against FILE.json           # two states of the code, no family off

The rows are those used in development: the project's own suites, and 20 right and 20 wrong rows of
each public set of PUBLIC where ../shared lies beside the checkout. Answers of `base` are kept in
FILE.npz, so that a further round takes seconds unless a change asks about other windows. Nothing
is fitted again. Writes benchmarks/results/rules.json; `--rows` keeps the outcome of every row for
`--against`, to compare two states of the code.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import plain
from benchmarks.families import FAMILIES, Family
from benchmarks.forms.answers import answers
from benchmarks.golden import SHARED, RememberingVerifier
from benchmarks.speed import fill
from benchmarks.store import RESULTS, base_weights, command, entries, store, stored
from benchmarks.suites import FILES, suite_rows
from halldetect.detector import Detector
from halldetect.inputs import Pair, clean_pair
from halldetect.models.verifiers import load_verifier
from halldetect.reading.document import Span
from halldetect.reading.languages import ENGLISH
from halldetect.reading.reader import read
from halldetect.report import Report, Status, Verdict
from halldetect_bench.registry import load_dataset
from halldetect_bench.stats.resampling import Rows, draw_documents, figure, figures, mean

STORED = RESULTS / "rules.json"
PAGE = Path(__file__).parents[1] / "docs" / "rules.md"
# Sets and splits for development; records have no such split.
PUBLIC = """defacto-val bump-task1 ragtruth-selection-qa-train ragtruth-selection-summary-train
    ragtruth-selection-data2txt factcg""".split()
SIDE = 20  # right and wrong rows of a public set
LONGEST = 4_000, 800  # characters of the source and the response of a public row
# At most, of the suites of plain sentences, of answers in many forms, and of any other suite.
PLAIN, FORMS, OWN = {"plain": 144, "tables": 48, "formatted": 50}, 80, 16
HOSTILE = "hostile_answers"
METRICS = ("AUROC", "balanced accuracy")


@dataclass(frozen=True, slots=True)
class Row:
    """A response with its label; `hidden` is the statement that a hostile one hides."""

    group: str
    id: str
    pair: Pair
    wrong: bool
    document: str = ""
    hidden: Span | None = None
    public: bool = False


class Outcome(NamedTuple):
    """What a report says: its verdict, its score, its claims, and if it hides nothing."""

    verdict: Verdict
    score: float
    claims: tuple[tuple[str, float | None], ...]
    names_hidden: bool = True


def rows() -> list[Row]:
    """Return all rows that can be read here."""
    found = [*_plain(), *_hostile()]
    for answer in random.Random(0).sample(answers(), FORMS):
        pair = Pair(answer.source, answer.response)
        found.append(Row("forms", answer.id, pair, not answer.faithful))
    for suite in FILES:
        some = suite_rows(suite)
        for row in random.Random(suite).sample(some, min(OWN, len(some))):
            pair = Pair(row.source, row.claim, row.question)
            found.append(Row(suite, row.id, pair, row.expected is not Status.SUPPORTED))
    return [*found, *_public()]


def _plain() -> Iterator[Row]:
    """Yield sentences and formatted answers of the half that is for development."""
    for suite in PLAIN:
        half = [one for one in plain.sentences(suite) if one.split == "development"]
        for one in random.Random(suite).sample(half, min(PLAIN[suite], len(half))):
            yield Row(suite, one.id, one.pair, one.label == plain.WRONG)


def _hostile() -> Iterator[Row]:
    for entry in entries(HOSTILE):
        start = entry["response"].index(entry["hidden"])
        pair = Pair(entry["source"], entry["response"], entry.get("question"))
        hidden = Span(start, start + len(entry["hidden"]))
        yield Row(HOSTILE, entry["id"], pair, True, hidden=hidden)


def _public() -> Iterator[Row]:
    """Yield as many right as wrong rows of each public set."""
    for name in PUBLIC if SHARED.is_dir() else ():
        fitting = [
            row for row in load_dataset(name, SHARED).rows
            if len(str(row.source)) < LONGEST[0] and len(row.response) < LONGEST[1]
        ]  # fmt: skip
        for wrong in (False, True):
            side = [row for row in fitting if row.hallucinated is wrong]
            for row in random.Random(name).sample(side, min(SIDE, len(side))):
                pair = Pair(row.source, row.response, row.question)
                yield Row(name, row.id, pair, wrong, row.document or row.id, public=True)


def check(detector: Detector, some: Sequence[Row]) -> list[Outcome]:
    """Check rows; those of one source together."""
    order = sorted(range(len(some)), key=lambda at: str(some[at].pair.source))
    reports = detector.check_many([some[at].pair for at in order])
    outcomes = {at: _outcome(some[at], report) for at, report in zip(order, reports, strict=True)}
    return [outcomes[at] for at in range(len(some))]


def _outcome(row: Row, report: Report) -> Outcome:
    hidden = row.hidden
    named = hidden is None or any(part.span.overlaps(hidden) for part in report.left_out)
    claims = tuple((claim.text, claim.support) for claim in report.claims)
    return Outcome(report.verdict, report.score or 0.0, claims, named)


def without(
    family: Family, detector: Detector, some: Sequence[Row], before: Sequence[Outcome]
) -> list[Outcome]:
    """Check the rows that a family may change, with the family off.

    A family that only changes how texts are read is checked where it changes that.
    """
    reads = all(target.startswith("reading.") for target in family.off)
    kept = [_reading(row) for row in some] if reads else []
    with family.switched_off():
        places = [
            at for at, row in enumerate(some) if not reads or _reading(row) != kept[at]
        ]  # fmt: skip
        again = check(detector, [some[at] for at in places])
    results = [*before]
    for at, outcome in zip(places, again, strict=True):
        results[at] = outcome
    return results


def _reading(row: Row) -> Any:
    return read(clean_pair(row.pair), readable=(ENGLISH,))


def own_figures(some: Sequence[Row], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the right rows that pass and the wrong ones that are caught, of own suites."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row, outcome in zip(some, outcomes, strict=True):
        if row.public:
            continue
        passed, caught = _passed(outcome), outcome.verdict is Verdict.HALLUCINATED
        count = counts[row.group]
        count["wrong" if row.wrong else "right"] += 1
        count["caught" if row.wrong else "passed"] += caught if row.wrong else passed
        if row.hidden:
            count["silent"] += passed and not outcome.names_hidden
            count["faithful"] += passed
    return {name: dict(count) for name, count in counts.items()}


def _passed(outcome: Outcome) -> bool:
    return outcome.verdict is Verdict.FAITHFUL


def public_figures(some: Sequence[Row], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return both metrics on all samples, as means over the public sets, and two rates."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(some):
        if row.public:
            groups[row.group].append(at)
    if not groups:
        return {}
    parts = []
    for name, places in groups.items():
        weights = draw_documents(name, [some[at].document for at in places])
        gold = [some[at].wrong for at in places]
        scores = {str(at): outcomes[at].score for at in places}
        parts.append(figures(Rows(tuple(map(str, places)), np.array(gold), weights), scores))
    public = [at for places in groups.values() for at in places]
    flagged = Counter(
        some[at].wrong for at in public if outcomes[at].verdict is Verdict.HALLUCINATED
    )
    wrong = sum(some[at].wrong for at in public)
    return {
        **{name: mean([part[name] for part in parts]) for name in METRICS},
        "false_alarms": [flagged[False], len(public) - wrong],
        "found": [flagged[True], wrong],
    }


def compared(some: Sequence[Row], on: Sequence[Outcome], off: Sequence[Outcome]) -> dict[str, Any]:
    """Return what one state changes against another: counts, and points with their intervals."""
    touched = sum(
        len(set(one.claims) - set(other.claims)) for one, other in zip(on, off, strict=True)
    )
    changed = [
        (row, one) for row, one, other in zip(some, on, off, strict=True)
        if (one.verdict is Verdict.HALLUCINATED) != (other.verdict is Verdict.HALLUCINATED)
    ]  # fmt: skip
    better = sum(row.wrong == (one.verdict is Verdict.HALLUCINATED) for row, one in changed)
    with_all, rest = public_figures(some, on), public_figures(some, off)
    points = {}
    for name in METRICS if with_all else ():
        shown = figure(100 * (with_all[name] - rest[name]))
        points[name] = [round(value or 0.0, 2) for value in (shown.value, shown.low, shown.high)]
    return {
        "claims": sum(len(one.claims) for one in on),
        "touched": touched,
        "verdicts": len(changed),
        "better": better,
        "points": points,
        "own": own_figures(some, off),
        "public": {name: rest[name] for name in ("false_alarms", "found") if rest},
        "changed": [f"{row.group}/{row.id}" for row, _ in changed],
    }


def state_of(some: Sequence[Row], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the figures of the whole detector."""
    public = public_figures(some, outcomes)
    return {
        "rows": dict(Counter(row.group for row in some)),
        "own": own_figures(some, outcomes),
        "public": {
            name: [round(value or 0.0, 4) for value in asdict(figure(public[name])).values()]
            if name in METRICS else public[name]
            for name in public
        },
    }  # fmt: skip


def _show(some: Sequence[Row], on: Sequence[Outcome], kept: Mapping[str, Any]) -> None:
    """Print how the rows that both states have differ."""
    known = [at for at, row in enumerate(some) if f"{row.group}/{row.id}" in kept]
    some, on = [some[at] for at in known], [on[at] for at in known]
    before = [
        Outcome(Verdict(verdict), score, tuple(map(tuple, claims)), named)
        for verdict, score, claims, named in (kept[f"{row.group}/{row.id}"] for row in some)
    ]
    print(json.dumps({"before": state_of(some, before), "now": state_of(some, on)}, indent=1))
    found = compared(some, on, before)
    print(json.dumps({key: found[key] for key in ("touched", "verdicts", "better", "points")}))
    for row, old, new in zip(some, before, on, strict=True):
        if old.verdict is not new.verdict or old.names_hidden != new.names_hidden:
            label = "wrong" if row.wrong else "right"
            print(row.group, row.id, label, old.verdict.value, "->", new.verdict.value)


def page(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables of docs/rules.md by the names of their places."""
    names = [family.name for family in FAMILIES]
    gone = [name for name in found["families"] if name not in names]
    kept = [name for name in names if name in found["families"]]
    return {
        "families": _table(found, "all", kept),
        "removed": _table(found, "before", gone),
    }


def _table(found: Mapping[str, Any], state: str, names: Sequence[str]) -> str:
    head = (
        "| off | lines | claims touched | AUROC, points | balanced accuracy, points "
        "| verdicts changed, better with it | right passed | wrong caught "
        "| hostile faithful, silent |"
    )
    shown = [("nothing", found[state]), *((name, found["families"][name]) for name in names)]
    return "\n".join([head, "| --- |" + " ---: |" * 8, *(_line(*one) for one in shown)])


def _line(name: str, one: Mapping[str, Any]) -> str:
    """Return a row of the table; that of the whole detector has no differences."""
    own: Counter[str] = Counter()
    for counts in one["own"].values():
        own.update(counts)
    sums = [
        f"{own['passed']} of {own['right']}",
        f"{own['caught']} of {own['wrong']}",
        f"{own['faithful']}, {own['silent']}",
    ]
    if "lines" not in one:
        return " | ".join(["| " + name, *[""] * 5, *sums]) + " |"
    points = [
        "{:+.1f} ({:+.1f} to {:+.1f})".format(*values) if any(values) else "0"
        for values in (one["points"].get(metric, (0,)) for metric in METRICS)
    ]
    touched = f"{one['touched'] / one['claims']:.1%}"
    changed = f"{one['verdicts']}, {one['better']}" if one["verdicts"] else "0"
    return " | ".join([f"| {name}", str(one["lines"]), touched, *points, changed, *sums]) + " |"


def main() -> None:
    """Measure the families, or compare two states, and write the page."""
    parser = command(__doc__)
    parser.add_argument("--answers", type=Path, default=Path("build/rules.npz"))
    parser.add_argument("--families", nargs="*", choices=[one.name for one in FAMILIES])
    parser.add_argument("--rows", type=Path, help="write the outcome of every row")
    parser.add_argument("--against", type=Path, help="compare with such a file, and stop")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    options = parser.parse_args()
    if not options.page:
        some = rows()
        verifier = RememberingVerifier(load_verifier("base"), options.answers)
        detector = Detector(verifier)
        on = check(detector, some)
        options.answers.parent.mkdir(parents=True, exist_ok=True)
        verifier.save()
        print(len(some), "rows,", verifier.asked, "pairs judged", flush=True)
        names = [f"{row.group}/{row.id}" for row in some]
        if options.rows:
            store(options.rows, dict(zip(names, on, strict=True)))
        if options.against:
            _show(some, on, stored(options.against))
            return
        wanted = [one for one in FAMILIES if one.name in (options.families or [one.name])]
        kept = stored(STORED)
        found = kept.get("families", {})
        states = {"all": state_of(some, on)}
        states["before"] = kept.get("before", states["all"])  # any family was removed
        for family in wanted:
            off = without(family, detector, some, on)
            found[family.name] = {"lines": family.lines, **compared(some, on, off)}
            verifier.save()
            brief = {k: v for k, v in found[family.name].items() if k not in ("own", "changed")}
            print(family.name, json.dumps(brief), flush=True)
            store(STORED, {"weights": base_weights(), **states, "families": found})
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), page(stored(STORED))), encoding="utf-8")


if __name__ == "__main__":
    main()
