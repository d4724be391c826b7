"""MCP with the official client, OpenTelemetry with its SDK, and the plug-in of llm."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from tests.integrations.cases import CASES, Case, detector
from tests.support.paths import ROOT

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
HALLDETECT = [sys.executable, "-m", "halldetect"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
LEAVES = "The boat leaves at 6."


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_mcp_check_says_what_reports_say(case: Case) -> None:
    from mcp import Client

    from halldetect.integrations.mcp_server import build_server

    async def ask() -> Any:
        async with Client(build_server(detector())) as client:
            asked = {"sources": list(case.sources), "response": case.response}
            return await client.call_tool("check", asked)

    found = asyncio.run(ask()).structured_content
    assert found["ok"] is bool(case.passed)
    assert (found["verdict"] == "uncheckable") is (case.passed is None)
    assert all(text in found["summary"] for text in case.reason)


async def use_tools(server: Any) -> None:
    from mcp import Client

    async with Client(server) as client:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == {"check", "repair", "explain"}
        wrong = {"sources": [LEAVES], "response": "The boat leaves at 9."}
        checked = (await client.call_tool("check", wrong)).structured_content
        assert checked["verdict"] == "hallucinated"
        repaired = (await client.call_tool("repair", wrong)).structured_content
        assert repaired["text"] is None or "9" not in repaired["text"]
        claim = {"sources": [LEAVES], "claim": "The boat leaves at 9."}
        explained = (await client.call_tool("explain", claim)).structured_content
        assert explained["status"] == "contradicted"
        assert explained["passage"]["text"] == LEAVES


def test_the_mcp_server_over_stdio() -> None:
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=HALLDETECT[0], args=[*HALLDETECT[1:], "mcp"], env=ENVIRONMENT
    )
    asyncio.run(use_tools(stdio_client(server)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_opentelemetry_events_belong_to_the_response_span(case: Case) -> None:
    from opentelemetry import metrics, trace
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider

    from halldetect.integrations import opentelemetry as ours

    events, reader = InMemoryLogRecordExporter(), InMemoryMetricReader()
    logs = LoggerProvider()
    logs.add_log_record_processor(SimpleLogRecordProcessor(events))
    # The providers of a process can be set once; the test replaces them.
    for module, name in ((trace, "_TRACER_PROVIDER"), (metrics._internal, "_METER_PROVIDER")):
        setattr(module, name, None)
    from opentelemetry._logs import _internal

    _internal._LOGGER_PROVIDER = None
    _internal._LOGGER_PROVIDER_SET_ONCE = type(_internal._LOGGER_PROVIDER_SET_ONCE)()
    metrics._internal._METER_PROVIDER_SET_ONCE = type(metrics._internal._METER_PROVIDER_SET_ONCE)()
    set_logger_provider(logs)
    metrics.set_meter_provider(MeterProvider([reader]))
    ours._instruments.cache_clear()
    tracer = TracerProvider().get_tracer("application")

    with tracer.start_as_current_span("chat") as span:
        report = detector().check(list(case.sources), case.response)
        ours.emit(report, response_id="r-1", per_claim=True)
    overall, *claims = (item.log_record for item in events.get_finished_logs())
    assert overall.event_name == "gen_ai.evaluation.result"
    assert overall.trace_id == span.get_span_context().trace_id
    assert overall.span_id == span.get_span_context().span_id
    found = dict(overall.attributes)
    assert found["gen_ai.response.id"] == "r-1"
    assert found["gen_ai.evaluation.score.label"] == report.verdict
    assert all(text in found["gen_ai.evaluation.explanation"] for text in case.reason)
    assert len(claims) == len(report.claims)
    if case.passed is None:
        assert found["error.type"] == "uncheckable"
        assert "gen_ai.evaluation.score.value" not in found
    else:
        assert (found["gen_ai.evaluation.score.value"] > 0.5) is case.passed
    names = {
        metric.name
        for resource in reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if not metric.name.startswith("otel.")  # some versions of the SDK count themselves
    }
    assert names == {"halldetect.checks", "halldetect.check.duration"}
