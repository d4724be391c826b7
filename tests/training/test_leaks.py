"""The check that no training text meets an evaluation text, and its stored result."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evaluation import DATASETS
from training.leaks import RUN, EvaluationTexts, check, run_hashes, training_texts

WORDS = [f"w{number}" for number in range(40)]
EVALUATED = " ".join(WORDS[:30])
RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "leaks.json"


def held() -> EvaluationTexts:
    found = EvaluationTexts()
    found.add("one", [EVALUATED, "short text"])
    found.add("two", ["Another text. " + " ".join(reversed(WORDS))])
    return found


def test_ten_words_in_a_row_are_a_leak_and_nine_are_none() -> None:
    ten = "Before that, " + " ".join(WORDS[5 : 5 + RUN]).upper() + ", and after it."
    nine = "x " + " ".join(WORDS[5 : 4 + RUN]) + " y"
    broken = " ".join(WORDS[5:10]) + " new " + " ".join(WORDS[10:16])
    backwards = " ".join(WORDS[20:9:-1])
    assert held().meeting([nine, ten, broken, "", backwards]) == [(1, "one"), (4, "two")]


def test_words_of_two_texts_make_no_run_together() -> None:
    first, second = " ".join(WORDS[:5]), " ".join(WORDS[5:12])
    assert held().meeting([first, second]) == []


@given(st.lists(st.integers(1, 3), max_size=40), st.lists(st.integers(1, 3), max_size=40))
def test_runs_are_those_of_a_plain_search(one: list[int], other: list[int]) -> None:
    def runs(codes: list[int]) -> set[tuple[int, ...]]:
        return {tuple(codes[at : at + RUN]) for at in range(len(codes) - RUN + 1)}

    hashes = [set(run_hashes(np.array(codes, np.uint64)).tolist()) for codes in (one, other)]
    assert len(hashes[0]) == len(runs(one))
    assert bool(hashes[0] & hashes[1]) == bool(runs(one) & runs(other))


def test_the_result_counts_what_meets(tmp_path: Path) -> None:
    file = tmp_path / "groups.jsonl.xz"
    with lzma.open(file, "wt", encoding="utf-8") as lines:
        for group in (
            {"premise": EVALUATED, "claims": ["One.", {"text": "Two."}]},
            {"premise": "Something else.", "claims": ["One."]},
        ):
            lines.write(json.dumps(group) + "\n")
    assert list(training_texts(file)) == [EVALUATED, "One.", "Two.", "Something else."]
    result = check(held(), [file])
    assert result["leaks"] == 1
    assert result["files"]["groups.jsonl.xz"]["meeting"] == {"one": 1}
    assert result["evaluated_runs"]["one"] == 30 - RUN + 1


def test_the_stored_result_covers_every_dataset_and_finds_nothing() -> None:
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    assert set(result["evaluated_runs"]) == set(DATASETS)
    assert all(result["evaluated_runs"].values())
    assert result["run_of_words"] == RUN
    assert sum(item["texts"] for item in result["files"].values()) > 1_000_000
    assert result["leaks"] == 0, {name: item["meeting"] for name, item in result["files"].items()}
