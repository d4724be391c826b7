"""Conversations: forms of messages, sources, tool calls, actions, corrections, the hook."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import halldetect
from benchmarks.suites import CONVERSATIONS, suite_rows
from halldetect.agents import rules
from halldetect.agents.conversation import ConversationReport, read_turns, tool_results
from halldetect.batch.job import Job
from halldetect.batch.local import run_local
from halldetect.cli import main
from halldetect.cli.hook import read_transcript
from halldetect.detector import Detector
from halldetect.errors import InputError
from halldetect.facts import quantities
from halldetect.inputs import Conversation, Pair
from halldetect.integrations.checker import Checker
from halldetect.protocols import Event
from halldetect.reading import overlap, sources
from halldetect.report import ClaimReport, ErrorKind, Report, Status, Verdict
from halldetect_serve.proxy.rag_prompt import request_sources
from tests.support.fakes import OverlapVerifier, use_overlap_verifier
from tests.support.paths import ROOT

AGENTS = ROOT / "tests" / "data" / "agents"
Message = dict[str, Any]


def long_conversation(results: int) -> list[Message]:
    """Return a conversation in which each result of a tool has an answer."""
    messages: list[Message] = [{"role": "user", "content": "Please list my orders."}]
    for number in range(4000, 4000 + results):
        call = {"id": str(number), "name": "get_order", "args": {"page": number}}
        name = f"Lena {number}"
        order = {"order": number, "name": name, "total": number / 8, "state": "sent"}
        messages += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": str(number), "content": json.dumps(order)},
            {"role": "assistant", "content": f"Order {number} is sent to {name}."},
        ]
    return messages


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def called(tool: str, **arguments: Any) -> Message:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"id": f"call-{tool}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(tool: str, content: Any) -> Message:
    return {"role": "tool", "tool_call_id": f"call-{tool}", "content": content}


def check(*messages: Message, documents: Any = None) -> ConversationReport:
    return Detector(OverlapVerifier()).check_conversation(list(messages), documents=documents)


def last(*messages: Message, documents: Any = None) -> Report:
    return check(*messages, documents=documents).turns[-1].report


def only(report: Report) -> ClaimReport:
    (claim,) = report.claims
    return claim


ORDER = [user("Where is my order 4417?"), called("get_order", order_id="4417")]
ANSWER = {"order_id": "4417", "carrier": "DHL", "delivery": "Tuesday"}


def in_anthropic_form() -> list[Message]:
    use = {"type": "tool_use", "id": "t1", "name": "get_order", "input": {"order_id": "4417"}}
    given = {"type": "tool_result", "tool_use_id": "t1"}
    parts = [{"type": "text", "text": json.dumps(ANSWER)}]
    return [
        ORDER[0],
        {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, use]},
        {"role": "user", "content": [{**given, "content": parts}]},
    ]


@pytest.mark.parametrize(
    "messages",
    [
        [*ORDER, result("get_order", json.dumps(ANSWER))],
        [*ORDER, result("get_order", ANSWER)],
        in_anthropic_form(),
        [
            ORDER[0],
            {"role": "ai", "tool_calls": [{"name": "get_order", "args": {"order_id": "4417"}}]},
            {"role": "tool", "name": "get_order", "content": json.dumps(ANSWER)},
        ],
    ],
    ids=["openai", "json result", "anthropic", "name and args"],
)
def test_every_form_gives_the_same_sources(messages: list[Message]) -> None:
    found = check(*messages, said("The carrier DHL has it."))
    assert [turn.index for turn in found.turns] == [1, 3]
    report = found.turns[1].report
    assert report.document_names == ("user turn 1", "tool get_order #1")
    assert report.documents[1] == f'{{"order_id": "4417"}}\n{json.dumps(ANSWER)}'
    argument = found.turns[0].report.claims[-1]
    assert (argument.text, argument.status) == ("order_id: 4417", Status.SUPPORTED)
    assert argument.proof is not None
    assert argument.proof.text == "4417"
    assert argument.span is not None
    assert argument.span.cut(found.turns[0].report.response) == argument.text


def test_sources_are_named_and_grow_with_the_turns() -> None:
    found = check(
        {"role": "system", "content": "The shop closes at noon."},
        user("My cat is grey."),
        said("Your cat is grey."),
        called("zoo"),
        result("zoo", "Lions sleep."),
        called("zoo"),
        result("zoo", "Apes climb."),
        said("Apes climb, it seems."),
        documents=["Bees fly.", "Ants walk."],
    )
    names = [turn.report.document_names for turn in found.turns]
    assert names[0] == ("document 1", "document 2", "system message 1", "user turn 1")
    assert names[-1] == (*names[0], "tool zoo #1", "tool zoo #2")


def test_words_of_the_user_are_given_and_those_of_the_assistant_are_not() -> None:
    given = user("I moved to the small town of Graz in May.")
    report = last(given, said("You moved to the town of Graz in May."))
    assert (only(report).status, only(report).reason) == (Status.SUPPORTED, "the user said so")
    invented = said("The tower in the old town was painted blue.")
    report = last(given, invented, user("Thanks."), said("The tower of the town was painted blue."))
    assert only(report).status is Status.UNSUPPORTED
    assert not any("tower" in text for text in report.documents)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("My cat is grey.", "Your cat is grey."),
        ("I'm ill and my son was with me.", "You are ill and your son was with you."),
        ("So I was late, and our bus left.", "So you were late, and your bus left."),
        ("The US team has I.O.U. notes.", "The US team has I.O.U. notes."),
    ],
)
def test_user_is_read_in_the_second_person(text: str, read: str) -> None:
    assert rules.readdressed(text) == read
    report = last(user(text), said(read))
    assert report.documents == (text,)


def test_question_of_the_user_is_not_a_statement() -> None:
    report = last(user("Is the big museum open on Sunday?"), said("The big museum is open Sunday."))
    claim = only(report)
    assert (claim.status, claim.reason) == (Status.UNSUPPORTED, "nothing before this turn says so")
    assert report.verdict is Verdict.HALLUCINATED
    assert only(last(user("Weather in Oslo?"), said("The weather in Oslo is cold."))).failing


def test_words_of_user_and_tool_together_are_not_said_by_the_user() -> None:
    given = [user("Anna moved to Graz."), called("look_up"), result("look_up", "Bob likes tea.")]
    claim = only(last(*given, said("Anna moved to Graz and Bob likes tea.")))
    assert (claim.status, claim.reason) == (Status.SUPPORTED, None)


@pytest.mark.parametrize(
    ("key", "value", "before", "found"),
    [
        ("order_id", "77102", "order 77120", False),
        ("order_id", "B-3301", "order b3301", True),
        ("iban", "AT48 3200 0000 9876", "IBAN AT48 3200 0000 1234", False),
        ("amount", 39.8, "two lamps for 19.90 each", True),
        ("amount", 49.9, "a kettle for 34.90", False),
        ("amount", 30.4, "lamps for 10 and 20", False),
        ("amount", 30, "lamps for 10 and 20", True),
        ("quantity", 2, "two boxes", True),
        ("date", "2026-05-04", "on 4 May", True),
        ("date", "2026-05-04", "on 5 May", False),
        ("date", "2026-05-04", "on 5/4", True),
        ("date", "2026-05-04", "on 04.05.", True),
        ("date", "2026-05-04", "tomorrow", True),
        ("email", "lou@petrel.example", "mail lou@petrel.example", True),
        ("file_path", "/home/me/app/io.py", "README.md io.py", True),
        ("file_path", "config/database.yml", "README.md io.py", False),
    ],
)
def test_value_of_a_tool_call(key: str, value: Any, before: str, found: bool) -> None:
    report = last(user(f"Please use {before}."), called("handle", **{key: value}))
    claim = only(report)
    assert claim.status is (Status.SUPPORTED if found else Status.UNSUPPORTED)
    assert (claim.support, report.graded) == ((1.0, 0.0) if found else (0.0, 1.0))
    if not found:
        assert report.verdict is Verdict.HALLUCINATED
        assert claim.error is not None
        assert (claim.error.kind, claim.error.claim_words) == (ErrorKind.INVENTED, str(value))
        assert "occurs in nothing before" in str(claim.reason)


@pytest.mark.parametrize(
    ("tool", "key", "value"),
    [
        ("search", "query", "orders of 2019-04-05"),
        ("list", "limit", 500),
        ("list", "active", True),
        ("write_file", "path", "notes/new.md"),
        ("Bash", "command", "ls /tmp/9912"),
        ("pay", "amount", 1),
        ("translate", "language", "en-US-2024"),
    ],
)
def test_free_choice_in_a_tool_call_is_not_checked(tool: str, key: str, value: Any) -> None:
    report = last(user("Please help me."), called(tool, **{key: value}))
    assert report.claims == ()
    assert report.verdict is Verdict.UNCHECKABLE


def test_text_in_an_argument_is_checked_as_claims() -> None:
    message = user("Tell Anna that the workshop moved to 4 May.")
    wrong = called("post", to="Anna", nested={"body": "The workshop moved to 9 May. It is free."})
    report = last(message, wrong)
    texts = [claim.text for claim in report.claims]
    assert texts == ["The workshop moved to 9 May.", "It is free."]
    assert all(claim.failing for claim in report.claims)
    sent = [message, wrong, result("post", {"status": "sent"})]
    assert not any("9 May" in text for text in last(*sent, said("Anna knows it.")).documents)


SEND = [
    user("Please mail the plan to Anna."),
    called("send_email", to="Anna", subject="plan"),
    result("send_email", {"status": "sent"}),
]
FAILED = [*SEND[:2], result("send_email", {"status": "failed"})]
PENDING = [*SEND[:2], result("send_email", {"status": "pending"})]
QUEUED = [*SEND[:2], result("send_email", "The mail is queued.")]
TESTS = [user("Check it."), called("Bash", command="pytest -q")]
# Two calls of one tool, of which the second fails.
TWO = [
    user("Cancel orders 1001 and 1002. Tell bo@example.org and al@example.org."),
    called("cancel_order", order="1001"),
    result("cancel_order", {"status": "cancelled"}),
    called("cancel_order", order="1002"),
    result("cancel_order", {"error": "already shipped"}),
    called("notify", to="bo@example.org"),
    result("notify", "ok"),
]


@pytest.mark.parametrize(
    ("messages", "claim", "status", "reason"),
    [
        (SEND[:1], "I have sent the plan to Anna.", "unsupported", "no tool result shows"),
        (SEND[:1], "Done.", "unsupported", "no tool result shows"),
        (SEND[:1], "The plan has been sent to Anna.", "unsupported", "no tool result shows"),
        (SEND, "I have sent the plan to Anna.", "supported", "the result of tool send_email"),
        (SEND, "Done!", "supported", "the result of tool send_email"),
        (SEND, "I've sent it and deleted the draft.", "unsupported", "no tool result shows"),
        (SEND, "I have sent 40 plans.", "unsupported", "does not show all"),
        (FAILED, "I have sent the plan to Anna.", "contradicted", "reported an error"),
        ([*SEND, user("Thanks.")], "Done.", "unsupported", "no tool result shows"),
        (SEND, "I haven't booked a room.", "supported", "no tool result shows otherwise"),
        ([*TESTS, result("Bash", "5 passed")], "All tests pass.", "supported", "tool Bash"),
        ([*TESTS, result("Bash", "1 failed")], "All tests pass.", "contradicted", "an error"),
        (SEND, "All tests pass.", "unsupported", "no tool result shows"),
        ([*SEND[:2], result("send_email", {"error": None})], "Done.", "supported", "send_email"),
        (PENDING, "I have sent the plan to Anna.", "unsupported", "does not show all"),
        (QUEUED, "I have sent the plan to Anna.", "unsupported", "does not show all"),
        (TWO, "I have cancelled order 1001.", "supported", "tool cancel_order shows"),
        (TWO, "I have cancelled order 1002.", "contradicted", "reported an error"),
        (TWO, "I have cancelled both orders.", "contradicted", "reported an error"),
        (TWO, "I have notified bo@example.org.", "supported", "tool notify shows"),
        (TWO, "I have notified al@example.org.", "unsupported", "does not show all"),
    ],
)
def test_action_of_the_agent(messages: list[Message], claim: str, status: str, reason: str) -> None:
    found = only(last(*messages, said(claim)))
    assert found.status == status
    assert reason in str(found.reason)


def test_invented_identifier_in_a_text() -> None:
    report = last(*SEND, said("Your ticket number is FAC-20418."))
    assert "(FAC-20418 occurs in nothing before)" in str(report)
    claim = only(report)
    assert claim.reason == "FAC-20418 occurs in nothing before"
    assert claim.status is Status.UNSUPPORTED


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Let me check that.", "an intention"),
        ("I'll call them now.", "an intention"),
        ("Sorry about the delay.", "a courtesy"),
        ("Understood.", "a courtesy"),
        ("Under which name?", "a question"),
    ],
)
def test_sentence_without_a_statement(text: str, reason: str) -> None:
    report = last(*SEND, said(f"{text} Anna has the plan."))
    assert [claim.text for claim in report.claims] == ["Anna has the plan."]
    assert (text, reason) in [(part.text, part.reason) for part in report.unchecked]
    assert rules.statement_in("You're right, it rains.") == ("It rains.", None)


@pytest.mark.parametrize(
    ("earlier", "later", "pair"),
    [
        ("A table for three people.", "Sorry, I meant four people.", ("three", "four")),
        ("We move on 14 August.", "Actually, it is on 21 August.", ("14 August", "21 August")),
        ("A guest avoids walnuts.", "It's hazelnuts, not walnuts.", ("walnuts", "hazelnuts")),
        ("She takes 50 mg of A and 20 mg of Beta.", "Wait, Beta is 40 mg.", ("20", "40")),
        ("7a has 24 pupils, 7b has 27 pupils.", "No, 7b has 29 pupils.", ("27", "29")),
    ],
)
def test_user_corrects_an_earlier_message(earlier: str, later: str, pair: tuple[str, str]) -> None:
    assert list(rules.find_corrections([earlier], later)) == [pair]
    assert list(rules.find_corrections([earlier], "Thank you very much.")) == []


def test_corrected_words_count() -> None:
    messages = [
        user("We need a table for three people on the terrace."),
        said("Where?"),
        user("Sorry, I meant four people."),
    ]
    right = only(last(*messages, said("You need a table for four people on the terrace.")))
    wrong = only(last(*messages, said("You need a table for three people on the terrace.")))
    assert right.status is Status.SUPPORTED
    assert right.proof is not None
    assert right.proof.text == messages[0]["content"]
    assert wrong.support is not None
    assert right.support is not None
    assert wrong.support < right.support


def test_content_that_cannot_be_read_is_listed() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    found = check(
        {"role": "user", "content": [{"type": "text", "text": "My cat is grey."}, image]},
        said("Your cat is grey."),
        called("shot"),
        result("shot", [{"type": "image", "source": {}}, {"type": "text", "text": "A tree."}]),
        said("A tree, I see."),
    )
    first, second = "messages[0].content[1]: image_url", "messages[3].content[0]: image"
    assert found.unread == (first, second)
    assert f"not read: {first}" in found.turns[0].report.provenance.notes
    assert found.to_dict()["unread"] == [first, second]


@pytest.mark.parametrize(("status", "ok"), [("error", False), ("success", True), (None, True)])
def test_status_of_a_result_says_that_the_call_failed(status: str | None, ok: bool) -> None:
    answer = {**result("send_email", "Sent."), "status": status}
    found = only(last(*SEND[:2], answer, said("I have sent the plan to Anna.")))
    assert found.status is (Status.SUPPORTED if ok else Status.CONTRADICTED)


def test_call_of_the_older_form_of_openai() -> None:
    call = {"name": "cancel_order", "arguments": '{"order_id": "9999"}'}
    asked = [user("Cancel order 4417."), {"role": "assistant", "function_call": call}]
    assert "invented" in str(only(last(*asked)).reason)
    answer = {"role": "function", "name": "cancel_order", "content": '{"state": "cancelled"}'}
    assert last(*asked, answer, said("I have cancelled the order.")).ok


@pytest.mark.parametrize("name", ["name", "tool_name"])
def test_results_without_an_id_belong_to_the_calls_in_their_order(name: str) -> None:
    calls = [
        {"function": {"name": "weather", "arguments": {"city": city}}} for city in ("Oslo", "Rome")
    ]
    asked = [user("How warm is it?"), {"role": "assistant", "tool_calls": calls}]
    results = [{"role": "tool", name: "weather", "content": text} for text in ("3 C", "28 C")]
    named = [user("Oslo and Rome.")]  # else the cities are no part of the sources
    texts = tool_results([*named, *asked, *results, *asked, *results])
    assert texts == ["city: Oslo\n\n3 C", "city: Rome\n\n28 C"] * 2


def test_custom_tool_of_openai() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "print(77102)"}}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "77102"}
    report = last(
        user("Run it."), {"role": "assistant", "tool_calls": [call]}, answer, said("I ran it.")
    )
    assert (only(report).status, report.document_names[1]) == (Status.SUPPORTED, "tool run #1")


def test_documents_and_search_results_of_anthropic() -> None:
    texts = [{"type": "text", "text": "Ants walk."}]
    parts = [
        {"type": "document", "source": {"type": "text", "data": "Bees fly."}},
        {"type": "document", "source": {"type": "content", "content": texts}},
        {"type": "search_result", "source": "https://a.example", "content": [*texts, 3]},
        {"type": "document", "source": {"type": "base64", "data": "JVBE"}},
    ]
    report = last({"role": "user", "content": parts}, said("Ants walk far."))
    assert report.documents == ("Bees fly.", "Ants walk.", "Ants walk.")
    assert report.provenance.notes[-1] == "not read: messages[0].content[3]: document"


def test_system_text_of_a_request_is_read() -> None:
    request = {"system": "The shop closes at noon.", "messages": [user("When?"), said("At noon.")]}
    messages = read_transcript(json.dumps(request))
    assert messages[0] == {"role": "system", "content": "The shop closes at noon."}
    with pytest.raises(InputError, match="nested too deeply"):
        read_transcript("[" * 100_000)


@pytest.mark.parametrize("results", [30])
def test_far_texts_of_a_long_conversation_are_not_read(results: int) -> None:
    messages = long_conversation(results)
    asked = said("Order 4003 was sent to Lena 4003, and order 4999 to nobody.")
    report = last(*messages, asked)
    assert len(report.documents) == results + 1
    assert {claim.proof.document for claim in report.claims if claim.proof} <= {4}
    assert only(last(*messages, said("The code is QX81LT."))).reason is not None


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ("text", "messages must be a list of messages, not str"),
        ([user("x"), 3], r"messages\[1\] must be an object, not int"),
        ([{"role": "robot", "content": "x"}], r"messages\[0\].role must be one of"),
        ([{"role": "user"}], r"messages\[0\].content must be text or a list of parts"),
        ([{"role": "user", "content": [3]}], r"messages\[0\].content\[0\] must be an object"),
        (
            [{"role": "user", "content": [{"type": "text"}]}],
            r"messages\[0\].content\[0\].text must be text",
        ),
        ([{"role": "assistant", "tool_calls": 3}], r"messages\[0\].tool_calls must be a list"),
        (
            [{"role": "assistant", "tool_calls": [{"function": {}}]}],
            r"messages\[0\].tool_calls\[0\].name must be the name of a tool",
        ),
        ([result("x", {1, 2})], r"messages\[0\].content must be text or a JSON value"),
    ],
)
def test_malformed_message_names_index_and_field(messages: Any, error: str) -> None:
    with pytest.raises(InputError, match=error):
        read_turns(messages)


def test_arguments_that_are_not_json_are_kept() -> None:
    broken = called("pay")
    broken["tool_calls"][0]["function"]["arguments"] = '{"amount": '
    assert last(user("Pay."), broken).response == 'pay\narguments: {"amount": '


def test_verdict_is_that_of_the_worst_turn() -> None:
    greeting = said("Hello! How can I help?")
    assert check(greeting).verdict is Verdict.UNCHECKABLE
    right = [user("My cat is grey."), said("Your cat is grey.")]
    assert check(greeting, *right).ok
    assert check(*right, said("Your dog ate 77812 plums.")).verdict is Verdict.HALLUCINATED
    assert check().turns == ()


def test_merged_report_has_all_turns() -> None:
    found = check(*SEND, said("I have sent the plan to Anna."), said("I paid 500 euros."))
    merged = found.merged()
    assert merged.verdict is Verdict.HALLUCINATED
    assert [claim.text for claim in merged.claims] == [
        claim.text for turn in found.turns for claim in turn.report.claims
    ]
    spans = [claim.span.cut(merged.response) for claim in merged.claims if claim.span]
    assert spans == [claim.text for claim in merged.claims]
    assert "[message 4]\nI paid 500 euros." in merged.response
    assert Report.from_json(merged.to_json()) == merged
    with pytest.raises(InputError, match="no message of the assistant"):
        check().merged()


def test_only_turns_from_the_start_are_checked() -> None:
    messages = [user("My cat is grey."), said("Your cat is grey."), said("So it is grey.")]
    found = Detector(OverlapVerifier()).check_conversation(messages, start=2)
    assert [turn.index for turn in found.turns] == [2]


def test_module_function(monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)
    found = halldetect.check_conversation([user("My cat is grey."), said("Your cat is grey.")])
    assert found.ok


def test_many_pairs_and_conversations() -> None:
    talk = json.dumps([user("My cat is grey."), said("Your cat is grey.")])
    pairs = [
        Conversation([], talk),
        Pair("Bees fly.", "Bees fly."),
        Conversation("Ants walk.", "[3]"),
        Conversation([], "{"),
        Conversation([], "[]"),
    ]
    events: list[Event] = []
    first, second, *wrong = Detector(OverlapVerifier()).check_many(pairs, observe=events.append)
    assert {event.pair for event in events} == {1}
    assert pickle.loads(pickle.dumps(pairs)) == pairs
    assert (first.verdict, first.response) == (
        Verdict.FAITHFUL,
        "[message 1]\nYour cat is grey.\n\n",
    )
    assert second.response == "Bees fly."
    assert [str(report.reason).split(": ")[0] for report in wrong] == ["not a conversation"] * 3


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_batch_takes_messages(name: str, tmp_path: Path) -> None:
    talk = [*SEND[:1], said("I have sent the plan to Anna.")]
    rows, out = tmp_path / name, tmp_path / "out.jsonl"
    if name.endswith(".csv"):
        rows.write_text('id,messages\n7,"' + json.dumps(talk).replace('"', '""') + '"\n')
    else:
        rows.write_text(json.dumps({"id": 7, "messages": talk}) + "\n")
    run_local(Detector(OverlapVerifier()), Job(str(rows), str(out)))
    (made,) = [json.loads(line) for line in out.read_text().splitlines()]
    assert (str(made["id"]), made["verdict"]) == ("7", "hallucinated")
    assert made["report"]["claims"][0]["reason"] == "no tool result shows this action"


def test_adapters_check_the_last_message() -> None:
    checker = Checker(Detector(OverlapVerifier()))
    tool = {"role": "tool", "name": "zoo", "content": "Apes climb the high tree."}
    report = checker.check_answer([user("Hi."), said("Bees fly."), tool, said("Apes climb it.")])
    assert [claim.text for claim in report.claims] == ["Apes climb it."]
    assert checker.check_answer([user("Hi.")]).verdict is Verdict.UNCHECKABLE


def test_proxy_reads_tool_results_with_their_calls() -> None:
    messages = [*ORDER, result("get_order", ANSWER)]
    assert request_sources(messages) == [f'{{"order_id": "4417"}}\n{json.dumps(ANSWER)}']
    unknown = [{"role": "critic", "content": "x"}, {"role": "tool", "content": "Apes climb."}]
    assert request_sources(unknown) == ["Apes climb."]


def test_suite_is_complete() -> None:
    rows = suite_rows(CONVERSATIONS)
    kinds = [(row.kind, row.source) for row in rows]
    assert {kind: len({id for k, id in kinds if k == kind}) for kind, _ in kinds} == {
        "tools": 20, "corrections": 20, "invented": 20,
    }  # fmt: skip
    right = sum(row.expected is Status.SUPPORTED for row in rows)
    assert 0.45 <= right / len(rows) <= 0.6
    for row in rows:
        assert row.turn is not None
        messages = row.turn.conversation["messages"]
        turns = [str(at) for at, item in enumerate(messages) if item["role"] == "assistant"]
        assert list(row.turn.conversation["labels"]) == turns


def test_tool_results_are_read_once_for_all_turns() -> None:
    kept = [
        read.__wrapped__
        for read in (sources.read_source, overlap.content_words, quantities.read_quantities)
    ]
    for cache in kept:
        cache.cache_clear()

    def work(messages: list[Message], start: int) -> list[int]:
        """Count the texts that are read, cut into words and searched for quantities."""
        before = [cache.cache_info().misses for cache in kept]
        Detector(OverlapVerifier()).check_conversation(messages, start=start)
        return [cache.cache_info().misses - old for cache, old in zip(kept, before, strict=True)]

    messages = long_conversation(100)
    results = 100
    for texts in work(messages, 0):
        assert 0 < texts <= 10 * results  # as many again for every turn would be 50 times more
    assert sum(work(messages, len(messages) - 1)) <= 3
    assert sum(cache.cache_info().hits for cache in kept) > 10 * results


# The command line and the hook


@pytest.fixture
def conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_overlap_verifier(monkeypatch)
    file = tmp_path / "chat.json"
    file.write_text(json.dumps({"messages": [*SEND[:1], said("I have sent the plan to Anna.")]}))
    return file


def test_check_messages(conversation: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "--quiet", "--messages", str(conversation)]
    assert main([*arguments, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == "hallucinated"
    assert [turn["index"] for turn in data["turns"]] == [1]
    for form in ("full", "short", "markdown"):
        assert main([*arguments, "--format", form]) == 1
        shown = capsys.readouterr().out
        assert "I have sent the plan to Anna." in shown
        assert "no tool result shows this action" in shown


def test_check_messages_with_documents(
    conversation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.txt").write_text("The roof is repaired in March.")
    conversation.write_text(
        "\n".join(json.dumps(item) for item in (user("When?"), said("The roof in March.")))
    )
    arguments = ["check", "--quiet", "--messages", str(conversation), "--json"]
    main([*arguments, "--source", str(tmp_path / "plan.txt")])
    report = json.loads(capsys.readouterr().out)["turns"][0]["report"]
    assert report["document_names"] == ["plan.txt", "user turn 1"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "line 1 is not JSON"),
        ('"x"', "must be a list"),
        ("[3]", "messages[0] must be"),
        ("", "no message of the assistant"),
        ("[]", "no message of the assistant"),
        ('[{"role": "user", "content": "Hello."}]', "no message of the assistant"),
        ('[{"role": "robot", "content": "Hello."}]', "messages[0].role must be one of"),
        ('[{"content": "Hello."}]', "messages[0].role must be one of"),
        ('[{"type": "assistant"}]', "has a form that halldetect does not know"),
        ('{"$set": {"messages": 3}}', "has a form that halldetect does not know"),
    ],
)
def test_check_messages_of_a_wrong_file(
    conversation: Path, text: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    conversation.write_text(text)
    assert main(["check", "--quiet", "--messages", str(conversation)]) == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--words", "--missing", "--question=Why?", "--fail-on=disputed"]
)
def test_check_messages_refuses_options_of_one_response(
    conversation: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--quiet", "--messages", str(conversation), option]) == 2
    assert f"{option.partition('=')[0]} does not apply to --messages" in capsys.readouterr().err


def event(agent: str, **changes: Any) -> str:
    if agent == "claude_code":
        name, more = "Stop", {"permission_mode": "default"}
    else:
        name, more = "AfterAgent", {"prompt": "Do the tests pass?", "timestamp": "2026-03-04"}
    path = str(AGENTS / f"{agent}.jsonl")
    fields = {"session_id": "5a0c", "transcript_path": path, "cwd": "/home/dev/shop"}
    return json.dumps(
        {**fields, "hook_event_name": name, "stop_hook_active": False, **more, **changes}
    )


def hook(monkeypatch: pytest.MonkeyPatch, stdin: str, *options: str) -> int:
    use_overlap_verifier(monkeypatch)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
    return main(["hook", *options])


def test_hook_of_claude_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hook(monkeypatch, event("claude_code")) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "unsupported: “All tests pass.” (no tool result shows this action)" in shown.err
    assert "rounding" not in shown.err
    assert "subagent" not in shown.err


def test_hook_of_gemini_cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = "All 16 tests pass."
    assert hook(monkeypatch, event("gemini_cli", prompt_response=answer)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("All 16 tests pass.") == 1
    assert "Source says instead (tool run_shell_command #1)" in shown.err


def test_hook_checks_an_answer_that_the_transcript_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = "I have deployed it."
    assert hook(monkeypatch, event("claude_code", last_assistant_message=answer)) == 2
    assert "I have deployed it." in capsys.readouterr().err


@pytest.mark.parametrize("agent", ["claude_code", "gemini_cli"])
def test_recorded_stops(
    agent: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The agents stopped twice: with a wrong answer, and with the one that the hook asked for."""
    lines = (AGENTS / "recorded" / f"{agent}.jsonl").read_text("utf-8").splitlines()
    told = next(at for at, line in enumerate(lines) if "not backed by tool results" in line)
    written = (AGENTS / "recorded" / f"{agent}_events.jsonl").read_text("utf-8")
    first, second = map(json.loads, written.splitlines())
    path = tmp_path / "transcript.jsonl"
    path.write_text("\n".join(lines[:told]), "utf-8")
    assert hook(monkeypatch, json.dumps({**first, "transcript_path": str(path)})) == 2
    shown = capsys.readouterr().err.splitlines()[1:]
    assert [line.split(" ", 2)[1] for line in shown] == ["contradicted:", "unsupported:"]
    assert "All tests pass." in shown[0]
    assert "I have also deployed the shop." in shown[1]
    path.write_text("\n".join(lines), "utf-8")
    assert second["stop_hook_active"] is True
    assert hook(monkeypatch, json.dumps({**second, "transcript_path": str(path)})) == 0
    messages = read_transcript(path.read_text("utf-8"))
    assert read_turns(messages)[-1].before.unread == []  # a result is there once
    assert len(tool_results(messages)) == 1


