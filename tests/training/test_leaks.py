"""The check that no training text meets an evaluation text, and its stored result."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from benchmarks.evaluation import DATASETS
from halldetect.errors import InputError
from tests.support.paths import ROOT
from training.leaks import (
    ALSO,
    RUN,
    SUPPLIED,
    HeldOut,
    check,
    evaluated,
    strings,
    tokens,
    training_texts,
)

WORDS = [f"w{number}" for number in range(40)]
EVALUATED = " ".join(WORDS[:30])
RESULT = Path(__file__).parents[2] / "benchmarks" / "results" / "leaks.json"


def held() -> HeldOut:
    found = HeldOut()
    for text in (EVALUATED, "short text"):
        found.add(text, "one")
    found.add("Another text. " + " ".join(reversed(WORDS)), "two")
    return found


def test_ten_words_in_a_row_are_a_leak() -> None:
    ten = "Before that, " + " ".join(WORDS[5 : 5 + RUN]).upper() + ", and after it."
    nine = "x " + " ".join(WORDS[5 : 4 + RUN]) + " y"
    broken = " ".join(WORDS[5:10]) + " new " + " ".join(WORDS[10:16])
    backwards = " ".join(WORDS[20:9:-1])
    owners = [held().owner(text) for text in (nine, ten, broken, "", backwards)]
    assert owners == [None, "one", None, None, "two"]


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


def test_texts_that_a_user_supplies_are_compared_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HALLDETECT_STORIES", raising=False)
    release = tmp_path / "datasets" / "falsesum"
    release.mkdir(parents=True)
    pair = {"context_path": "a.story", "label": "0", "summary": [[0, 9]]}
    (release / "generated_pairs.dev.jsonl").write_text(json.dumps(pair), encoding="utf-8")
    assert len(evaluated(tmp_path, SUPPLIED)) == 0
    shown = capsys.readouterr().err
    assert all(f"{name} is not compared" in shown for name in SUPPLIED)
    (release / "stories").mkdir()
    (release / "stories" / "a.story").write_text(EVALUATED, encoding="utf-8")
    assert evaluated(tmp_path, SUPPLIED).owner(" ".join(WORDS[7 : 7 + RUN])) == "falsesum"
    with pytest.raises(InputError, match="clearfacts"):
        evaluated(tmp_path, ["clearfacts"])


def test_the_stored_result_covers_every_dataset_and_finds_only_stock_phrases() -> None:
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    assert set(result["evaluated_runs"]) >= {*DATASETS, *ALSO}
    assert all(result["evaluated_runs"].values())
    assert result["run_of_words"] == RUN
    files = result["files"].values()
    assert sum(item["texts"] for item in files) > 1_000_000
    meeting = [name for item in files for name in item["meeting"]]
    assert {name for name in meeting if not name.startswith("ragtruth-selection-")} == set()
    assert all(set(item["evaluated"]) >= set(DATASETS) for item in files)
    last = [item for item in files if set(item["evaluated"]) >= set(ALSO)]
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    counts = [f"{sum(item['meeting'].values())} of {item['texts']:,}" for item in last]
    assert f"{' and '.join(counts)} texts share ten words" in page


def runs_of_six(text: str) -> set[tuple[str, ...]]:
    words = tokens(text)
    return {tuple(words[at : at + 6]) for at in range(len(words) - 5)}


def test_page_names_the_suites_that_share_nothing_with_passages_written_by_hand() -> None:
    taught: set[tuple[str, ...]] = set()
    for file in (path for path in (ROOT / "training" / "data").iterdir() if path.is_file()):
        data = file.read_bytes()
        taught |= runs_of_six((lzma.decompress(data) if file.suffix == ".xz" else data).decode())
    shares = {}
    for file in (ROOT / "tests" / "data").glob("*.jsonl"):
        lines = file.read_text(encoding="utf-8").splitlines()
        rows = [list(strings(json.loads(line))) for line in lines]
        found = [any(runs_of_six(text) & taught for text in texts) for texts in rows]
        shares[file.stem] = sum(found) / len(found)
    page = (ROOT / "tests" / "data" / "README.md").read_text(encoding="utf-8")
    told = page.partition("with such a passage: ")[2]
    independent, _, rest = told.partition(" none; all others some (a tenth or more of ")
    assert set(independent.split(", ")) == {name for name, share in shares.items() if not share}
    alike = rest.partition(")")[0].replace(" and ", ", ").split(", ")
    assert set(alike) == {name for name, share in shares.items() if share >= 0.1}
