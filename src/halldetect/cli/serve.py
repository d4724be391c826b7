"""halldetect serve, halldetect tokens: the HTTP service and its access tokens."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.options import add_detector_options, configuration_for
from halldetect.cli.output import print_result
from halldetect.errors import MissingExtra

if TYPE_CHECKING:
    from halldetect_serve.settings import CheckSettings, ServiceSettings, UpstreamSettings


def add(commands: Any) -> None:
    """Add the command `serve` to the parser."""
    parser = commands.add_parser(
        "serve",
        help="an HTTP API and a page",
        description="Serve an HTTP API and a page for checking texts. Without --auth only "
        "programs on this machine can connect. Nothing is stored unless --store is given and a "
        "request asks for it.",
        usage="halldetect serve [options]",
        allow_abbrev=False,
    )
    _add_serving(parser.add_argument_group("where and for whom"))
    _add_storing(parser.add_argument_group("stored reports"))
    _add_limits(parser.add_argument_group("limits"))
    _add_proxy(parser.add_argument_group("the guarding proxy, POST /v1/chat/completions"))
    add_detector_options(parser)
    parser.add_argument_group("what a request may choose besides the above").add_argument(
        "--offer-verifier",
        action="append",
        default=[],
        metavar="NAME",
        help="a further verifier; repeatable",
    )
    parser.add_argument_group("repair, POST /v1/repair").add_argument(
        "--rewriter",
        metavar="NAME",
        help="a language model that may rewrite sentences, as for halldetect repair",
    )
    parser.set_defaults(run=run)


def _add_serving(group: Any) -> None:
    add = group.add_argument
    add(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1)",
    )
    add(
        "--port",
        type=int,
        default=8000,
        metavar="N",
        help="port; 0 is any free one (default: 8000)",
    )
    add("--auth", action="store_true", help="require a token (see halldetect tokens)")
    _add_tokens_file(group)
    add(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a web site whose scripts may call the API; repeatable (default: none)",
    )
    add("--log-text", action="store_true", help="write sources and responses to the log")


def _add_storing(group: Any) -> None:
    add = group.add_argument
    add(
        "--database",
        metavar="URL",
        help="sqlite:////path/file.db or postgresql://... (default: serve.db in HALLDETECT_HOME)",
    )
    add("--store", action="store_true", help="keep the reports of requests that ask for it")
    add("--keep-days", type=float, metavar="N", help="delete reports older than N days")
    add("--keep-reports", type=int, metavar="N", help="keep only the N newest reports")


def _add_limits(group: Any) -> None:
    from halldetect_serve.settings import Limits

    defaults = Limits()

    def add(name: str, field: str, help: str) -> None:
        default = getattr(defaults, field)
        kind = type(default)
        group.add_argument(
            name, type=kind, default=default, metavar="N", help=f"{help} (default: {default})"
        )

    add("--max-body", "max_body", "bytes per request")
    add("--max-items", "max_items", "items per batch request")
    add("--queue", "queue", "pairs that may wait; more are refused with 429")
    add("--max-batch", "batch", "pairs that are checked together")
    add("--timeout", "timeout", "seconds that a check may take, waiting included")
    add("--read-timeout", "read_timeout", "seconds that a request may take to arrive")
    add("--drain", "drain", "seconds to finish running requests after a signal to stop")
    add("--rate", "rate", "requests per minute and token; 0 means no limit")
    add("--report-memory", "report_memory", "bytes of reports kept in memory for equal requests")


def _add_proxy(group: Any) -> None:
    add = group.add_argument
    add(
        "--upstream",
        metavar="URL",
        help="an OpenAI-compatible server, such as http://127.0.0.1:8080/v1; its key is read "
        "from HALLDETECT_UPSTREAM_API_KEY",
    )
    add(
        "--on-hallucination",
        choices=("annotate", "block", "retry", "repair"),
        default="annotate",
        help="what to do with a hallucinated answer (default: annotate)",
    )
    add(
        "--retries",
        type=int,
        default=2,
        metavar="N",
        help="how often to ask again before it blocks (default: 2)",
    )
    add(
        "--block-unchecked",
        action="store_true",
        help="also block answers that could not be checked",
    )
    add(
        "--source-between",
        action="append",
        default=[],
        nargs=2,
        metavar=("BEGIN", "END"),
        help="the text between these words in a prompt is a source; repeatable (default: tool "
        "messages, or the context in the usual RAG prompts)",
    )
    add(
        "--source-path",
        metavar="NAME.NAME",
        help="the field of the request that has the sources, such as metadata.documents.text",
    )
    add(
        "--upstream-timeout",
        type=float,
        default=120.0,
        metavar="N",
        help="seconds that an answer may take (default: 120)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal stops the process."""
    try:
        from halldetect_serve.server import run_server
    except ModuleNotFoundError as error:
        raise MissingExtra("halldetect serve", "serve") from error
    run_server(settings_for(arguments))
    return 0


