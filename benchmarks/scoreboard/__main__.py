"""Write docs/scoreboard.md and benchmarks/scoreboard.csv from the stored results and the code.

    python -m benchmarks.scoreboard            # write both
    python -m benchmarks.scoreboard --raise    # raise the floors that rows have passed, first
    python -m benchmarks.scoreboard --add plain.tables    # set floors for rows without, by id

Nothing is measured here but the code itself. `floors.toml` holds the floors; the test of the
scoreboard fails when a row is beyond its own, or older than the code it speaks of.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.code_state import ROOT
from benchmarks.scoreboard import accuracy, behaviour, cost, house
from benchmarks.scoreboard.rows import VERIFIERS, Row, floors, weights_of
from benchmarks.speed import table
from benchmarks.store import command
from halldetect_bench.stats.resampling import SAMPLES
from tests.test_size import CEILINGS

PAGE = ROOT / "docs" / "scoreboard.md"
CSV = ROOT / "benchmarks" / "scoreboard.csv"
FLOORS = ROOT / "benchmarks" / "floors.toml"
# Groups that change with every line of code; they come last.
LIVE = ("house", "packages")
# Groups whose floors have a margin, and those in which less is better.
MARGIN = ("cost", "packages")
FEWER = ("hostile", "guards", "cost", "house")
SIGNS = {"at_least": "≥", "at_most": "≤"}
HEAD = (
    "# Scoreboard\n\nWhat is promised, as it was measured last. `python -m benchmarks.scoreboard` "
    "writes this page and [scoreboard.csv](../benchmarks/scoreboard.csv), which also has whole "
    "intervals, weights, commits and caveats. A value is its own floor, unless `≥` or `≤` names "
    "another; in *italics* it has none. A test fails when a value falls beyond its floor, or when "
    "code changed after it was measured. ± is half of the 95 % interval.\n"
)
TITLES = {
    "paper": ("The paper", "At 0.5. `paper` and `selfcheck` ran on samples of the rows. TofuEval "
              "and FalseSum appear once predictions for them are stored."),
    "accuracy": ("Accuracy", "At 0.5: the share of wrong responses that is found beside the share "
                 "of right ones that is flagged. `auto` is its rule on the predictions of both."),
    "plain": ("Plain sentences", "Our own: right ones that pass, wrong ones that are caught."),
    "hostile": ("Hostile answers", "Fewer is better."),
    "guards": ("Tools, repair and streams", "Fewer is better. Tool calls and answers through the "
               "proxy have no stored measurement."),
    "values": ("Quotations, numbers, identifiers", "Right ones that pass, wrong ones named."),
    "cost": ("Cost", "Ratios and tokens hold on every machine, seconds do not."),
    "house": ("The house", "Counted in the code when the page was written."),
    "packages": ("Packages", "Lines or files, with the ceilings of `tests/test_size.py`, and "
                 "mutants that the tests notice."),
}  # fmt: skip


def collect(samples: int = SAMPLES) -> list[Row]:
    """Return all rows; without samples those of predictions have no interval."""
    return [
        *accuracy.paper(samples), *accuracy.accuracy(samples), *behaviour.plain(),
        *behaviour.hostile(), *behaviour.guards(), *behaviour.values(), *cost.cost(),
        *house.house(), *house.packages(),
    ]  # fmt: skip


def floor_of(row: Row) -> tuple[str, float] | None:
    """Return the sign and value of a row's floor or ceiling; for lines that of test_size."""
    for name, sign in SIGNS.items():
        if row.id in floors()[name]:
            return sign, floors()[name][row.id]
    if row.id.endswith(".lines") and row.what in CEILINGS:
        return "≤", CEILINGS[row.what][0]
    return None


def beyond(row: Row) -> str | None:
    """Return what is wrong if a row is beyond its floor."""
    sign, bound = floor_of(row) or ("", row.value)
    if row.value >= bound if sign == "≥" else row.value <= bound:
        return None
    return f"{row.id} is {row.value:g}, not {sign} {bound:g}"


