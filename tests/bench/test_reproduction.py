"""`bench reproduce`: stored results are run again on the same rows and compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.evaluation import DATASETS
from benchmarks.pack import pack, pack_folder
from halldetect.cli import main
from halldetect.config import Configuration
from halldetect_bench.predictions import Header, Results
from halldetect_bench.reproduction import _configuration
from halldetect_bench.results_folder import read_all
from tests.support.paths import DATASETS_FOLDER, ROOT

RESULTS = ROOT / "benchmarks" / "results"
WORDS = ["river", "bridge", "tower", "garden", "market", "harbour", "station", "library"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A dataset in which the hallucinated responses share few words with the source."""
    rows = []
    for n in range(40):
        word, other = WORDS[n % 8], WORDS[(n + 3) % 8]
        source = f"The {word} of town {n} was opened in {1900 + n}. It is open on Monday."
        right = f"The {word} of town {n} was opened in {1900 + n}."
        wrong = f"Nobody visits a {other} without paying {n} coins."
        # Some are hard, so that the figures are no limits and have intervals.
        response = right if (n % 2 == 0) != (n % 10 == 0) else wrong
        rows.append(
            {"id": f"r{n}", "source": source, "response": response, "hallucinated": n % 2 == 1}
        )
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.fixture
def stored(tmp_path: Path, data: Path) -> Path:
    """Packed results of ROUGE-L."""
    made = tmp_path / "made"
    run = ["bench", "run", "--dataset", f"jsonl:{data}", "--method", "rouge-l", "-o", str(made)]
    assert main([*run, "--quiet"]) == 0
    packed = tmp_path / "packed"
    list(pack_folder(made, packed))
    # The name of the dataset is stored without its folder.
    (one,) = read_all(packed)
    named = replace(one, header=replace(one.header, dataset=f"jsonl:{data}"))
    for path in packed.glob("*/*"):
        path.unlink()
    list(pack([named], packed))
    return packed


def again(stored: Path, *more: str) -> list[str]:
    return ["bench", "reproduce", str(stored), "-o", str(stored.parent / "again"), "--quiet", *more]


def test_the_same_rows_give_figures_inside(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(again(stored)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1].split(" ")[0] for line in lines] == ["AUROC", "balanced", "same"]
    assert all(line.startswith("inside ") and line.endswith("40 rows") for line in lines)
    assert main(again(stored, "--limit", "12", "--method", "rouge-l")) == 0
    assert "12 rows" in capsys.readouterr().out


@pytest.mark.parametrize("extractor", ["auto", "object:LlmExtractor"])
def test_options_of_earlier_versions_are_left_out(extractor: str) -> None:
    stated = {"extractor": extractor, "gone": False, "threads": 9, "seed": 3}
    described = {"name": "halldetect", "configuration": stated, "verifier": {"name": "base"}}
    assert _configuration(described) == Configuration(seed=3)


def test_claims_of_a_language_model_are_not_run(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (one,) = read_all(stored)
    extractor = {"name": "gguf:small.gguf", "prompt_digest": "1"}
    method = {"name": "halldetect", "extractor": extractor, "verifier": {"name": "base"}}
    for path in stored.glob("*/*"):
        path.unlink()
    list(pack([replace(one, header=replace(one.header, method=method))], stored))
    capsys.readouterr()
    assert main(again(stored)) == 0
    assert "the claims are those of small" in capsys.readouterr().out


def test_other_weights_are_not_run(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = read_all(stored)
    method = {"name": "nli-only", "verifier": {"name": "base", "digest": "f" * 64}}
    for path in stored.glob("*/*"):
        path.unlink()
    list(pack([replace(one, header=replace(one.header, method=method))], stored))
    capsys.readouterr()
    assert main(again(stored)) == 0
    line = capsys.readouterr().out
    assert line.startswith("not run")
    assert "the stored results are of other weights of base (ffffffff) than those here (" in line


def test_other_scores_lie_outside(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = read_all(stored)
    flipped = tuple(replace(item, score=1 - (item.score or 0)) for item in one.predictions)
    list(pack([replace(one, predictions=flipped)], stored))
    capsys.readouterr()
    assert main(again(stored)) == 1
    assert "OUTSIDE" in capsys.readouterr().out


@pytest.mark.parametrize(("changed", "state"), [(4, "inside "), (5, "OUTSIDE")])
def test_few_changed_verdicts_are_within_tolerance(
    changed: int, state: str, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (one,) = read_all(stored)
    items = list(one.predictions)
    for at in range(changed):
        items[at] = replace(items[at], score=float((items[at].score or 0) < 0.5))
    list(pack([replace(one, predictions=tuple(items))], stored))
    capsys.readouterr()
    main(again(stored))
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(f"{state}  jsonl:")
    assert f"same verdicts {1 - changed / 40:.3f}, stored 1.000 (0.900 to 1.000)" in line


def test_other_data_are_refused(
    stored: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = data.read_text(encoding="utf-8")
    data.write_text(text.replace("town 7", "town 77"), encoding="utf-8")
    assert main(again(stored)) == 2
    assert "is not the one that" in capsys.readouterr().err
    data.write_text("\n".join(text.splitlines()[:30]), encoding="utf-8")
    assert main(again(stored)) == 2
    assert "10 rows of" in capsys.readouterr().err


def test_what_cannot_be_built_is_listed(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = read_all(stored)
    lost = replace(one, header=Header(one.header.dataset, {"name": "forgotten"}))
    missing = replace(
        one,
        header=Header(
            one.header.dataset, {"name": "nli-only", "verifier": {"name": "no-such-verifier"}}
        ),
    )
    results: list[Results] = [one, lost, missing]
    list(pack(results, stored))
    capsys.readouterr()
    assert main(again(stored)) == 0
    found = capsys.readouterr().out
    assert "not run" in found
    assert "no method named 'forgotten' in this version" in found
    assert "no-such-verifier" in found
    assert found.count("inside ") == 3
    assert main(again(stored, "--method", "zzz")) == 2
    assert "nothing to run" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not DATASETS_FOLDER.is_dir(), reason="the datasets are not on this machine")
@pytest.mark.parametrize(
    ("folder", "method", "datasets"),
    [("bench", "rouge-l", DATASETS), ("current", "halldetect", ("qags-cnndm",))],
    ids=["all datasets", "base"],
)
def test_published_results_are_reproduced(
    folder: str,
    method: str,
    datasets: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Twenty rows of each dataset, by the command that the page on the evaluation names."""
    chosen = ["--method", method, "--dataset", ",".join(datasets), "--limit", "20", "--quiet"]
    data = ["--data", str(DATASETS_FOLDER), "-o", str(tmp_path)]
    assert main(["bench", "reproduce", str(RESULTS / folder), *data, *chosen]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 * len(datasets)
    assert all(line.startswith("inside ") and line.endswith(" 20 rows") for line in lines), lines
