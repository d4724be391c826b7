"""halldetect mcp: the server for assistants that speak the Model Context Protocol."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.parser import add_command
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import ConfigurationError, InputError

DESCRIPTION = """\
Serve the tools check, repair and explain over the Model Context Protocol: over standard input
and output, or with --http over streamable HTTP at http://HOST:PORT/mcp. Needs the extra `mcp`.
"""


def add(commands: Any) -> None:
    """Add the command `mcp` to the parser."""
    usage = "halldetect mcp [--http [HOST:]PORT] [options]"
    help = "serve assistants over the Model Context Protocol"
    parser = add_command(commands, "mcp", run, help, DESCRIPTION, usage=usage)
    listen = "listen there, on this machine only, instead of on standard input"
    parser.add_argument("--http", type=_address, metavar="[HOST:]PORT", help=listen)
    add_detector_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client disconnects, or with --http until interrupted."""
    try:
        from halldetect.integrations.mcp_server import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise ConfigurationError("the MCP server needs pip install 'halldetect[mcp]'") from None
    detector = detector_for(arguments, ProgressDisplay(quiet=True))
    if arguments.http is None:
        serve_stdio(detector)
        return 0
    host, port = arguments.http
    place = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"MCP over HTTP at http://{place}:{port}/mcp\n")
    try:
        serve_http(host, port, detector)
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return 0


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not (port.isdecimal() and 0 < int(port) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a port nor HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)
