"""Requests to the service, and what their answers must look like."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx

from halldetect import Detector, Report
from halldetect_serve.error_responses import STATUS_BY_CODE
from halldetect_serve.rendering import report_tree
from tests.support.fake_service import ObedientVerifier

SOURCE = "The bridge opened in 1932. It is 503 metres long. Six lanes cross it."
RESPONSE = "The bridge opened in 1932. It is 400 metres long. Whales live nearby."
ASKED = {"source": SOURCE, "response": RESPONSE}


def untimed(report: Report) -> str:
    return replace(report, cost=replace(report.cost, seconds={})).to_json()


def local(source: Any, response: str, **options: Any) -> Report:
    detector = Detector(ObedientVerifier(), max_response=5000, **options)
    return detector.check(source, response)


def report_in(answer: dict[str, Any]) -> Report:
    return Report.from_json(json.dumps(answer["report"]))


def shown(report: Report) -> Any:
    return json.loads(json.dumps(report_tree(report)))


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def refused(answer: httpx.Response, code: str) -> str:
    assert answer.status_code == STATUS_BY_CODE[code], answer.text
    error = answer.json()["error"]
    assert set(error) == {"version", "code", "message", "request_id"}
    assert (error["version"], error["code"]) == (1, code)
    assert error["request_id"] == answer.headers["X-Request-Id"]
    return str(error["message"])
