"""What the worker does with a batch that was interrupted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from halldetect.config import Configuration
from halldetect.inputs import Pair
from halldetect.report import Report
from halldetect_serve.settings import Limits
from halldetect_serve.worker.detectors import BatchAbandoned
from halldetect_serve.worker.job_queue import WorkItem
from halldetect_serve.worker.process import CheckWorker, _RunningBatch, _without_interruptions
from tests.support.report_samples import town


def timed(**seconds: float) -> Report:
    report = town()
    return replace(report, cost=replace(report.cost, seconds=seconds))


def test_the_time_of_what_was_checked_in_between_is_not_that_of_a_report() -> None:
    reports = [timed(extract=1.0, verify=6.0), timed(extract=1.0, verify=2.0)]
    running = _RunningBatch([], {"verify": 4.0, "fetch": 9.0})
    found = _without_interruptions(reports, running)
    assert [report.cost.seconds for report in found] == [
        {"extract": 1.0, "verify": 3.0},
        {"extract": 1.0, "verify": 1.0},
    ]
    assert _without_interruptions(reports, _RunningBatch([])) == reports


def test_a_verifier_that_is_being_converted_is_not_interrupted() -> None:
    worker = CheckWorker(Limits())
    unwanted = WorkItem(b"", Pair("a", "b"), Configuration(), False, 0, size=1, rank=1)
    worker._running.append(_RunningBatch([unwanted]))
    worker._on_progress("convert", 1, 2)
    with pytest.raises(BatchAbandoned):
        worker._on_progress("verify", 1, 2)