def test_hook_does_not_run_in_circles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hook(monkeypatch, event("claude_code", stop_hook_active=True)) == 0


def test_hook_lets_a_right_answer_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = [*TESTS, result("Bash", "5 passed"), said("All tests pass.")]
    path = tmp_path / "transcript.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert hook(monkeypatch, event("claude_code", transcript_path=str(path))) == 0
    path.write_text(json.dumps(user("Hello.")))
    assert hook(monkeypatch, event("claude_code", transcript_path=str(path))) == 0


def test_hook_says_what_it_could_not_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text(
        "\n".join(map(json.dumps, [*TESTS, result("Bash", "5 passed"), said("5 passed.")]))
    )
    assert (
        hook(monkeypatch, event("claude_code", transcript_path=str(path)), "--max-response", "5")
        == 0
    )
    assert "the answer could not be checked" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stdin", "error"),
    [
        ("", "the event is not JSON"),
        ("{}", "the event must have hook_event_name"),
        (event("claude_code", transcript_path=""), "the event has no transcript_path"),
        (event("claude_code", transcript_path="/no/such/file"), "no file '/no/such/file'"),
    ],
)
def test_hook_that_cannot_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stdin: str, error: str
) -> None:
    assert hook(monkeypatch, stdin) == 1
    assert error in capsys.readouterr().err
    assert hook(monkeypatch, stdin, "--fail", "closed") == 2