def settings_for(arguments: argparse.Namespace) -> ServiceSettings:
    """Return the settings of the service for the options of the command line."""
    from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings

    return ServiceSettings(
        storage=StorageSettings(
            arguments.database or f"sqlite:///{_home() / 'serve.db'}",
            reports=arguments.store,
            keep_days=arguments.keep_days,
            keep_reports=arguments.keep_reports,
        ),
        host=arguments.host,
        port=arguments.port,
        auth=arguments.auth,
        tokens=arguments.tokens or _home() / "tokens",
        checks=_check_settings(arguments),
        limits=Limits(
            max_body=arguments.max_body,
            max_items=arguments.max_items,
            queue=arguments.queue,
            batch=arguments.max_batch,
            timeout=arguments.timeout,
            read_timeout=arguments.read_timeout,
            drain=arguments.drain,
            rate=arguments.rate,
            report_memory=arguments.report_memory,
        ),
        upstream=_upstream(arguments),
        origins=tuple(arguments.allow_origin),
        log_text=arguments.log_text,
    )


def _home() -> Path:
    from halldetect.models import home

    folder = home()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _check_settings(arguments: argparse.Namespace) -> CheckSettings:
    from halldetect_serve.settings import CheckSettings

    return CheckSettings(
        configuration_for(arguments),
        more_verifiers=tuple(arguments.offer_verifier),
        rewriter=arguments.rewriter,
    )


def _upstream(arguments: argparse.Namespace) -> UpstreamSettings | None:
    from halldetect_serve.proxy.rag_prompt import SourcePlaces
    from halldetect_serve.settings import UPSTREAM_KEY, UpstreamSettings

    markers = tuple((begin, end) for begin, end in arguments.source_between)
    places = SourcePlaces(markers, arguments.source_path)
    if arguments.upstream is None:
        return None
    return UpstreamSettings(
        arguments.upstream,
        action=arguments.on_hallucination,
        retries=arguments.retries,
        block_unchecked=arguments.block_unchecked,
        timeout=arguments.upstream_timeout,
        key=os.environ.get(UPSTREAM_KEY, "").strip(),
        sources=places,
    )


def _add_tokens_file(group: Any) -> None:
    group.add_argument(
        "--tokens",
        type=Path,
        metavar="FILE",
        help="the file with the tokens (default: tokens in HALLDETECT_HOME)",
    )


def add_tokens(commands: Any) -> None:
    """Add the command `tokens` to the parser."""
    parser = commands.add_parser(
        "tokens",
        help="tokens for the service",
        description="The tokens of halldetect serve --auth. The file has a line for each, with "
        "its name, its scopes and its digest; delete the line to revoke the token.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a token and show it once", allow_abbrev=False)
    create.add_argument("name", metavar="NAME", help="who it is for")
    create.add_argument(
        "--scope",
        action="append",
        choices=("read", "check", "admin"),
        help="repeatable; admin includes the others; default: read and check",
    )
    _add_tokens_file(create)
    create.set_defaults(run=run_create)


def run_create(arguments: argparse.Namespace) -> int:
    """Create a token and print it."""
    from halldetect_serve.access import create_token

    file = arguments.tokens or _home() / "tokens"
    print_result(f"{create_token(file, arguments.name, arguments.scope or ('read', 'check'))}\n")
    return 0
