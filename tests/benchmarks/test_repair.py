"""The measurement of repairs, on fakes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks import repair as bench
from benchmarks.joined import Joined
from halldetect import Detector
from halldetect_bench.models.llm import Question, Reply, TooLong
from tests.support.fakes import OverlapVerifier

SOURCE = "The bridge opened in 1932. Anna Holm designed the bridge. The mayor praised the bridge."
TASKS = [
    bench.Task("defacto", "1", SOURCE, "The bridge opened in 1923.", True, human=SOURCE[:26]),
    bench.Task("defacto", "2", SOURCE, "Bertha Klein designed the bridge.", True),
    bench.Task("defacto", "3", SOURCE, "Anna Holm designed the bridge.", False),
    bench.Task("bump", "1", SOURCE, "Zebras graze. The bridge opened in 1932.", True),
]


def test_requests_of_many_jobs_are_answered_together() -> None:
    sizes: list[int] = []

    def double(requests: list[int]) -> list[int]:
        sizes.append(len(requests))
        return [2 * request for request in requests]

    joined = Joined({"double": double})

    def job(number: int) -> int:
        for _ in range(number % 3 + 1):
            number = joined.ask("double", number)
        return number

    jobs = [lambda number=number: job(number) for number in range(6)]
    assert joined.run(jobs) == [0, 4, 16, 6, 16, 40]
    assert sizes == [6, 4, 2]


def test_an_error_ends_all_jobs_that_asked() -> None:
    def fail(requests: list[int]) -> list[int]:
        raise ValueError("no answer")

    joined = Joined({"fail": fail})
    with pytest.raises(ValueError, match="no answer"):
        joined.run([lambda: joined.ask("fail", 1), lambda: 5])


class Writer:
    """Writes the same sentence again and again; refuses long questions."""

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "writer"}

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        return [
            TooLong("long")
            if "Zebras" in question.messages[-1]["content"]
            else Reply("The mayor praised the bridge.", 1, 1)
            for question in questions
        ]


class Precise(OverlapVerifier):
    """Has the operating point that the careful ways need."""

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "operating_points": {"precision": 0.95}}


def test_all_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.append(tmp_path / "tasks.jsonl", map(asdict, TASKS))
    monkeypatch.setattr(bench, "verifier_of", lambda options: Precise())
    monkeypatch.setattr(
        "halldetect_bench.models.transformers_llm.TransformersLlm", lambda *_, **__: Writer()
    )
    options = argparse.Namespace(
        work=tmp_path, datasets=bench.DATASETS, rows=None, together=3, llm="writer",
        device="cpu", threads=1, part="1/1", precise="precision",
        out=tmp_path / "out.json", machine="a test",
    )  # fmt: skip
    bench.run_repair(options)
    texts = {(o.dataset, o.id, o.way): o.text for o in bench.read_outcomes(tmp_path)}
    assert set(texts) == {(t.dataset, t.id, way) for t in TASKS for way in bench.WAYS}
    assert texts["defacto", "1", "rules"] == "The bridge opened in 1932."
    assert texts["defacto", "1", "delete"] is None
    assert texts["defacto", "1", "blind"] == "The mayor praised the bridge."
    assert texts["defacto", "2", "careful"] == "Anna Holm designed the bridge."
    assert texts["defacto", "2", "clear"] == "Bertha Klein designed the bridge."
    assert texts["bump", "1", "model"] == "The bridge opened in 1932."
    files = sorted(tmp_path.glob("repaired-*"))
    sizes = [file.stat().st_size for file in files]
    bench.run_repair(options)  # nothing is left to do
    assert [file.stat().st_size for file in files] == sizes
    monkeypatch.setattr(Precise, "description", {"name": "other"})
    bench.run_judge(options)
    bench.run_report(options)
    found = json.loads((tmp_path / "out.json").read_text("utf-8"))["verifiers"]["fake-overlap"]
    rules = found["rules"]["defacto"]
    assert (rules["hallucinated"], rules["faithful"], rules["no_text"]) == (2, 1, 0.0)
    assert rules["words_left_in_faithful"] == 1.0
    assert rules["closeness_before"] == 0.8
    assert rules["closeness_after"] == 1.0
    assert rules["judged_by"]["other"]["made_faithful"] == 1.0
    assert found["delete"]["defacto"]["judged_by"]["other"]["made_faithful"] == 0.0
    assert found["blind"]["bump"]["judged_by"]["other"]["faithful_after"] == 0.0


def test_repairs_together_are_what_they_are_alone() -> None:
    def texts(together: int) -> dict[tuple[str, str, str], str | None]:
        verifier = Precise()
        plain, precise = Detector(verifier=verifier), Detector(verifier=verifier, threshold=0.95)
        found = bench.repair_tasks(TASKS, set(), plain, precise, Writer(), together)
        return {(o.dataset, o.id, o.way): o.text for o in found}

    assert texts(1) == texts(4)


def test_words_of_flagged_responses() -> None:
    items = [("a b c", 0.2), ("a", 0.9), ("a b", None), ("a b c d", 0.89)]
    found = bench.flagged_words(items, 0.9)
    assert found == {"rows": 4, "rows_flagged": 0.5, "words_flagged": 0.3}


def test_parts_have_every_task_once(tmp_path: Path) -> None:
    bench.append(tmp_path / "tasks.jsonl", map(asdict, TASKS))
    found = [
        str(task)
        for number in (1, 2, 3)
        for task in bench.read_tasks(tmp_path, bench.DATASETS, part=f"{number}/3")
    ]
    assert sorted(found) == sorted(map(str, TASKS))


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": ', "utf-8")
    assert list(bench.read_lines([tmp_path / "a.jsonl"])) == [{"a": 1}]
