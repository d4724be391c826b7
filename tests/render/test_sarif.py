"""A report as SARIF: a result per failing claim, places, unchecked responses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halldetect import Report, render
from halldetect.cli import main
from halldetect.report import Status, Verdict
from tests.support import report_samples
from tests.support.fakes import use_overlap_verifier


def run_of(report: Report, uri: str | None = "answer.md", *, lines: bool = True) -> dict[str, Any]:
    """The one run of the log; tests/packaging compares logs with the schema of SARIF."""
    log = json.loads(render.sarif(report, uri, lines=lines))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert (result["level"] == "none") == (result["kind"] != "fail")
    return dict(run)


def marked(text: str, region: dict[str, int]) -> str:
    """What a viewer marks: from the start up to the end, lines and columns from 1."""
    lines = text.split("\n")[region["startLine"] - 1 : region["endLine"]]
    lines[-1] = lines[-1][: region["endColumn"] - 1]
    lines[0] = lines[0][region["startColumn"] - 1 :]
    return "\n".join(lines)


@pytest.mark.parametrize("name", report_samples.ALL)
def test_a_result_per_claim_that_is_not_backed(name: str) -> None:
    report = report_samples.ALL[name]()
    run = run_of(report)
    wanted = [claim for claim in report.claims if claim.status is not Status.SUPPORTED]
    assert [result["ruleId"] for result in run["results"]] == [claim.status for claim in wanted]
    for claim, result in zip(wanted, run["results"], strict=True):
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "answer.md"
        if claim.span is None:
            assert "region" not in place
        else:
            assert marked(report.response, place["region"]) == claim.span.cut(report.response)


def test_the_message_has_claim_and_passage() -> None:
    report = report_samples.town()
    run = run_of(report)
    (claim, *_) = (item for item in report.claims if item.status is Status.CONTRADICTED)
    (result, *_) = (item for item in run["results"] if item["ruleId"] == "contradicted")
    assert result["level"] == "error"
    assert result["message"]["text"] == render.claim_line(report, claim)
    assert claim.proof is not None
    assert claim.proof.text.split()[0] in result["message"]["text"]


def test_a_response_puts_no_link_into_a_message() -> None:
    town = report_samples.town()
    claim = replace(town.claims[0], text="See [1] and [here](https://x.example).")
    claims = (replace(claim, status=Status.UNSUPPORTED),)
    (result,) = run_of(replace(town, claims=claims))["results"]
    assert "See [1] and [here] (https://x.example)." in result["message"]["text"]


def test_only_checked_responses_are_a_success() -> None:
    run = run_of(report_samples.faithful())
    assert (run["results"], run["invocations"]) == ([], [{"executionSuccessful": True}])
    report = report_samples.uncheckable()
    (invocation,) = run_of(report)["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["level"] == "error"
    (invocation,) = run_of(replace(report, verdict=Verdict.ABSTAINED))["invocations"]
    assert invocation["executionSuccessful"] is True
    assert "no answer" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    town = report_samples.town()
    claims = (replace(town.claims[0], status=Status.UNCHECKABLE, reason="too long"),)
    (result,) = run_of(replace(town, claims=claims, verdict=Verdict.UNCHECKABLE))["results"]
    assert (result["kind"], result["level"]) == ("open", "none")


def test_a_whole_response_can_fail() -> None:
    report = report_samples.faithful().rethreshold(0.0)
    assert report.verdict is Verdict.HALLUCINATED
    (result,) = run_of(report)["results"]
    assert (result["ruleId"], result["level"]) == ("hallucinated", "error")


def test_without_a_file_the_log_holds_the_response() -> None:
    report = report_samples.town()
    run = run_of(report, None)
    (artifact,) = run["artifacts"]
    assert artifact["contents"] == {"text": report.response}
    assert "location" not in artifact
    for result in run["results"]:
        assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"index": 0}


def test_a_file_unlike_its_text_has_no_lines() -> None:
    run = run_of(report_samples.town(), "answer.pdf", lines=False)
    assert run["results"]
    for result in run["results"]:
        assert "region" not in result["locations"][0]["physicalLocation"]


@pytest.fixture
def small_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)


@pytest.mark.usefixtures("small_verifier")
def test_check_writes_the_line_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "the answers").mkdir()
    answer = tmp_path / "the answers" / "mill.md"
    answer.write_bytes(b"\xef\xbb\xbfToday it is a museum.\r\n\r\nThe mill was built in 1850.\r\n")
    source = "The mill was built in 1790. Today it is a museum."
    log = tmp_path / "log.sarif"
    assert main(["check", source, str(answer), "--sarif", str(log), "--quiet"]) == 1
    data = json.loads(log.read_text(encoding="utf-8"))
    (result,) = data["runs"][0]["results"]
    assert result["ruleId"] == "contradicted"
    assert "built in 1790" in result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "the%20answers/mill.md"
    assert place["region"] == {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 28}
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["check", source, str(answer), "--sarif", str(log), "--quiet"]) == 1
    data = json.loads(log.read_text(encoding="utf-8"))
    assert data["runs"][0]["artifacts"][0]["location"]["uri"] == answer.resolve().as_uri()


@pytest.mark.usefixtures("small_verifier")
def test_an_unwritable_log_is_refused_first(tmp_path: Path) -> None:
    assert main(["check", "a", "b", "--sarif", str(tmp_path / "none" / "log.sarif")]) == 2


def test_several_files_are_one_run() -> None:
    files = [
        render.CheckedFile(report_samples.town(), "a.md"),
        render.CheckedFile(report_samples.faithful(), "b.md"),
        render.CheckedFile(report_samples.uncheckable(), "c.md"),
    ]
    log = json.loads(render.sarif_log(files))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert [item["location"]["uri"] for item in run["artifacts"]] == ["a.md", "b.md", "c.md"]
    verdicts = [item["properties"]["verdict"] for item in run["artifacts"]]
    assert verdicts == ["hallucinated", "faithful", "uncheckable"]
    places = [item["locations"][0]["physicalLocation"] for item in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"a.md"}
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    place = notification["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "c.md", "index": 2}
