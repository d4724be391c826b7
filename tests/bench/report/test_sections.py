"""The report as a document: what it says beside the tables, and its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halldetect.cli import main
from halldetect_bench.predictions import open_predictions
from halldetect_bench.report.blocks import Drawing, Heading, Paragraph, Table, markdown, page
from halldetect_bench.report.published import PAPER
from halldetect_bench.report.sections import report_blocks
from halldetect_bench.stats.tables import make_tables, speed_comparisons
from tests.support.bench_fakes import COST, make_results

GOLD: list[bool | None] = [True, False] * 20
GOOD = [0.9 - 0.01 * (n // 2) if n % 2 == 0 else 0.1 + 0.01 * (n // 2) for n in range(40)]
BAD = [1 - score for score in GOOD]


def told(*found: Any, **options: Any) -> str:
    return markdown(
        report_blocks(make_tables(list(found), order=("halldetect",), samples=100), **options)
    )


def test_it_says_where_the_first_method_loses() -> None:
    lost = told(
        make_results("d", "halldetect", BAD, GOLD), make_results("d", "minicheck", GOOD, GOLD)
    )
    part = lost.split("## Where halldetect loses")[1].split("##")[0]
    assert "| d | minicheck | AUROC | +1.000" in part
    won = told(
        make_results("d", "halldetect", GOOD, GOLD), make_results("d", "minicheck", BAD, GOLD)
    )
    assert "No method is better than halldetect" in won
    assert "loses" not in told(make_results("d", "halldetect", GOOD, GOLD))


def test_it_answers_who_is_faster_from_rows_scored_alone() -> None:
    quick, slow = {**COST, "seconds": {"verify": 0.5}}, {**COST, "seconds": {"generate": 2.0}}
    both = [
        make_results("d", "halldetect", GOOD, GOLD, quick),
        make_results("d", "long-context", GOOD, GOLD, slow),
    ]
    (answer,) = speed_comparisons(make_tables(both, samples=10))
    assert (answer.seconds, answer.ratio) == ((0.5, 2.0), 4.0)
    swapped = [replace(both[0], predictions=both[1].predictions),
               replace(both[1], predictions=both[0].predictions)]  # fmt: skip
    alone = make_tables(swapped, samples=10)
    text = told(*both, latency={"latency": alone})
    assert "| d latency | halldetect | long-context | 2.000 | 0.500 | 0.250 |" in text
    assert "In 0 of 1 pairings" in text
    assert "One response at a time" in text


def test_published_figures_are_marked_and_complete() -> None:
    text = told(make_results("qags-cnndm", "halldetect", GOOD, GOLD))
    assert "**Published, not measured here**" in text
    assert "| HallDetect | Gemma-2-9B | 0.771 | 0.643 | 0.961 |" in text
    assert "falsesum: nothing was measured here." in text
    assert "qags-cnndm: nothing" not in text
    for rows in PAPER.values():
        assert len(rows) == 11
        for _, _, f1, precision, recall in rows:
            # The paper's own figures agree with each other up to rounding, or nearly.
            assert f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=0.004)


def test_a_page_holds_everything_and_lets_no_text_act(tmp_path: Path) -> None:
    drawing = tmp_path / "a.svg"
    drawing.write_text("<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>")
    text = page(
        [
            Heading("A <b> & c", 2),
            Paragraph("Run `x < y` and **see**."),
            Table(["name", "value"], [["<script>", "0.5 [0.1, 0.9]"]]),
            Drawing(drawing, "a curve"),
        ],
        "Results",
    )
    assert "<script>" not in text
    assert "<code>x &lt; y</code> and <strong>see</strong>" in text
    assert '<td class="figure">0.5 <small>[0.1, 0.9]</small></td>' in text
    assert 'href="#a-b-c"' in text
    assert "data:image/svg+xml;base64," in text
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.browser
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    from tests.support.chromium import chromium, look

    found = [make_results("d", "halldetect", GOOD, GOLD), make_results("d", "minicheck", BAD, GOLD)]
    for one in found:
        with open_predictions(tmp_path / "in", one.header) as book:
            for item in one.predictions:
                book.append(item)
    assert main(["bench", "report", str(tmp_path / "in"), "--samples", "10"]) == 0
    with chromium(tmp_path / "profile") as browser:
        look(browser, width=1280, height=800, scheme="light")
        browser.get((tmp_path / "in" / "report.html").as_uri())
        assert browser.title == "HallDetect: results"
        widths = browser.execute_script(
            "return [...document.images].map(image => image.naturalWidth)"
        )
        assert len(widths) == 2
        assert all(width > 100 for width in widths)
        # Every link of the contents leads somewhere, and the page itself does not scroll sideways.
        missing = browser.execute_script(
            "return [...document.querySelectorAll('nav a')]"
            ".filter(link => !document.querySelector(link.hash)).length"
        )
        assert missing == 0
        assert browser.execute_script(
            "return document.documentElement.scrollWidth <= window.innerWidth"
        )
        # At 1280 pixels no column of a table is cut off.
        cut = browser.execute_script(
            "return [...document.querySelectorAll('.scroll')]"
            ".filter(box => box.scrollWidth > box.clientWidth + 1).length"
        )
        assert cut == 0
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_remarks_beside_the_results_open_the_report() -> None:
    text = told(
        make_results("d", "halldetect", GOOD, GOLD), remarks=["Made in a hurry.", "On a bus."]
    )
    assert text.index("Made in a hurry.") < text.index("On a bus.") < text.index("## d")
