"""halldetect serve, tokens and mcp: the HTTP service, its access tokens, the server of tools."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from halldetect.cli.options import (
    add_detector_options,
    configuration_for,
    detector_for,
    given_fields,
)
from halldetect.cli.output import print_result
from halldetect.cli.parser import Options, Settings, add_command, file, switch, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import import_extra
from halldetect.machine.store import home
from halldetect_serve.access import create_token
from halldetect_serve.proxy.rag_prompt import SourcePlaces
from halldetect_serve.settings import (
    ACTIONS,
    UPSTREAM_KEY,
    CheckSettings,
    Limits,
    ServiceSettings,
    StorageSettings,
    UpstreamSettings,
)

SERVE = """\
Serve an HTTP API and a page for checking texts. Without --auth only programs on this machine can
connect. Nothing is stored unless --store is given and a request asks for it.
"""
TOKENS = """\
The tokens of halldetect serve --auth. The file has a line for each, with its name, its scopes and
its digest; delete the line to revoke the token.
"""
MCP = """\
Serve the tools check, repair and explain over the Model Context Protocol, on standard input and
output. Needs the extra `mcp`.
"""


def _limit(field: str, help: str) -> Settings:
    default = getattr(Limits(), field)
    return {**value("N", help, type(default), default), "dest": field}


_SCOPES = ("read", "check", "admin")
_SCOPE = value(
    None, "admin includes the others (default: read, check)", choices=_SCOPES, repeatable=True
)
_SOURCE_BETWEEN = value(
    None,
    "the text between these words in a prompt is a source (default: tool messages, or the context "
    "in the usual RAG prompts)",
    repeatable=True,
)
_TOKENS_FILE = {"--tokens": file("the file with the tokens (default: tokens in HALLDETECT_HOME)")}
_OPTIONS: dict[str, Options] = {
    "where and for whom": {
        "--host": value("ADDRESS", "address to listen on", default="127.0.0.1"),
        "--port": value("N", "port; 0 is any free one", int, 8000),
        "--auth": switch("require a token (see halldetect tokens)"),
        **_TOKENS_FILE,
        "--allow-origin": value("ORIGIN", "a site whose scripts may call it", repeatable=True),
    },
    "stored reports": {
        "--database": value(
            "URL",
            "sqlite:////path/file.db or postgresql://... (default: serve.db in HALLDETECT_HOME)",
        ),
        "--store": switch("keep the reports of requests that ask for it"),
        "--keep-days": value("N", "delete reports older than N days", float),
        "--keep-reports": value("N", "keep only the N newest reports", int),
    },
    "limits": {
        "--max-body": _limit("max_body", "bytes per request"),
        "--max-items": _limit("max_items", "items per batch request"),
        "--queue": _limit("queue", "pairs that may wait; more are refused with 429"),
        "--max-batch": _limit("batch", "pairs that are checked together"),
        "--timeout": _limit("timeout", "seconds that a check may take, waiting included"),
        "--read-timeout": _limit("read_timeout", "seconds that a request may take to arrive"),
        "--drain": _limit("drain", "seconds to finish running requests after a signal to stop"),
        "--rate": _limit("rate", "requests per minute and token; 0 means no limit"),
    },
    "the guarding proxy, POST /v1/chat/completions": {
        "--upstream": value(
            "URL",
            "an OpenAI-compatible server, such as http://127.0.0.1:8080/v1; its key is read from "
            "HALLDETECT_UPSTREAM_API_KEY",
        ),
        "--on-hallucination": value(
            None, "what to do with a hallucinated answer", str, "annotate", choices=ACTIONS
        ),
        "--block-unchecked": switch("also block answers that could not be checked"),
        "--source-between": {**_SOURCE_BETWEEN, "nargs": 2, "metavar": ("BEGIN", "END")},
        "--source-path": value(
            "NAME.NAME", "the field with the sources, such as metadata.documents.text"
        ),
        "--upstream-timeout": value("N", "seconds that an answer may take", float, 120.0),
    },
    "what a request may choose besides the options of a check": {
        "--offer-verifier": value("NAME", "a further verifier", repeatable=True),
    },
}


def add(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    help = "an HTTP API and a page"
    add_detector_options(add_command(commands, "serve", run, help, SERVE, "", _OPTIONS))
    tokens = add_command(commands, "tokens", None, "tokens for the service", TOKENS)
    actions = tokens.add_subparsers(metavar="ACTION", required=True)
    name = {"metavar": "NAME", "help": "who it is for"}
    create = {"": {"name": name, "--scope": _SCOPE, **_TOKENS_FILE}}
    add_command(actions, "create", run_create, "make a token and show it once", groups=create)
    help = "serve assistants over the Model Context Protocol"
    add_detector_options(add_command(commands, "mcp", run_mcp, help, MCP, ""))


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal stops the process."""
    named = ("halldetect_serve.server", "halldetect serve", "serve")
    server = import_extra(*named, ModuleNotFoundError)
    server.run_server(settings_for(arguments))
    return 0


def settings_for(arguments: argparse.Namespace) -> ServiceSettings:
    """Return the settings of the service for the options of the command line."""
    database = arguments.database or f"sqlite:///{_home() / 'serve.db'}"
    return ServiceSettings(
        StorageSettings(database, arguments.store, arguments.keep_days, arguments.keep_reports),
        host=arguments.host,
        port=arguments.port,
        auth=arguments.auth,
        tokens=arguments.tokens or _home() / "tokens",
        checks=CheckSettings(configuration_for(arguments), tuple(arguments.offer_verifier)),
        limits=Limits(**given_fields(arguments, Limits)),
        upstream=_upstream(arguments),
        origins=tuple(arguments.allow_origin),
    )


def _home() -> Path:
    folder = home()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _upstream(arguments: argparse.Namespace) -> UpstreamSettings | None:
    markers = tuple((begin, end) for begin, end in arguments.source_between)
    places = SourcePlaces(markers, arguments.source_path)  # checks them without an upstream too
    if arguments.upstream is None:
        return None
    return UpstreamSettings(
        arguments.upstream,
        arguments.on_hallucination,
        arguments.block_unchecked,
        arguments.upstream_timeout,
        key=os.environ.get(UPSTREAM_KEY, "").strip(),
        sources=places,
    )


def run_create(arguments: argparse.Namespace) -> int:
    """Create a token and print it."""
    path = arguments.tokens or _home() / "tokens"
    print_result(f"{create_token(path, arguments.name, arguments.scope or ('read', 'check'))}\n")
    return 0


def run_mcp(arguments: argparse.Namespace) -> int:
    """Serve until the client disconnects."""
    named = ("halldetect.integrations.mcp_server", "the MCP server", "mcp")
    mcp = import_extra(*named, ModuleNotFoundError)
    mcp.build_server(detector_for(arguments, ProgressDisplay(quiet=True))).run("stdio")
    return 0
