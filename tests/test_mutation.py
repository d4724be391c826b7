"""How the mutation score is made: the sample, what is left out, the counts."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from halldetect.reading.overlap import content_words
from tests.mutation import caches, score
from tests.mutation.__main__ import left_out, order, package


def test_score_counts_the_mutants_that_were_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        ("reading/claims.py", "killed"),
        ("reading/claims.py", "survived"),
        ("reading/claims.py", "not checked"),
        ("verification/windows.py", "timeout"),
        ("pipeline.py", "no tests"),
        ("../halldetect_serve/proxy/answer.py", "killed"),
    ]

    def path(file: str) -> str:
        return f"src/halldetect/{file}".replace("halldetect/../", "")

    mutants, out = tmp_path / "m.jsonl", tmp_path / "m.json"
    mutants.write_text(
        "".join(
            json.dumps({"name": "x", "file": path(file), "status": status}) + "\n"
            for file, status in found
        )
    )
    monkeypatch.setattr(sys, "argv", ["score", str(mutants), "--sample 5", str(out)])
    score.main()
    written = json.loads(out.read_text())
    assert written["command"] == "python -m tests.mutation --sample 5"
    assert written["modules"] == {
        "pipeline.py": {"no tests": 1},
        "reading/claims.py": {"killed": 1, "survived": 1},
        "halldetect_serve/proxy/answer.py": {"killed": 1},
        "verification/windows.py": {"timeout": 1},
    }
    assert written["packages"] == {
        "pipeline": {"mutants": 1, "noticed": 0, "share": 0.0},
        "reading": {"mutants": 2, "noticed": 1, "share": 0.5},
        "serve.proxy": {"mutants": 1, "noticed": 1, "share": 1.0},
        "verification": {"mutants": 1, "noticed": 1, "share": 1.0},
    }


def test_the_order_is_always_the_same_and_fair_to_small_packages() -> None:
    rooms = {"halldetect.faults.numbers": 500, "halldetect.stream": 9, "halldetect_serve.proxy": 60}
    names = [f"{name}.x_f__mutmut_{at}" for name, many in rooms.items() for at in range(many)]
    drawn = order(names, 1)
    assert drawn == order(reversed(names), 1) != order(names, 2)
    assert sorted(drawn) == sorted(names)
    assert Counter(map(package, drawn[:27])) == {
        "halldetect.faults": 9,
        "halldetect.stream": 9,
        "halldetect_serve.proxy": 9,
    }
    assert Counter(map(package, drawn[27:67])) == {
        "halldetect.faults": 20,
        "halldetect_serve.proxy": 20,
    }


CHANGED = """
def x_pairs__mutmut_orig(a, b):
    return [one for one in zip(a, b, strict=True) if one]


def x_pairs__mutmut_1(a, b):
    return [one for one in zip(a, b, strict=False) if one]


def x_pairs__mutmut_2(a, b):
    return [one for one in zip(a, b, ) if one]


def x_pairs__mutmut_3(a, b):
    return [one for one in zip(a, None, strict=True) if one]


class PostgresIndex:
    def xǁPostgresIndexǁopen__mutmut_orig(self):
        return 1

    def xǁPostgresIndexǁopen__mutmut_1(self):
        return 2


async def x_wait__mutmut_orig():
    return 1


async def x_wait__mutmut_1():
    return 2


class Kept:
    def xǁKeptǁsort__mutmut_orig(self):
        return make(self, strict=True)

    def xǁKeptǁsort__mutmut_1(self):
        return make(self, strict=False)
"""


def test_mutants_that_no_test_could_notice_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "mutants" / "src" / "halldetect" / "scoring.py"
    module.parent.mkdir(parents=True)
    module.write_text(CHANGED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert left_out("src/halldetect/scoring.py") == {
        "halldetect.scoring.xǁPostgresIndexǁopen__mutmut_1",
        "halldetect.scoring.x_pairs__mutmut_1",
        "halldetect.scoring.x_pairs__mutmut_2",
    }


def test_texts_are_read_anew_for_every_mutant() -> None:
    content_words("Olaf sang.")
    caches.pytest_runtest_setup()
    assert content_words.__wrapped__.cache_info().currsize == 0  # type: ignore[attr-defined]
