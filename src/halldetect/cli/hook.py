"""halldetect hook: check the last answer of a coding agent when it stops."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.parser import add_command, positive, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import TextArguments, read_file
from halldetect.errors import InputError, described
from halldetect.report import Verdict

if TYPE_CHECKING:
    from halldetect.conversation import ConversationReport

DESCRIPTION = """\
Read the stop event of an agent on standard input (Stop of Claude Code, AfterAgent of Gemini CLI),
find its transcript, and check what it said and called since the user's last message against the
tool results. Claims that fail go to standard error with exit status 2: the agent continues and
reads them. An agent that already continued because of a hook may stop.
"""
EPILOG = """\
exit status: 0 the agent may stop, 2 claims fail, or with --fail closed the check failed,
1 the check failed (the agent may stop and the user sees why)
"""
BLOCK, WARN = 2, 1
_EVENTS = ("Stop", "SubagentStop", "AfterAgent")
_OPTIONS = {
    "--fail": value(
        None,
        "if the answer could not be checked: let the agent stop (open) or not (closed)",
        str,
        "open",
        choices=("open", "closed"),
    ),
    "--time-limit": value("SECONDS", "stop checking after this time", positive, 45),
}


def add(commands: Any) -> None:
    """Add the command `hook` to the parser."""
    help = "check the last answer of a coding agent"
    groups = {"": _OPTIONS}
    add_detector_options(add_command(commands, "hook", run, help, DESCRIPTION, "", groups, EPILOG))


def run(arguments: argparse.Namespace) -> int:
    """Check the last turn of the event on standard input; return the status for the agent."""
    found: Future[ConversationReport | None] = Future()

    def work() -> None:
        try:
            found.set_result(_check(arguments))
        except Exception as error:
            found.set_exception(error)

    Thread(target=work, daemon=True).start()
    try:
        report = found.result(timeout=arguments.time_limit)
    except TimeoutError:
        _say(f"no result after {arguments.time_limit} seconds")
        # An orderly exit would wait for the model, or crash under it.
        os._exit(BLOCK if arguments.fail == "closed" else WARN)
    except Exception as error:
        _say(f"the answer could not be checked: {described(error)}")
        return BLOCK if arguments.fail == "closed" else WARN
    if report is None or report.verdict is not Verdict.HALLUCINATED:
        return 0
    _say("these statements are not backed by tool results. Correct them, or do what is missing:")
    for turn in report.turns:
        for line in str(turn.report).splitlines()[1:]:
            print(f"- {line}", file=sys.stderr)
    return BLOCK


def _say(text: str) -> None:
    print(f"halldetect: {text}", file=sys.stderr, flush=True)


def _check(arguments: argparse.Namespace) -> ConversationReport | None:
    """Return the report of the turns since the user's last message; None if there are none."""
    try:
        event = json.loads(TextArguments().read("-", "the event"))
    except ValueError as error:
        raise InputError(f"the event is not JSON: {error}") from None
    if not isinstance(event, dict) or event.get("hook_event_name") not in _EVENTS:
        raise InputError(f"the event must have hook_event_name: {', '.join(_EVENTS)}")
    if event.get("stop_hook_active") is True:  # this hook would run in circles
        return None
    path = event.get("agent_transcript_path") or event.get("transcript_path")
    if not isinstance(path, str) or not path:
        raise InputError("the event has no transcript_path")
    messages = read_transcript(read_file(Path(path).expanduser(), "transcript"))
    last = event.get("last_assistant_message") or event.get("prompt_response")
    if isinstance(last, str) and last.strip() and _text(messages[-1:]) != last.strip():
        messages.append({"role": "assistant", "content": last})  # the transcript lags behind
    users = [at for at, item in enumerate(messages) if item["role"] == "user" and _text([item])]
    start = users[-1] if users else 0
    if not any(item["role"] == "assistant" for item in messages[start:]):
        return None
    with ProgressDisplay(quiet=True) as display:
        return detector_for(arguments, display).check_conversation(messages, start=start)


def _text(messages: list[dict[str, Any]]) -> str:
    content = messages[0].get("content") if messages else ""
    if isinstance(content, list):
        content = "\n".join(str(part["text"]) for part in content if "text" in part)
    return str(content or "").strip()


def read_transcript(text: str) -> list[dict[str, Any]]:
    """Return the messages of a file: a JSON list, lines of messages, or an agent's transcript."""
    try:
        whole = json.loads(text)
        records = whole.get("messages", [whole]) if isinstance(whole, dict) else whole
    except ValueError:
        records = list(_lines(text))
    if not isinstance(records, list):
        raise InputError("the conversation must be a list of messages")
    messages: dict[object, list[Any]] = {}
    for number, record in enumerate(records):
        if not isinstance(record, dict) or "role" in record:
            messages[number] = [record]
        elif "$rewindTo" in record:
            known = list(messages)
            at = known.index(record["$rewindTo"]) if record["$rewindTo"] in known else len(known)
            messages = {id: messages[id] for id in known[:at]}
        elif record.get("type") in ("user", "gemini") and "message" not in record:
            messages[record.get("id", number)] = list(_gemini(record))
        elif record.get("type") in ("user", "assistant") and not _is_aside(record):
            messages[number] = [record["message"]]
    return [message for found in messages.values() for message in found]


def _lines(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"line {number} is not JSON: {error}") from None


def _is_aside(record: dict[str, Any]) -> bool:
    """Return True for a line of Claude Code outside the conversation, such as a subagent's."""
    return any(record.get(name) for name in ("isMeta", "isApiErrorMessage")) or (
        bool(record.get("isSidechain")) and "agentId" not in record
    )


def _gemini(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message of Gemini CLI and the results of its tools."""
    content = record.get("content") or []
    parts = content if isinstance(content, list) else [content]
    texts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "text" if "text" in part else ", ".join(part), **part}
        for part in parts
    ]
    calls = record.get("toolCalls") or []
    message = {"role": "user" if record["type"] == "user" else "assistant", "content": texts}
    yield message | {"tool_calls": calls} if calls else message
    for call in calls:
        for part in call.get("result") or ():
            response = part.get("functionResponse", part).get("response", part)
            answer = response.get("output", response) if isinstance(response, dict) else response
            failed = "error" if call.get("status") == "error" else None
            yield {"role": "tool", "tool_call_id": call.get("id"), "content": answer,
                   "status": failed}  # fmt: skip
