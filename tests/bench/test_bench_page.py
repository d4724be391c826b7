"""The report as a document: what it says beside the tables, and its page."""

from __future__ import annotations

import gzip
import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halldetect.cli import main
from halldetect_bench.blocks import Drawing, Heading, Paragraph, Table, markdown, page
from halldetect_bench.datasets.rows import Row
from halldetect_bench.document import document
from halldetect_bench.methods.summac_conv import BINS, SummacConv, histogram, shipped
from halldetect_bench.predictions import ledger, read_all, row_digest
from halldetect_bench.published import PAPER
from halldetect_bench.tables import tables
from halldetect_bench.verdicts import race
from tests.bench.test_tables import COST, results
from tests.support.fakes import OverlapVerifier

GOLD: list[bool | None] = [True, False] * 20
GOOD = [0.9 - 0.01 * (n // 2) if n % 2 == 0 else 0.1 + 0.01 * (n // 2) for n in range(40)]
BAD = [1 - score for score in GOOD]


def told(*found: Any, **options: Any) -> str:
    return markdown(document(tables(list(found), order=("halldetect",), samples=100), **options))


def test_it_says_where_the_first_method_loses() -> None:
    lost = told(results("d", "halldetect", BAD, GOLD), results("d", "minicheck", GOOD, GOLD))
    part = lost.split("## Where halldetect loses")[1].split("##")[0]
    assert "| d | minicheck | AUROC | +1.000" in part
    won = told(results("d", "halldetect", GOOD, GOLD), results("d", "minicheck", BAD, GOLD))
    assert "No method is better than halldetect" in won
    assert "loses" not in told(results("d", "halldetect", GOOD, GOLD))


def test_it_answers_who_is_faster_from_rows_scored_alone() -> None:
    quick, slow = {**COST, "seconds": {"verify": 0.5}}, {**COST, "seconds": {"generate": 2.0}}
    both = [
        results("d", "halldetect", GOOD, GOLD, quick),
        results("d", "long-context", GOOD, GOLD, slow),
    ]
    (answer,) = race(tables(both, samples=10))
    assert (answer.seconds, answer.ratio) == ((0.5, 2.0), 4.0)
    swapped = [replace(both[0], predictions=both[1].predictions),
               replace(both[1], predictions=both[0].predictions)]  # fmt: skip
    alone = tables(swapped, samples=10)
    text = told(*both, latency={"latency": alone})
    assert "| d latency | halldetect | long-context | 2.000 | 0.500 | 0.250 |" in text
    assert "In 0 of 1 pairings" in text
    assert "One response at a time" in text


def test_published_figures_are_marked_and_complete() -> None:
    text = told(results("qags-cnndm", "halldetect", GOOD, GOLD))
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
    assert "<td class=n>0.5 <small>[0.1, 0.9]</small></td>" in text
    assert 'href="#a-b-c"' in text
    assert "data:image/svg+xml;base64," in text
    assert "http" not in text.replace("http-equiv", "")


def test_summac_conv_by_hand() -> None:
    weights = [0.0] * BINS
    weights[-1] = 3.0
    layer = {"weights": weights, "offset": -1.0}
    method = SummacConv(OverlapVerifier(), layer)
    assert list(histogram([0.0, 0.01, 0.5, 1.0]).nonzero()[0]) == [0, 25, 49]
    assert histogram([0.0, 0.01])[0] == 2
    row = Row("d", "1", "The bridge opened. It is red.", "The bridge opened. Nobody knows.", True)
    (found,) = method.score_many([row])
    # The first sentence is entailed by one source sentence (3 - 1), the second by none (-1).
    assert found.score == pytest.approx(1 / (1 + 2.718281828459045 ** ((2 - 1) / 2)))
    assert method.description["layer"] == layer


def test_the_shipped_layer_says_where_it_comes_from() -> None:
    layer = shipped()
    assert len(layer["weights"]) == layer["bins"] == BINS
    assert set(layer["data"]) <= {"factcg", "bump-task1", "bump", "defacto-train", "defacto-val"}
    assert layer["rows"] > layer["faithful"] > 0
    # More support must not make a sentence look worse.
    assert layer["weights"][-1] > layer["weights"][0]


def test_packed_results_have_the_same_figures_and_no_words(tmp_path: Path) -> None:
    made = results("d", "a", GOOD, GOLD)
    gold = [["Ann won the race.", True], ["Bob lost.", False], ["Cy slept.", False]]
    claims = [["Ann won.", 0.9], ["The race was won.", 0.4], ["Bob lost.", 0.6], ["Zzz", None]]
    worded = replace(
        made,
        predictions=tuple(
            replace(item, claims=claims, gold_claims=gold) for item in made.predictions
        ),
    )
    for folder in (tmp_path / "in", tmp_path / "in" / "latency"):
        with ledger(folder, worded.header) as book:
            for item in worded.predictions:
                book.append(item)
    out = tmp_path / "out"
    assert main(["bench", "pack", str(tmp_path / "in"), str(out)]) == 0
    (first,) = out.glob("d/*")
    assert [path.name for path in out.glob("latency/d/*")] == [first.name]
    text = gzip.decompress(first.read_bytes()).decode()
    assert not any(word in text for word in ("Ann", "race", "Bob", "slept", "Zzz"))
    before, after = (tables(read_all(folder), samples=20) for folder in (tmp_path / "in", out))
    assert before.claimwise == after.claimwise
    assert before.claimwise[0].scored == 80
    assert before.quality == after.quality
    assert main(["bench", "pack", str(tmp_path / "none"), str(out)]) == 2


def gpu_bench() -> Any:
    return importlib.import_module("benchmarks.gpu_bench")


def test_rows_taken_to_another_machine_are_the_same_rows(tmp_path: Path) -> None:
    script = gpu_bench()
    rows = [
        Row("d", "1", ("One.", "Two."), "One.", False, 4.5, (("One.", False),), None, "x", "Why?"),
        Row("d", "2", "Ünïcode \u2028 text.", "Yes.", True, kind="number", document="y"),
    ]
    path = tmp_path / "rows.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        script.write_rows(file, "d", rows)
    assert script.read_rows(path, None) == {"d": rows}
    assert [row_digest(row) for row in script.read_rows(path, 1)["d"]] == [row_digest(rows[0])]


@pytest.mark.browser
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    from tests.support.chromium import chromium

    found = [results("d", "halldetect", GOOD, GOLD), results("d", "minicheck", BAD, GOLD)]
    for one in found:
        with ledger(tmp_path / "in", one.header) as book:
            for item in one.predictions:
                book.append(item)
    assert main(["bench", "report", str(tmp_path / "in"), "--samples", "10"]) == 0
    with chromium(tmp_path / "profile") as browser:
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
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_remarks_beside_the_results_open_the_report() -> None:
    text = told(results("d", "halldetect", GOOD, GOLD), remarks=["Made in a hurry.", "On a bus."])
    assert text.index("Made in a hurry.") < text.index("On a bus.") < text.index("## d")
