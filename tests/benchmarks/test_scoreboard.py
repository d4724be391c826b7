"""No row of the scoreboard is beyond its floor, of other weights, or older than the code."""

from __future__ import annotations

import ast
import csv
import json
import re
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import code_state
from benchmarks.code_state import GROUPS, SRC, Change, leads, measured, older, substance
from benchmarks.scoreboard import __main__ as scoreboard
from benchmarks.scoreboard import behaviour, house, rows
from benchmarks.scoreboard.__main__ import CSV, FLOORS, LIVE, PAGE, beyond
from benchmarks.scoreboard.rows import Row, floors
from tests.support.paths import ROOT
from tests.support.result_weights import FILES, FOLDERS, SHIPPED

WRITE = "run: python -m benchmarks.scoreboard"
LOWERED = re.compile(r"^(?:- )?Lowered: (\S+) from (\S+) to (\S+), because \S", re.MULTILINE)


@pytest.fixture(scope="module")
def current() -> list[Row]:
    """Return all rows; the intervals of predictions are those stored."""
    with CSV.open(encoding="utf-8", newline="") as file:
        stored = {one["id"]: one for one in csv.DictReader(file)}

    def end(row: Row, key: str) -> float | None:
        text = stored.get(row.id, {}).get(key, "")
        return float(text) if text else None

    return [
        replace(row, low=end(row, "low"), high=end(row, "high"))
        if row.group in ("paper", "accuracy") else row
        for row in scoreboard.collect(samples=0)
    ]  # fmt: skip


def test_no_row_is_beyond_its_floor(current: list[Row]) -> None:
    assert list(filter(None, map(beyond, current))) == []


def test_every_floor_has_its_row(current: list[Row]) -> None:
    bounds = [*floors()["at_least"], *floors()["at_most"]]
    assert len(bounds) == len(set(bounds)) >= 60
    assert set(bounds) - {row.id for row in current} == set()


def test_ids_are_unique(current: list[Row]) -> None:
    assert len({row.id for row in current}) == len(current)


def test_page_is_what_the_command_writes(current: list[Row]) -> None:
    def kept(text: str) -> str:
        return text.partition(f"## {scoreboard.TITLES[LIVE[0]][0]}\n")[0]

    assert kept(PAGE.read_text("utf-8")) == kept(scoreboard.page(current)), WRITE


def test_csv_is_what_the_command_writes(current: list[Row]) -> None:
    def kept(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith(LIVE)]

    assert kept(CSV.read_text("utf-8")) == kept(scoreboard.as_csv(current)), WRITE


@pytest.mark.slow
def test_intervals_are_those_of_the_command(current: list[Row]) -> None:
    found = {row.id: row for row in scoreboard.collect()}
    assert [row for row in current if row.group not in LIVE and row != found[row.id]] == []


def test_rows_are_of_the_weights_that_ship_and_of_the_code_of_today(current: list[Row]) -> None:
    shipped = set(SHIPPED.values())
    stale = {row.file: "other weights" for row in current if not set(row.weights) <= shipped}
    for file in {row.file for row in current} - {""}:
        if groups := older(file):
            stale[file] = f"older than the code of {groups}"
    awaited = floors()["awaiting"]
    assert {file: why for file, why in stale.items() if file not in awaited} == {}
    assert awaited.keys() <= stale.keys(), "measured again: they need no entry"
    assert [row.id for row in current if row.file in awaited and scoreboard.floor_of(row)] == []


def test_every_file_of_results_is_noted() -> None:
    stored = measured()
    assert {*FILES, *FOLDERS, "current"} == stored.keys()
    changed = [name for name, one in stored.items() if one["file"] != code_state.content(name)]
    assert changed == [], "run: python -m benchmarks.code_state COMMAND FILE"


def test_every_module_has_a_group() -> None:
    assert [path for path in SRC.rglob("*.py") if code_state.group_of(path) is None] == []
    every = [SRC / path for paths in GROUPS.values() for path in paths]
    assert [path for path in every if not (path.is_dir() or path.with_suffix(".py").exists())] == []


def test_prose_does_not_change_a_digest() -> None:
    def of(text: str) -> list[str]:
        return list(substance(ast.parse(text)))

    plain = "def f(a):\n    return a + 1\n"
    assert of('"""M."""\n\ndef f(a):  # c\n    """D."""\n    return (a\n        + 1)\n') == of(
        plain
    )
    assert of(plain.replace("1", "2")) != of(plain)
    assert of('def f(a):\n    return "D."\n') != of("def f(a):\n    return\n")


def test_results_stand_as_long_as_changes_lead_to_the_code_of_today() -> None:
    known = [Change("reading", "a", "b", "same reports"), Change("reading", "b", "c", "accepted"),
             Change("repair", "c", "d", "same")]  # fmt: skip
    assert leads("reading", "a", "a", [])
    assert leads("reading", "a", "c", known)
    assert not leads("reading", "c", "a", known)
    assert not leads("reading", "a", "d", known)


