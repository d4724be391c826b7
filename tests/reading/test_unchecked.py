"""Parts of a response that are not judged: none is lost, and each has its reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.forms.answers import answers
from halldetect.reading.claims import read_claims, unchecked_parts
from halldetect.reading.document import UncheckedPart
from halldetect.reading.response import read_response
from tests.support.golden import pairs
from tests.support.paths import DATA

PIECES = (
    "# |## |- |* |1. |25) |(a) |[x] |[ ] |> |>> |**|*|__|_|~~|`|```|```json|~~~|\n|\n\n|  \n|\\|"
    "[|](|)|![|](https://a.org/b-c)|[1]|[^1]|[^1]: |【2】|(Smith, 2020)|<b>|</b>|<s>|</s>|<del>|"
    '<!--|-->|<p title="|">|<table><tr><td>|</td></tr></table>|<script>|&amp;|&eacute;|&#65;|'
    '\u200b|\t| |\u00a0|\u3164|ｆｒｅｅ|⠓⠊|🎉|❌|✓|/s|: |. |? |! |; |{"a b": 9}|price = 9|'
    "a: 1\nb: 2\nc: 3|x,y\n1,2\n3,4|Children pay nine euros.|Did you know that it sank?|"
    "Is it open?|Sources:|I hope this helps!|According to the report, |Yes. |I don't know.|Price|"
    "Here are the points:|www.a.org|https://a.org/tom-pays-nine-euros|False:|"
    "9|é|e\u0301|ﬁ|①|Ⅳ|\ud800|\x00|\r|\x0b"
).split("|")
MARKDOWN = st.lists(
    st.sampled_from(["|", "\n| a | b |\n|---|---|\n", *PIECES]) | st.text(max_size=6), max_size=14
).map("".join)


def parts_of(text: str) -> list[UncheckedPart]:
    return list(unchecked_parts(read_response(text)))


def require_complete(text: str) -> None:
    response = read_response(text)
    found = [claim.span for claim in read_claims(response) if claim.span is not None]
    parts = unchecked_parts(response)
    covered = {at for span in found for at in range(span.start, span.end)}
    for part in parts:
        assert part.text == part.span.cut(text)
        assert part.text.strip()
        assert part.reason
        covered.update(range(part.span.start, part.span.end))
    missing = [at for at, char in enumerate(text) if char.isalnum() and at not in covered]
    assert missing == [], text[missing[0] : missing[0] + 40]
    assert [part.span for part in parts] == sorted(part.span for part in parts)


@given(MARKDOWN)
@example("")
@example(" \n\t")
@example("```")
@example("| a | b |\n|---|---|\n| c | ✓ |")
def test_every_letter_is_judged_or_listed(text: str) -> None:
    require_complete(text)


@pytest.mark.parametrize("name", ["golden", "hostile", "injections", "answers"])
def test_no_letter_of_our_texts_is_lost(name: str) -> None:
    if name == "golden":
        texts = [pair.response for pair in pairs()]
    elif name == "answers":
        texts = [answer.response for answer in answers()]
    else:
        rows = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        texts = [json.loads(row)["response"] for row in rows]
    for text in texts:
        require_complete(text)


@pytest.mark.parametrize(
    ("text", "reason", "asserting"),
    [
        ("Is the bridge that Anna Holm sold to Tom open?", "a question", True),
        ("Is it open?", "a question", False),
        ("Would you like to know more about the 12 bridges?", "a question", False),
        ("```sh\nfoo(x) => y[3];\n```", "code", True),
        ("```sh\nls | grep foo && make all\n```", "code", False),
        ("# Opening hours", "a heading", False),
        ("Sources:\n\nAnn left.", "a label", False),
        ("| Ann sold it | Sum |\n|---|---|\n| Tea | 5 |", "a table header", True),
        ("| Good | Sum |\n|---|---|\n| Tea | 5 |", "a table header", False),
        ("**Tom swims.** ~~Ann sold the old bridge.~~ He runs.", "struck out", True),
        ("Tom pays ~~nine~~ six euros.", "struck out", False),
        ("https://a.org/x", "a link", False),
        ("👶🎫🆓🚢", "symbols", True),
        ("🎉🎉", "symbols", False),
        ("<p data-a='Ann sold the old bridge'>Tom swims.</p>", "mark-up", True),
        ("I hope this helps!", "a courtesy", False),
        ("Here is a summary in 118 words:\n\nTom swims.", "an announcement of the answer", False),
        ("According to the report, Tom swims.", "an opener", False),
        ("1. Tom swims.", "a list mark", False),
        ("Tom swims [2].", "a citation mark", False),
        ("False:\n- Tom swims.", "a lead-in", False),
        ("As the drunken captain lied and was wrong:\n- Tom swims.", "a lead-in", True),
        ("# Sources\n\nAnnual report, page 3", "a reference", False),
        ("Tom swims. I don't know.", "an abstention", False),
        ("Tom swims. The 9 deaths are not mentioned in the text.", "an abstention", True),
    ],
)
def test_part_has_reason_and_weight(text: str, reason: str, asserting: bool) -> None:
    assert (reason, asserting) in [(part.reason, part.asserting) for part in parts_of(text)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Tom swims [1][2].", [("[1]", "a citation mark"), ("[2]", "a citation mark")]),
        ("Tom swims [1, 2] fast.", [("[1, 2]", "a citation mark")]),
        ("Tom swims.[^1]\n\n[^1]: Ann ran.", [("1", "a citation mark")] * 2),
        ("Tom swims.[3]\n[4]", [("[3]", "a citation mark"), ("4", "a list mark")]),
        ("  ```sh\nls foo\n```", [("sh", "code"), ("ls foo", "code")]),
        ("> ```sh\n> ls foo\n> ```", [("sh", "code"), ("ls foo", "code")]),
        ("~~~sh\nls foo\n~~~", [("sh", "code"), ("ls foo", "code")]),
        ("[Tom swims](a-b).", [("a-b", "a link")]),
        ("[foo]: https://a.org/x", [("foo]: https://a.org/x", "a link")]),
        ("www.a.org", [("www.a.org", "a link")]),
        ("- [x] Tom swims.", [("x", "a list mark")]),
        ("a) Tom swims.\nb) Ann runs.", [("a", "a list mark"), ("b", "a list mark")]),
        ("<b>Tom</b> swims.", [("b", "mark-up"), ("b", "mark-up")]),
        ("Tom swims. <br> Ann runs.", [("br", "mark-up")]),
        (
            "<p a='x'\nb='y'>Tom swims.</p>",
            [("p a='x", "mark-up"), ("b='y", "mark-up"), ("p", "mark-up")],
        ),
        ("~~*Tom &amp; Ann*~~ Tom swims.", [("Tom &amp; Ann", "struck out")]),
        ("Caf&eacute; Ox is open.", []),
        ("# Caf&eacute;\n\nTom swims.", [("Caf&eacute;", "a heading")]),
        ("# Opening\n# Closing", [("Opening", "a heading"), ("Closing", "a heading")]),
        (
            "Hope it helps!\nBye now!",
            [("Hope it helps!", "a courtesy"), ("Bye now!", "a courtesy")],
        ),
    ],
)
def test_parts_are_cut_where_their_kind_changes(text: str, parts: list[tuple[str, str]]) -> None:
    assert [(part.text, part.reason) for part in parts_of(text)] == parts


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ('```json\n{"price": 9, "free_for": "children"}\n```', ["price: 9", "free for: children"]),
        (
            "```yaml\nopen:\n  mon: 9\n  tue: 10\nprice: 3\n```",
            ["open, mon: 9", "open, tue: 10", "price: 3"],
        ),
        (
            "```\nguest,fare,day\nchild,9,mon\nadult,12,tue\n```",
            ["child: fare 9; day mon.", "adult: fare 12; day tue."],
        ),
        ("```js\nconst ticket_price = 9;\n```", ["ticket price: 9"]),
        ("![Tom pays nine euros](a.png)", ["Tom pays nine euros"]),
        ("[Tom pays nine euros](https://a.org)", ["Tom pays nine euros"]),
        (
            "| Guest | Free |\n|---|---|\n| Child | ✓ |\n| Adult | ❌ |",
            ["Child, Free: yes", "Adult, Free: no"],
        ),
    ],
)
def test_values_in_mark_up_are_judged(text: str, claims: list[str]) -> None:
    assert [claim.text for claim in read_claims(read_response(text))] == claims
    assert not any(part.asserting for part in parts_of(text))


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("|Guest|Fare|\n|---|---|\n|Child|nine|", [("Child, Fare: nine", "Child|nine")]),
        (
            "The mill has:\n\n- a wheel\n- an axle",
            [("The mill has: a wheel", "a wheel"), ("The mill has: an axle", "an axle")],
        ),
        ('```json\n{"price": 9}\n```', [("price: 9", '"price": 9')]),
        ("Tom swims [1].", [("Tom swims.", "Tom swims [1].")]),
    ],
)
def test_claim_has_the_place_of_its_own_words(text: str, claims: list[tuple[str, str]]) -> None:
    found = read_claims(read_response(text))
    assert [(claim.text, claim.span.cut(text)) for claim in found if claim.span] == claims


@pytest.mark.parametrize("piece", ["a ~~b~~ ", "[1] x ", "`a=1` ", "<b a='c d e'>x ", "& &amp; "])
def test_long_lines_of_marks_end(piece: str) -> None:
    require_complete(piece * 5_000)
