"""Unchecked parts of a report: verdict, views, stream and batch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halldetect import Detector, Report, Verdict, render
from halldetect.cli import main
from tests.support.fakes import OverlapVerifier, use_overlap_verifier

SOURCE = "The mill was built in 1790. Today it is a museum."
GOOD = "Today it is a museum."
ASKED = "Who sold the old mill of Kell to the rich baker?"
PARTS = f"{GOOD} {ASKED}\n\n```sh\npay --fee 9 <mill> & [x](y)\n```"
SENTENCE = "Faithful in what was checked; 2 parts were not checked."


def checked(response: str, on_unchecked: str = "report") -> Report:
    return Detector(OverlapVerifier(), on_unchecked=on_unchecked).check(SOURCE, response)


@pytest.fixture(scope="module")
def report() -> Report:
    return checked(PARTS)


def test_verdict_stays_and_the_summary_says_so(report: Report) -> None:
    assert report.verdict is Verdict.FAITHFUL
    assert [part.reason for part in report.left_out] == ["a question", "code"]
    assert SENTENCE in str(report)
    assert Report.from_json(report.to_json()) == report


def test_every_view_names_the_parts(report: Report) -> None:
    views = [render.terminal(report, width=90), render.markdown(report), render.html(report)]
    for view in views:
        assert SENTENCE.split(";")[0] in view
        assert "Not checked, a question: “Who sold the old mill" in view
    assert "<mill>" not in views[2].split("<main")[1]
    assert '<p class="note" dir="auto">Not checked, code: ' in render.view(report)
    results = json.loads(render.sarif(report, "a.md"))["runs"][0]["results"]
    assert [(item["ruleId"], item["kind"]) for item in results] == [("unchecked", "open")] * 2
    assert results[1]["locations"][0]["physicalLocation"]["region"]["startLine"] == 4
    assert "[x] (y)" in results[1]["message"]["text"]
    assert render.github(report, "a.md").count("title=unchecked::") == 2


@pytest.mark.parametrize(
    ("response", "verdict", "reason"),
    [
        (PARTS, Verdict.UNCHECKABLE, "2 parts were not checked: a question, code"),
        (ASKED, Verdict.UNCHECKABLE, "1 part was not checked: a question"),
        (f"I don't know. {ASKED}", Verdict.UNCHECKABLE, "1 part was not checked: a question"),
        (f"It sank in 1912 with Tom. {ASKED}", Verdict.HALLUCINATED, None),
        (f"# Summary\n\n1. {GOOD} [1]\n\nI hope this helps!", Verdict.FAITHFUL, None),
        ("", Verdict.UNCHECKABLE, "the response is empty"),
    ],
)
def test_strict_check_fails_on_unchecked_parts(
    response: str, verdict: Verdict, reason: str | None
) -> None:
    strict = checked(response, "fail")
    assert (strict.verdict, strict.reason) == (verdict, reason)
    again = strict.rethreshold(strict.threshold)
    assert (again.verdict, again.reason) == (verdict, reason)


def test_many_parts_are_shown_in_part() -> None:
    report = checked(
        f"{GOOD}\n" + "".join(f"\nDid Tom sell the {n} mills of Kell?" for n in range(70))
    )
    assert len(report.left_out) == 70
    assert "20 further parts" in render.terminal(report)
    assert len(json.loads(render.sarif(report))["runs"][0]["results"]) <= 70


@pytest.mark.parametrize("on_failure", ["hold", "stop", "repair", "pass"])
def test_strict_stream_holds_unchecked_sentences(on_failure: str) -> None:
    text = f"{GOOD} {ASKED}"
    strict = Detector(OverlapVerifier(), on_unchecked="fail")
    shown = "".join(item.text for item in strict.stream(SOURCE, on_failure=on_failure).run(text))
    assert shown == (text if on_failure == "pass" else GOOD)
    lenient = Detector(OverlapVerifier()).stream(SOURCE, on_failure=on_failure)
    assert "".join(item.text for item in lenient.run(text)) == text


def test_command_line_fails_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_overlap_verifier(monkeypatch)
    assert main(["check", SOURCE, PARTS]) == 0
    assert main(["check", SOURCE, PARTS, "--on-unchecked", "fail"]) == 3
    assert main(["check", SOURCE, PARTS, "--strict"]) == 3
    assert main(["check", SOURCE, PARTS, "--fail-on", "unchecked"]) == 1
    assert main(["check", SOURCE, PARTS, "--fail-on", "disputed"]) == 0
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"source": SOURCE, "response": PARTS}) + "\n")
    out = tmp_path / "out.jsonl"
    assert main(["batch", str(rows), str(out), "--fail-on", "unchecked"]) == 1
    assert "1 rows have parts that were not checked" in capsys.readouterr().err
    assert json.loads(out.read_text())["unchecked"] == 2
    again = ["batch", str(rows), str(out), "--resume", "--fail-on", "unchecked>=2"]
    assert main(again) == 0
