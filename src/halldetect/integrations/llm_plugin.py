"""The plug-in of the `llm` tool: the command `llm ground` and a tool for models."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import llm

from halldetect.integrations.checker import Checker

_LAST_RESPONSE = "SELECT response FROM responses ORDER BY datetime_utc DESC LIMIT 1"
_SOURCE_HELP = "A file that the response should be faithful to; may be repeated."
_checker = Checker()


@llm.hookimpl
def register_commands(cli: click.Group) -> None:
    """Add `llm ground`."""
    path = click.Path(exists=True, dir_okay=False, path_type=Path)

    @cli.command(name="ground")
    @click.argument("response", required=False)
    @click.option(
        "-s", "--source", "sources", multiple=True, required=True, type=path, help=_SOURCE_HELP
    )
    @click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
    def ground(response: str | None, sources: tuple[Path, ...], as_json: bool) -> None:
        """Check a response against its sources.

        RESPONSE is the text, or - for standard input; without it, the last response in the logs
        is checked. Exits with 1 if it is not faithful, 3 if it could not be checked.
        """
        from halldetect.cli.exits import OF_VERDICT
        from halldetect.cli.text_arguments import read_file

        text = sys.stdin.read() if response == "-" else response
        documents = [
            {"id": str(path), "text": read_file(path, "source", evidence=True)} for path in sources
        ]
        report = _checker.check(documents, _last_response() if text is None else text)
        click.echo(report.to_json() if as_json else str(report))
        raise SystemExit(OF_VERDICT[report.verdict])


@llm.hookimpl
def register_tools(register: Any) -> None:
    """Offer the check to models that use tools."""
    register(check_grounding)


def check_grounding(source: str, response: str) -> str:
    """Say whether every claim of a response is backed by a source, and which are not."""
    return str(_checker.check(source, response))


def _last_response() -> str:
    path = Path(llm.user_dir()) / "logs.db"
    if path.exists():
        with closing(sqlite3.connect(path)) as logs:
            row = logs.execute(_LAST_RESPONSE).fetchone()
        if row is not None:
            return str(row[0])
    raise click.ClickException("there is no response in the logs: pass one, or - to read it")
