"""The text of HTML pages."""

from __future__ import annotations

import sys

import pytest

from halldetect.reading.html_page import html_text


def test_a_table_with_headers_becomes_a_markdown_table() -> None:
    page = (
        "<p>Boats</p><table><caption>Times</caption><tr><th>Boat<th>Leaves"
        "<tr><td>First | one<td><b>6:20</b><tr><td>Last<td>21:40</table><p>End.</p>"
    )
    assert html_text(page)[1] == (
        "Boats\n\nTimes\n\n| Boat | Leaves |\n|---|---|\n| First \\| one | 6:20 |\n| Last | 21:40 |"
        "\n\nEnd."
    )


def test_layout_table_becomes_blocks() -> None:
    page = "<table><tr><td>Left.<td>Right.</table>"
    assert html_text(page)[1] == "Left.\n\nRight."
    inner = f"<table><tr><td>Out.<td>{page.replace('td', 'th')}</table>After."
    assert html_text(inner)[1] == "Out.\n\n| Left. | Right. |\n|---|---|\n\nAfter."


def test_an_unfinished_table_loses_nothing() -> None:
    assert html_text("<table><tr><th>Name<td>Mill")[1] == "Name\n\nMill"
    assert html_text("</table><p>Mill</p>")[1] == "Mill"


PAGE = (
    "<title>Dogs pay</title><p>Dogs do <ins>not</ins> pay. <del>Cats pay.</del>"
    "<img src=a.png alt='Cows pay'><input value='Hens pay'><textarea>Pigs pay</textarea></p>"
)


def test_response_has_title_and_descriptions() -> None:
    title, text = html_text(PAGE)
    assert title == "Dogs pay"
    for said in ("Dogs do not pay.", "~~Cats pay.~~", "![Cows pay]", "![Hens pay]", "Pigs pay"):
        assert said in text


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>X pays.</p>",
        "<p style='display: none'>X pays.</p>",
        "<div style='visibility:hidden'><b>X pays.</b></div>",
        "<p style='font-size:0'>X pays.</p>",
        "<p style='color:#fff'>X pays.</p>",
        "<font color=white>X pays.</font>",
        "<style>.off { display:none }</style><p class='a off'>X pays.</p>",
        "<del>X pays.</del>",
        "<s>X <b>pays</b>.</s>",
        "<!-- X pays. -->",
        "<template>X pays.</template>",
        "<noscript>X pays.</noscript>",
        "<script>X pays.</script>",
        "<img alt='X pays.'>",
    ],
)
def test_hidden_text_is_no_evidence(hidden: str) -> None:
    text = html_text(f"<p>Before.</p>{hidden}<p>After.</p>", evidence=True)[1]
    assert text == "Before.\n\nAfter."


def test_white_text_on_a_background_is_evidence() -> None:
    page = "<div style='background:#036'><h1 style='color:white'>X pays.</h1></div>"
    assert html_text(page, evidence=True)[1] == "X pays."


def test_text_after_an_open_head_is_read() -> None:
    assert html_text("<head><meta charset=utf-8>Dogs pay.")[1] == "Dogs pay."


UNITS = [
    "<!--", "<!", "<![CDATA[", "<![", "<?x", "</", "</a", "<a ", "<a b='", '<a b="', "<a b=", "&#9",
    "<!--x--!>", "<table>", "<table><tr><th>a", "<noscript>", "<script>", "<title>", "<a <b>",
    "<a b='>", "</table>", "<b><i>", "</script", "<p hidden>", "<style>.a{", "~~<s>",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_reading_a_page_takes_linear_time(unit: str) -> None:
    def calls(count: int) -> int:
        made = 0

        def count_call(_frame: object, event: str, _argument: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(count_call)
        try:
            html_text(unit * count, evidence=True)
        finally:
            sys.setprofile(None)
        return made

    assert calls(800) <= 2.2 * calls(400) + 100
    html_text(unit * (200_000 // len(unit)))  # hangs for minutes if an expression is quadratic


def test_huge_character_reference_is_text() -> None:
    assert html_text("&#" + "9" * 5000 + ";")[1].startswith("&#99")
