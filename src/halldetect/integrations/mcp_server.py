"""The MCP server: the tools `check`, `repair` and `explain` for assistants.

The protocol uses standard output, so nothing here prints.
"""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer

from halldetect import __version__
from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, metadata

INSTRUCTIONS = (
    "Check texts against the sources they were written from before you rely on them. A verdict of "
    "uncheckable means that nothing is known: do not treat it as faithful."
)


def build_server(detector: Detector | None = None) -> MCPServer[Any]:
    """Return the server with its tools."""
    checker = Checker(detector)
    server: MCPServer[Any] = MCPServer(
        "halldetect", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )

    @server.tool()
    def check(sources: list[str], response: str, question: str | None = None) -> dict[str, Any]:
        """Say whether a response is faithful to its sources: verdict, claims and passages."""
        report = checker.check(sources, response, question)
        return {**metadata(report), "ok": report.ok, "summary": str(report)}

    @server.tool()
    def repair(sources: list[str], response: str) -> dict[str, Any]:
        """Correct or remove what the sources do not support; the new text has been checked."""
        with checker.lock:
            repaired = checker.detector.repair(sources, response).to_dict()
        fields = ("action", "before", "after", "why")
        changes = [{name: change[name] for name in fields} for change in repaired["changes"]]
        return {name: repaired[name] for name in ("outcome", "text", "reason")} | {
            "changes": changes
        }

    @server.tool()
    def explain(sources: list[str], claim: str) -> dict[str, Any]:
        """Judge a single claim against the sources, with the passage that decides."""
        with checker.lock:
            ((found,),) = checker.detector.judge([(sources, [claim])])
        proof = found.proof
        return {
            "status": found.status.value,
            "reason": found.reason,
            "support": found.support,
            "contradiction": found.contradiction,
            "passage": proof and {"document": proof.document, "text": proof.text},
        }

    return server
