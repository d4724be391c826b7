"""The text of HTML pages."""

from __future__ import annotations

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


def test_hidden_elements_are_left_out() -> None:
    page = (
        "<p hidden>One.<p>Two.<div style='display: none'>Three.<div>Four.</div>Five.</div>"
        "<p>Six <del>seven</del>.<!-- Eight. -->"
    )
    assert html_text(page)[1] == "Two.\n\nSix ~~seven~~."
