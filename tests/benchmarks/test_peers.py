"""Other detectors beside ours: their files, the figures on the same rows, the stored file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import (
    HERE,
    VERIFIERS,
    counted,
    digest_of_results,
    measured,
    on_rows,
)
from halldetect.errors import InputError
from halldetect.machine.integrity import digest_of
from halldetect_bench.datasets.edited_texts import SUMMEDITS_DOMAINS
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.datasets.peer_outputs import (
    OUTPUTS,
    Clones,
    summedits,
)
from halldetect_bench.peers_page import page, read_peers, readme_table
from halldetect_bench.stats.resampling import rank_correlation
from halldetect_bench.stats.selection import read_settings

RESULTS = HERE / "results"
LISTED = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
NAMES = {one["name"]: one["names"] for one in LISTED["set"] if "names" in one}
STORED = read_peers(RESULTS / "peers.json")


def row(id: str, response: str = "R.", wrong: bool = False, score: float | None = None) -> Row:
    return Row("d", id, f" Source {id}.", response, wrong, score=score, document=id)


def write(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_faithbench_is_matched_by_its_texts(tmp_path: Path) -> None:
    told = dict.fromkeys(NAMES["faithbench"], 1) | {"hhem-2.1": 0.25, "true_nli": None}
    sample = {"source": "Source 2. ", "summary": " R2.", "metadata": told}
    for batch in range(1, 17):
        text = json.dumps({"samples": [sample] if batch == 4 else []})
        write(tmp_path, f"FaithBench/data_for_release/batch_{batch}.json", text)
    rows = [row("1", "R1."), row("2", "R2.")]
    clones = Clones(tmp_path)
    found = OUTPUTS["faithbench"](clones, "vectara/FaithBench", NAMES["faithbench"], rows)
    assert found["HHEM-2.1"] == {"2": 0.75}
    assert found["GPT-4o"] == {"2": 0}
    assert found["True-NLI, 11B"] == {}
    assert set(clones.digests) == {"vectara/FaithBench"}


def test_storysumm_has_labels_or_scores(tmp_path: Path) -> None:
    for file in NAMES["storysumm"]:
        one = {"probs": 0.25} if file in ("unieval", "alignscore-roberta-large") else {"label": 0}
        name = f"storysumm/evaluators/predicted_labels/{file}.json"
        write(tmp_path, name, json.dumps({"a": {**one, "more": []}}))
    found = OUTPUTS["storysumm"](Clones(tmp_path), "a/storysumm", NAMES["storysumm"], [])
    assert (found["UniEval"], found["Mixtral"]) == ({"a": 0.75}, {"a": 1})


def test_unieval_must_have_our_summaries(tmp_path: Path) -> None:
    told = [{"system_output": "it is , so .", "predict_scores": {"consistency": 0.75}}]
    name = "UniEval/reproduce/unieval_predict/fact/qags_cnndm_result.json"
    write(tmp_path, name, json.dumps(told))
    read, names = OUTPUTS["qags-cnndm"], NAMES["qags-cnndm"]
    found = read(Clones(tmp_path), "a/UniEval", names, [row("7", "It is, so.")])
    assert found == {"UniEval": {"7": 0.25}}
    with pytest.raises(InputError, match="not those of the dataset"):
        read(Clones(tmp_path), "a/UniEval", names, [row("7", "It is not.")])
    with pytest.raises(InputError, match=r"clone github.com/vectara/FaithBench"):
        OUTPUTS["faithbench"](Clones(tmp_path), "vectara/FaithBench", {}, [])


def test_dialsummeval_is_matched_by_summary_and_system(tmp_path: Path) -> None:
    folder = "DialSummEval/reproduce/analysis/models_eval_new/A"
    write(tmp_path, f"{folder}/summs.txt", "second one .\nfirst one .\n")
    for column in NAMES["dialsummeval"]:
        write(tmp_path, f"{folder}/{column.partition('_')[0]}.csv", f"{column}\n0.5\n-2\n")
    rows = [row("10/A", "First one."), row("11/A", "Second one.")]
    found = OUTPUTS["dialsummeval"](Clones(tmp_path), "a/DialSummEval", NAMES["dialsummeval"], rows)
    assert found["FEQA"] == {"10/A": 2.0, "11/A": -0.5}


def test_the_table_of_summedits_is_averaged_over_our_domains(tmp_path: Path) -> None:
    titles = [
        "Model Name",
        "Bill Sum",
        *(one.replace("_", " ").title() for one in SUMMEDITS_DOMAINS),
    ]
    models = NAMES["summedits"]
    lines = [titles, ["---"] * len(titles)]
    lines += [[model, "10", *(["60"] * 7), "68"] for model in models]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    write(tmp_path, "factualNLG/README.md", f"# SummEdits\n\n{text}\n")
    found = summedits(Clones(tmp_path), "a/factualNLG", models)
    assert found[1] == {"peer": "GPT-4", "value": 0.61, "rows": "the same rows"}


def test_equal_values_share_a_rank() -> None:
    weights = np.ones((1, 4), dtype=np.float32)
    assert rank_correlation([1, 2, 3, 9], [2, 4, 6, 7], weights)[0] == pytest.approx(1)
    assert rank_correlation([1, 2, 2, 3], [4, 3, 3, 1], weights)[0] == pytest.approx(-1)
    rows = [row(str(at), score=float(at)) for at in range(4)]
    scores = {"0": 0.9, "1": 0.5, "2": 0.4, "3": 0.1}
    assert on_rows("d", "Spearman", rows, scores)[0] == pytest.approx(1)


def test_detectors_are_compared_on_the_rows_that_all_scored() -> None:
    rows = [row(str(at), wrong=at % 2 == 0) for at in range(20)]
    good = {one.id: 0.9 if one.hallucinated else 0.1 for one in rows}
    bad = {key: 1 - score for key, score in good.items() if key != "3"}
    paper = dict.fromkeys(list(good)[:10], 0.9)
    scores = {"base": good, "large": good, "paper": paper}
    ours: Any = SimpleNamespace(scores=lambda _: dict(scores), earlier={"base"})
    found = measured("d", "balanced accuracy", [rows], ours, {"Other": bad})
    assert found["rows"] == 19
    keys = ("method", "earlier", "rows", "value")
    assert [tuple(one[key] for key in keys) for one in found["ours"]] == [
        ("base", True, 19, 1.0), ("large", False, 19, 1.0), ("paper", True, 9, 0.5),
    ]  # fmt: skip
    (other,) = found["peers"]
    assert other["value"] == 0.0
    assert other["less"]["base"] == {"value": 1.0, "low": 1.0, "high": 1.0}


def test_rates_of_a_report_give_f1() -> None:
    one = {"rows": 100, "wrong": 40, "recall": 0.75, "false_alarms": 0.5}
    assert counted(one) == pytest.approx((0.6, 0.5, 0.75))


def figure(value: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high}


def test_the_page_says_where_we_lose() -> None:
    ours = [
        {"method": "base", "earlier": True, "rows": 9, **figure(0.6)},
        {"method": "large", "earlier": False, "rows": 9, **figure(0.9)},
    ]
    less = {"base": figure(-0.2, -0.3, -0.1), "large": figure(0.1, -0.1, 0.3)}
    one = {"name": "n", "title": "Set", "metric": "AUROC", "rule": "a rule", "note": "A note."}
    same = {**one, "rows": 9, "ours": ours, "outputs": "a/b", "readme": ["P", "P"]}
    same["peers"] = [{"peer": "P", "rows": "the same rows", **figure(0.8), "less": less}]
    stated = {**one, "title": "Other", "ours": ours, "outputs": "a/b"}
    stated["peers"] = [{"peer": "Q", "rows": "5 rows", "value": 0.95, "source": "a paper"}]
    names = ("HallDetect, M", "SelfCheck, M")
    lines = [{"of": "published", "method": n, "pubmedqa": [0.5, 0.25, 1.0]} for n in names]
    found = {"sets": [same, stated], "peers": {"a/b": "0" * 64}, "paper": lines}
    text = page(found)
    assert (
        "Set**, AUROC. Above `base` (0.600, earlier weights): P (beyond chance with earlier" in text
    )
    assert "Above `base` (0.600, earlier weights) and `large` (0.900): Q." in text
    assert "| P | 0.800 | **-0.200 (-0.300 to -0.100)** | +0.100 (-0.100 to +0.300) |" in text
    assert "Q 0.950 (5 rows, a paper)" in text
    assert "| HallDetect, M | – | 0.500 |" in text
    assert "SelfCheck" not in text
    assert "| Set, 9 rows | AUROC | 0.600, earlier weights | 0.900 | P: 0.800" in readme_table(
        found
    )


def test_another_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "peers.json", "[]")
    with pytest.raises(InputError, match=r"is not a file of `python -m benchmarks.peers`"):
        read_peers(tmp_path / "peers.json")


def test_the_stored_figures_are_of_the_stored_results() -> None:
    again = "run `python -m benchmarks.peers` again"
    for name in VERIFIERS:
        report = f"{name}/report.json"
        assert STORED["results"][report] == digest_of(RESULTS / report), again
    assert STORED["results"]["bench"] == digest_of_results(RESULTS / "bench"), again
    settings = read_settings(RESULTS / "bench")
    for one in STORED["sets"]:
        if "rows" in one:
            known = {entry["method"]: entry["earlier"] for entry in reversed(one["ours"])}
            assert {name for name in VERIFIERS if known[name]} == settings.newer.keys(), again


def test_the_stored_file_has_what_is_listed() -> None:
    again = "run `python -m benchmarks.peers` again"
    assert [one["name"] for one in LISTED["set"]] == [one["name"] for one in STORED["sets"]]
    for one, stored in zip(LISTED["set"], STORED["sets"], strict=True):
        assert all(peer in stored["peers"] for peer in one.get("published", ())), again
        keys = one.keys() - {"published", "report", "names"}
        assert {key: one[key] for key in keys} == {key: stored[key] for key in keys}, again
    theirs = [{**one, "of": "published"} for one in LISTED["paper"]]
    assert STORED["paper"][: len(theirs)] == theirs, again