def cell(rows: Iterable[Row]) -> str:
    """Return the figures of one cell with their floors."""
    texts, every = [], list(rows)
    for row in every:
        shown = row.text if len(every) == 1 else row.text.partition(" ±")[0]
        if (floor := floor_of(row)) is None:
            texts.append(f"*{shown}*")
        elif floor[1] == row.value:
            texts.append(shown)
        else:
            bound = floor[1] * (row.of or 1)
            texts.append(f"{shown} {floor[0]} {bound:,.{0 if row.of else row.digits}f}")
    return " / ".join(texts)


def order(column: str) -> int:
    """Return the place of a column: those of `base` first, then `auto` and `large`."""
    return next((at for at, name in enumerate(VERIFIERS) if f"`{name}`" in column), 0)


def section(group: str, rows: Sequence[Row]) -> str:
    """Return the part of the page about one group."""
    title, note = TITLES[group]
    columns = sorted(dict.fromkeys(row.column for row in rows), key=order)
    best = any(row.elsewhere for row in rows)
    lines = []
    for what in dict.fromkeys(row.what for row in rows):
        mine = [row for row in rows if row.what == what]
        cells = [cell(row for row in mine if row.column == column) for column in columns]
        others = dict.fromkeys(row.elsewhere.partition(" (")[0] for row in mine if row.elsewhere)
        lines.append((what, *cells, *(["; ".join(others)] if best else [])))
    head = ("", *columns, *(["best known elsewhere"] if best else []))
    origins: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.file:
            weights = " ".join(weights_of(row.file)) or "no weights"
            place = f"{row.origin['commit']} ({weights})"
            origins.setdefault(row.origin["command"], {})[place] = None
    texts = (f"`{run}` at {', '.join(places)}" for run, places in origins.items())
    source = f"\nMeasured by {'; '.join(texts)}.\n" if origins else ""
    return f"## {title}\n\n{note}\n\n{table(head, lines)}\n{source}"


def page(rows: Sequence[Row]) -> str:
    """Return the page."""
    parts = {group: [row for row in rows if row.group == group] for group in TITLES}
    return "\n".join([HEAD, *(section(group, mine) for group, mine in parts.items() if mine)])


def lines(rows: Sequence[Row]) -> Iterator[list[object]]:
    """Yield the lines of the CSV file."""
    yield ["id", "group", "what", "value", "low", "high", "of", "floor", "best known elsewhere",
           "weights", "command", "commit"]  # fmt: skip
    for row in rows:
        sign, bound = floor_of(row) or ("", "")
        yield [row.id, row.group, f"{row.what}: {row.column}".replace("`", ""), row.value, row.low,
               row.high, row.of, f"{sign} {bound}".strip(), row.elsewhere, " ".join(row.weights),
               row.origin["command"], row.origin["commit"]]  # fmt: skip


def as_csv(rows: Sequence[Row]) -> str:
    """Return the CSV file."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines(rows))
    return out.getvalue()


def raised(rows: Sequence[Row], passed: bool, added: str | None) -> str:
    """Return floors.toml with the floors that rows have passed, and those of rows to be added.

    Floors with a margin stay; rows of files that must be measured again get none.
    """
    text = FLOORS.read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    for row in rows:
        name = next((name for name in SIGNS if row.id in tables[name]), None)
        if name and passed and row.group not in MARGIN and beyond(row) is None:
            tables[name][row.id] = row.value
        elif name is None and added and row.id.startswith(added):
            less = row.group in FEWER or row.id.endswith("false_alarms")
            if row.file not in tables["awaiting"]:
                tables["at_most" if less else "at_least"][row.id] = row.value
    parts = [text.partition("[at_least]")[0].rstrip()]
    for name in SIGNS:
        lines = (f'"{id}" = {bound}' for id, bound in tables[name].items())
        parts.append("\n".join([f"[{name}]", *lines]))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("--raise", dest="passed", action="store_true", help="raise the floors")
    parser.add_argument("--add", metavar="PREFIX", help="of the ids of rows that get a floor")
    options = parser.parse_args()
    rows = collect()
    FLOORS.write_text(raised(rows, options.passed, options.add), encoding="utf-8")
    floors.cache_clear()
    PAGE.write_text(page(rows), encoding="utf-8")
    CSV.write_text(as_csv(rows), encoding="utf-8")
    for problem in filter(None, map(beyond, rows)):
        print(problem)


if __name__ == "__main__":
    main()
