"""halldetect hook: check the last answer of a coding agent when it stops."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from halldetect.agents.messages import read_messages
from halldetect.cli.exits import fail
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.parser import add_command, positive, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import TextArguments
from halldetect.errors import InputError, described
from halldetect.files.decoding import read_file
from halldetect.report import Verdict

if TYPE_CHECKING:
    from halldetect.agents.conversation import TurnReport

DESCRIPTION = """\
Read the stop event of an agent on standard input (Stop of Claude Code, AfterAgent of Gemini CLI)
and check what it said and called since the user's last message against the tool results in its
transcript. Claims that fail go to standard error: the agent reads them and continues, once only.
"""
EPILOG = """\
exit status: 0 the agent may stop, 2 claims fail, or with --fail closed the check failed,
1 the check failed (the agent may stop and the user sees why)
"""
BLOCK, WARN = 2, 1
_EVENTS = ("Stop", "SubagentStop", "AfterAgent")
_GEMINI = ("user", "gemini")
_OPTIONS = {
    "--fail": value(
        None, "if the check fails, let the agent stop (open) or not (closed)", str, "open",
        choices=("open", "closed"),
    ),
    "--time-limit": value("SECONDS", "stop checking after this time", positive, 45),
}  # fmt: skip


def add(commands: Any) -> None:
    """Add the command `hook` to the parser."""
    help = "check the last answer of a coding agent"
    groups = {"": _OPTIONS}
    add_detector_options(add_command(commands, "hook", run, help, DESCRIPTION, "", groups, EPILOG))


def run(arguments: argparse.Namespace) -> int:
    """Check the last turn of the event on standard input; return the status for the agent."""
    failed = BLOCK if arguments.fail == "closed" else WARN

    def give_up() -> None:
        # An orderly exit would wait for the model, or crash under it.
        os._exit(fail(f"no result after {arguments.time_limit} seconds", failed))

    limit = Timer(arguments.time_limit, give_up)
    limit.daemon = True
    limit.start()
    try:
        turns = _check(arguments)
    except Exception as error:
        return fail(f"the answer could not be checked: {described(error)}", failed)
    finally:
        limit.cancel()
    wrong = [turn.report for turn in turns if turn.report.verdict is Verdict.HALLUCINATED]
    if not wrong:
        for turn in turns:
            if turn.report.verdict is Verdict.UNCHECKABLE:
                fail(f"the answer could not be checked: {turn.report.reason}", 0)
        return 0
    why = "these statements are not backed by tool results. Correct them, or do what is missing:"
    fail(why, BLOCK)
    for report in wrong:
        for line in str(report).splitlines()[1:]:
            print(f"- {line}", file=sys.stderr)
    return BLOCK


def _check(arguments: argparse.Namespace) -> tuple[TurnReport, ...]:
    """Return the reports of the turns since the user's last message."""
    try:
        event = json.loads(TextArguments().read("-", "the event"))
    except ValueError as error:
        raise InputError(f"the event is not JSON: {error}") from None
    if not isinstance(event, dict) or event.get("hook_event_name") not in _EVENTS:
        raise InputError(f"the event must have hook_event_name: {', '.join(_EVENTS)}")
    if event.get("stop_hook_active") is True:  # this hook would run in circles
        return ()
    path = event.get("agent_transcript_path") or event.get("transcript_path")
    if not isinstance(path, str) or not path:
        raise InputError("the event has no transcript_path")
    messages = read_transcript(read_file(Path(path).expanduser(), "transcript"))
    texts = ["\n".join(item.texts).strip() for item in read_messages(messages)]
    last = event.get("last_assistant_message") or event.get("prompt_response")
    written = next((text for text in reversed(texts) if text), " ")
    # Gemini CLI sends all texts of the turn, one a line.
    if isinstance(last, str) and last.strip() and not f"\n{last.strip()}".endswith(f"\n{written}"):
        messages.append({"role": "assistant", "content": last})  # the transcript lags behind
    said = [at for at, text in enumerate(texts) if text and messages[at]["role"] == "user"]
    start = said[-1] if said else 0
    if not any(item["role"] == "assistant" for item in messages[start:]):
        return ()
    with ProgressDisplay(quiet=True) as display:
        return detector_for(arguments, display).check_conversation(messages, start=start).turns


def read_transcript(text: str) -> list[dict[str, Any]]:
    """Return the messages of a file: a JSON list, lines of messages, or an agent's transcript."""
    try:
        whole = json.loads(text)
        records = whole.get("messages", [whole]) if isinstance(whole, dict) else whole
        of_anthropic = isinstance(whole, dict) and {"messages", "system"} <= whole.keys()
        if isinstance(records, list) and of_anthropic:
            records = [{"role": "system", "content": whole["system"]}, *records]
    except RecursionError:
        raise InputError("the conversation is nested too deeply") from None
    except ValueError:
        records = list(_lines(text))
    if not isinstance(records, list):
        raise InputError("the conversation must be a list of messages")
    try:
        return _messages(records)
    except (AttributeError, KeyError, TypeError):
        raise InputError("the transcript has a form that halldetect does not know") from None


def _messages(records: list[Any]) -> list[dict[str, Any]]:
    messages: dict[object, list[Any]] = {}
    for number, record in enumerate(records):
        # A message without a role is an error; other records of a transcript are ignored.
        if not isinstance(record, dict) or "role" in record or [*record] == ["content"]:
            messages[number] = [record]
        elif "$rewindTo" in record:
            known = list(messages)
            at = known.index(record["$rewindTo"]) if record["$rewindTo"] in known else 0
            messages = {id: messages[id] for id in known[:at]}
        elif isinstance(record.get("$set"), dict) and "messages" in record["$set"]:
            kept = [item for item in record["$set"]["messages"] if item.get("type") in _GEMINI]
            messages = {item.get("id"): list(_gemini(item)) for item in kept}
        elif record.get("type") in _GEMINI and "message" not in record:
            messages[record.get("id", number)] = list(_gemini(record))
        elif record.get("type") in ("user", "assistant"):
            # Hints to the model, and in the main transcript the words of subagents.
            aside = record.get("isSidechain") and "agentId" not in record
            if not (aside or record.get("isMeta") or record.get("isApiErrorMessage")):
                messages[number] = [record["message"]]
    return [message for found in messages.values() for message in found]


def _lines(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):  # other line ends may be in a value
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"line {number} is not JSON: {error}") from None


def _gemini(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message of Gemini CLI and the results of its tools."""
    role = "user" if record["type"] == "user" else "assistant"
    calls, content = record.get("toolCalls") or [], record.get("content") or ""
    if isinstance(content, list):  # results come once more as words of the user
        content = [part for part in content if "functionResponse" not in part]
    yield {"role": role, "content": content, "tool_calls": calls}
    for call in calls:
        for part in call.get("result") or ():
            answer = part.get("functionResponse", part).get("response", part)
            if isinstance(answer, dict):
                answer = answer.get("output", answer)
            fields = {"tool_call_id": call.get("id"), "status": call.get("status")}
            yield {"role": "tool", "content": answer, **fields}