def test_changed_code_makes_results_old_until_an_entry_is_added(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("UNCHANGED", "MEASURED"):
        monkeypatch.setattr(code_state, name, tmp_path / name)
        (tmp_path / name).write_text("")
    now = dict.fromkeys(code_state.DEPENDS[""], "0" * 12)
    code_state.write({"forms/base.json": {"code": {**now, "reading": "f" * 12}}})
    monkeypatch.setattr(code_state, "digests", lambda: now)
    code_state.changes.cache_clear()
    assert older("forms/base.json") == ["reading"]
    assert code_state.pending() == {("reading", "f" * 12, "0" * 12)}
    code_state.add_entry("reading", "f" * 12, "0" * 12, shown='1,000 "equal" reports')
    assert older("forms/base.json") == []
    assert code_state.pending() == set()
    with pytest.raises(ValueError, match="name a group"):
        code_state.add_entry("reading", "a", "b")
    code_state.changes.cache_clear()


def test_new_results_are_noted_with_the_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(code_state, "RESULTS", tmp_path)
    monkeypatch.setattr(code_state, "MEASURED", tmp_path / "measured.toml")
    (tmp_path / "repair.json").write_text("{}")
    code_state.record(tmp_path / "repair.json", "python -m benchmarks.repair")
    code_state.record(ROOT / "pyproject.toml")
    ((name, one),) = measured().items()
    assert (name, one["command"]) == ("repair.json", "python -m benchmarks.repair")
    assert list(one["code"]) == ["reading", "verification", "faults", "repair"]
    assert older("repair.json") == []


def row(value: float, id: str = "values.x") -> Row:
    return Row(id, "x", "`base`", value)


def test_value_beyond_its_floor_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bounds = {"at_least": {"values.x": 0.8}, "at_most": {"hostile.y": 3}}
    monkeypatch.setattr(scoreboard, "floors", lambda: bounds)
    assert beyond(row(0.8)) is None
    assert beyond(row(0.7999)) == "values.x is 0.7999, not ≥ 0.8"
    assert beyond(row(4, "hostile.y")) == "hostile.y is 4, not ≤ 3"
    assert beyond(row(4, "hostile.z")) is None
    assert scoreboard.cell([row(0.8)]) == "0.800"
    assert scoreboard.cell([row(0.9), row(2, "hostile.z")]) == "0.900 ≥ 0.800 / *2.000*"


def test_floors_are_raised_never_lowered() -> None:
    name, bound = next(iter(floors()["at_least"].items()))

    def of(*rows: Row, passed: bool = True, added: str | None = None) -> dict[str, Any]:
        return tomllib.loads(scoreboard.raised(rows, passed, added))

    assert scoreboard.raised([row(bound - 0.1, name)], True, None) == FLOORS.read_text("utf-8")
    assert of(row(bound + 0.1, name))["at_least"][name] == bound + 0.1
    assert of(row(bound + 0.1, name), passed=False) == floors()
    found = of(row(0.5), row(2, "hostile.x"), row(3, "hostile.y"), added="hostile.x")
    assert found["at_most"] == {**floors()["at_most"], "hostile.x": 2}
    assert of(row(0.5), added="values")["at_least"]["values.x"] == 0.5
    assert of(replace(row(1), file="repair.json"), added="values") == floors()


def test_plain_sentences_are_counted_by_kind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kinds = [("right", "bound", "faithful"), ("right", "bound", "hallucinated"),
             ("wrong", "bound", "hallucinated"), ("wrong", "clock", "uncheckable")]  # fmt: skip
    found = [{"suite": "tables", "split": "report", "label": label, "kind": kind,
              "verdict": verdict} for label, kind, verdict in kinds]  # fmt: skip
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "base.json").write_text(json.dumps({"rows": found}))
    monkeypatch.setattr(rows, "RESULTS", tmp_path)
    monkeypatch.setattr(behaviour, "SUITES", {})
    monkeypatch.setattr(behaviour, "FEWEST", 2)
    rows.results.cache_clear()
    shown = {one.id: one.text for one in behaviour.plain()}
    rows.results.cache_clear()
    assert shown == {
        "plain.tables-report.base.passed": "1 of 2",
        "plain.tables-report.base.caught": "1 of 2",
        "plain.tables-bound.base.passed": "1 of 2",
    }


def test_import_of_a_higher_layer_is_found() -> None:
    contract = {"type": "layers", "layers": ["p.top", "p.left | p.right", "p.low"]}
    project: dict[str, Any] = {"tool": {"importlinter": {"contracts": [contract]}}}
    graph = {"p.top": {"p.low"}, "p.low.x": {"p.right", "q"}, "p.left": {"p.right"}, "q": {"p.top"}}
    assert house.arrows_back(project, graph) == [("p.low.x", "p.right")]


def lowered(before: dict[str, Any], after: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Return the rows whose floor is weaker than before, with both floors."""
    found = set()
    for table, weaker in (("at_least", float.__lt__), ("at_most", float.__gt__)):
        for name, bound in before.get(table, {}).items():
            now = after[table].get(name)
            if now is None or weaker(float(now), float(bound)):
                found.add((name, str(bound), "none" if now is None else str(now)))
    return found


def test_weaker_floors_are_found() -> None:
    before = {"at_least": {"a": 0.8, "b": 1, "c": 1}, "at_most": {"d": 3, "e": 3}}
    after = {"at_least": {"a": 0.7, "b": 2}, "at_most": {"d": 4, "e": 3}}
    assert lowered(before, after) == {("a", "0.8", "0.7"), ("c", "1", "none"), ("d", "3", "4")}


def test_lowered_floors_stand_in_the_changelog() -> None:
    def git(*arguments: str) -> str:
        run = ["git", *arguments]
        found = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
        return found.stdout.strip() if found.returncode == 0 else ""

    base = git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main")
    if base == git("rev-parse", "HEAD"):
        base = git("rev-parse", "--verify", "-q", "HEAD~1")
    if not base:
        pytest.skip("the history of the repository is not here")
    before = tomllib.loads(git("show", f"{base}:benchmarks/floors.toml"))
    told = set(LOWERED.findall((ROOT / "CHANGELOG.md").read_text("utf-8")))
    assert lowered(before, floors()) - told == set()