@pytest.mark.parametrize(("option", "status"), [("open", 1), ("closed", 2)])
def test_hook_keeps_its_time_limit(tmp_path: Path, option: str, status: int) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\nclass Judge:\n    def __init__(self): time.sleep(60)\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "halldetect", "hook", "--time-limit", "1", "--fail", option,
         "--verifier", "slow:Judge"],
        input=event("claude_code"), capture_output=True, text=True, cwd=tmp_path, timeout=50,
    )  # fmt: skip
    assert run.returncode == status
    assert "no result after 1 seconds" in run.stderr


def test_transcripts_are_read() -> None:
    claude = read_transcript((AGENTS / "claude_code.jsonl").read_text("utf-8"))
    assert [message["role"] for message in claude] == [
        "user", "assistant", "assistant", "assistant", "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    gemini = read_transcript((AGENTS / "gemini_cli.jsonl").read_text("utf-8"))
    assert [message["role"] for message in gemini] == ["user", "assistant", "tool", "assistant"]
    records = [json.loads(line) for line in (AGENTS / "gemini_cli.jsonl").read_text().splitlines()]
    old = json.dumps({"sessionId": "77b1", "messages": [item for item in records if "id" in item]})
    assert len(read_transcript(old)) == 5  # without the line that takes a message back
