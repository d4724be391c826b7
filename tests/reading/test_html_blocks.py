"""Block HTML in responses: read as the markdown of the same text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.reading.document import Unit
from halldetect.reading.response import read_response

TABLE = """Here are the figures:

<table>
  <tr><th>Product</th><th>Q1 2025</th><th>Q2 2025</th></tr>
  <tr><td>Tea</td><td>5</td><td></td></tr>

  <tr>
    <td>Coffee &amp; milk</td>
    <td><b>12</b></td>
    <td>9<br>boxes [1]</td>
  </tr>
</table>

The mill was sold."""


def said(text: str) -> list[Unit]:
    return [unit for unit in read_response(text).units if unit.asserts]


def test_table_rows_with_headers() -> None:
    tea, coffee, second, mill = said(TABLE)
    assert tea.text == "Tea, Q1 2025: 5"
    assert tea.span.cut(TABLE) == "Tea</td><td>5"
    assert coffee.text == "Coffee & milk, Q1 2025: 12"
    assert coffee.span.cut(TABLE).startswith("Coffee &amp; milk</td>")
    assert second.text == "Coffee & milk, Q2 2025: 9 boxes"
    assert second.span.cut(TABLE) == "9<br>boxes"
    assert [citation.label for citation in second.citations] == ["1"]
    assert mill.text == "The mill was sold."


@pytest.mark.parametrize(
    "rows",
    [
        "<tr><td>Rent</td><td>940 euros</td></tr><tr><td>Deposit</td><td>1,200 euros</td></tr>",
        "<tr><th>Rent</th><td>940 euros</td></tr><tr><th>Deposit</th><td>1,200 euros</td></tr>",
        "<tr><td>Rent<td>940 euros<tr><td>Deposit<td>1,200 euros",
    ],
)
def test_two_columns_are_names_and_values(rows: str) -> None:
    found = [unit.text for unit in said(f"<table>{rows}</table>")]
    assert found == ["Rent: 940 euros", "Deposit: 1,200 euros"]


def test_three_columns_without_header_cells_have_a_header() -> None:
    first = "<tr><td>Host</td><td>Status</td><td>Load</td></tr>"
    text = f"<table>{first}<tr><td>db-2</td><td>failed</td><td>0.9</td></tr></table>"
    assert [unit.text for unit in said(text)] == ["db-2, Status: failed", "db-2, Load: 0.9"]


def test_headings_lists_and_paragraphs() -> None:
    text = (
        "<h2>Safety</h2><p>The ferry sank in 1998. It was <em>raised</em> later.</p>\n"
        "<p>The fee covers:</p>\n<ul>\n<li>breakfast</li>\n<li>Dogs pay half.</li>\n</ul>\n"
        "<details><summary>Prices</summary>The ticket costs 4 euros.</details>"
    )
    units = said(text)
    assert [unit.text for unit in units] == [
        "The ferry sank in 1998.",
        "It was raised later.",
        "The fee covers: breakfast",
        "Dogs pay half.",
        "The ticket costs 4 euros.",
    ]
    assert units[1].span.cut(text) == "It was <em>raised</em> later."


@pytest.mark.parametrize(
    "text",
    [
        "<table><tr><td>\n\nThe ferry sank in 1998. Nobody was hurt.",
        "<h1>\n\nThe ferry sank in 1998. Nobody was hurt.",
        "<ul><li>\n\nThe ferry sank in 1998. Nobody was hurt.",
        "<table>The ferry sank in 1998. Nobody was hurt.</table>",
        "</td></tr></table></li></ul>The ferry sank in 1998. Nobody was hurt.",
    ],
)
def test_tags_that_are_not_closed_hide_nothing(text: str) -> None:
    assert [unit.text for unit in said(text)] == ["The ferry sank in 1998.", "Nobody was hurt."]


TAGS = "<table> </table> <tr> </tr> <td> </td> <th> <ul> </ul> <li> </li> <h2> </h2> <p> <br>"
TEXTS = ["\n\n", "\n", "The ferry sank. ", "Ann left in 1998. ", "- ", "> ", "| a |\n|---|\n"]


@given(st.lists(st.sampled_from([*TAGS.split(), *TEXTS]), max_size=12))
def test_any_tags_keep_every_statement(pieces: list[str]) -> None:
    text = "".join(pieces)
    units = read_response(text).units
    assert all(0 <= unit.span.start < unit.span.end <= len(text) for unit in units)
    for statement in ("The ferry sank", "Ann left in 1998"):
        assert (statement in text) == any(statement in unit.text for unit in units if unit.asserts)
