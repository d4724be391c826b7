"""Conversations with tool calls, and the hook at the end of an agent's turn."""

from __future__ import annotations

import io
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from halldetect import Detector
from halldetect.cli import main
from halldetect.cli.hook import read_transcript
from halldetect.report import Verdict
from tests.support.fakes import OverlapVerifier, use_overlap_verifier
from tests.support.known_defects import base, calls_of, defect


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def call(tool: str, **arguments: object) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": function}],
    }


@defect("Hardening")
@pytest.mark.parametrize(
    ("asked", "booked"),
    [
        ("Last summer we met in Rome. Please book a table for us.", "2031-05-17"),
        ("The last course was good. Book the next one for me on 3 May 2031.", "2031-09-21"),
    ],
)
def test_a_relative_word_anywhere_does_not_vouch_for_any_date(asked: str, booked: str) -> None:
    found = base().check_conversation([user(asked), call("book_table", date=booked)])
    assert found.verdict is Verdict.HALLUCINATED


@defect("Hardening")
def test_a_conversation_takes_linear_work() -> None:
    """Twice as many turns take twice the work, not three times."""
    counts = []
    for turns in (8, 16, 32):
        detector = Detector(OverlapVerifier())
        messages = [
            message
            for at in range(turns)
            for message in (
                user(f"What does shelf {at} of row {at * 7} hold?"),
                {"role": "assistant", "content": f"Shelf {at} holds {at * 3} jars of plum jam."},
            )
        ]
        detector.check_conversation(messages[:4])
        counts.append(calls_of(partial(detector.check_conversation, messages)))
    assert counts[2] - counts[1] <= 2.3 * (counts[1] - counts[0])


TRANSCRIPT = [
    user("Do the tests pass?"),
    call("run", command="pytest"),
    {"role": "tool", "tool_call_id": "c1", "content": "5 passed"},
    {"role": "assistant", "content": "5 passed."},
]


def stop(monkeypatch: pytest.MonkeyPatch, lines: list[str], folder: Path, *options: str) -> int:
    """Return the exit status of the hook after a transcript."""
    use_overlap_verifier(monkeypatch)
    path = folder / "transcript.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    event = {"hook_event_name": "Stop", "transcript_path": str(path), "session_id": "7"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
    return main(["hook", *options])


def test_a_line_separator_inside_a_value_ends_no_line() -> None:
    """Raw U+2028 and U+0085 are allowed in JSON."""
    text = "\n".join(json.dumps(user(f"Wait{end}now"), ensure_ascii=False) for end in "\u2028\x85")
    assert [item["content"] for item in read_transcript(text)] == ["Wait\u2028now", "Wait\x85now"]


@defect("Hardening")
@pytest.mark.parametrize(
    "line",
    [
        '{"role": "tool", "content": ' + "[" * 20_000 + "]" * 20_000 + "}",
        '{"role": "tool", "tool_call_id": "c0", "content": ' + "7" * 5_000 + "}",
        '{"role": "tool", "content": "the disk was full while this was writ',
    ],
    ids=["deep", "digits", "cut"],
)
def test_one_bad_line_refuses_that_line_alone(
    line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The wrong answer after it is still seen."""
    lines = [line, *map(json.dumps, TRANSCRIPT[:-1])]
    lines.append(json.dumps({"role": "assistant", "content": "All 9 tests failed."}))
    assert stop(monkeypatch, lines, tmp_path) == 2
    assert "All 9 tests failed." in capsys.readouterr().err


@defect("Hardening")
def test_a_hook_that_cannot_check_stops_the_agent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It fails closed, without an option."""
    assert stop(monkeypatch, ["{"], tmp_path) == 2
