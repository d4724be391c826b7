"""Two responses side by side: which claims belong together, which is better, and the views."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from halldetect import Detector, Report
from halldetect.cli import main
from halldetect.errors import InputError
from halldetect.report import Verdict
from halldetect.report.comparison import ClaimPair, Relation, compare
from tests.support.fakes import OverlapVerifier

SOURCE = "The mill was built in 1790. Today it is a museum. Entry costs four euros."
A = "The mill was built in 1790. Entry costs six euros. The owner is a baker."
B = "Entry costs four euros. The mill was built in 1790! Today it is a museum."


def report(response: str, source: str = SOURCE) -> Report:
    return Detector(OverlapVerifier()).check(source, response)


def test_claims_are_paired_by_what_they_are_about() -> None:
    compared = compare(report(A), report(B))
    assert compared.pairs == (
        ClaimPair(Relation.SAME, 0, 1),
        ClaimPair(Relation.DIFFERENT, 1, 0),
        ClaimPair(Relation.ONLY_A, 2, None),
        ClaimPair(Relation.ONLY_B, None, 2),
    )
    assert compared.better == "b"
    assert compare(report(B), report(A)).better == "a"
    assert compare(report(A), report(A)).better is None


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_can_be_compared(verdict: Verdict) -> None:
    other = replace(report(B), verdict=verdict)
    assert compare(report(A), other).better == "b"


def test_claims_about_one_passage_are_paired() -> None:
    one, other = report("A ticket costs six euros."), report("Entry for four people costs a lot.")
    (pair,) = compare(one, other).pairs
    assert pair.relation is Relation.DIFFERENT
    elsewhere = [replace(claim, proof=None) for claim in other.claims]
    apart = compare(one, replace(other, claims=tuple(elsewhere))).pairs
    assert [pair.relation for pair in apart] == [Relation.ONLY_A, Relation.ONLY_B]


def test_a_negation_is_a_difference() -> None:
    (pair,) = compare(report("Entry is free today."), report("Entry is not free today.")).pairs
    assert pair.relation is Relation.DIFFERENT


def test_every_claim_appears_once() -> None:
    compared = compare(report(A + A), report(B + B + A))
    assert sorted(pair.a for pair in compared.pairs if pair.a is not None) == list(
        range(len(compared.a.claims))
    )
    assert sorted(pair.b for pair in compared.pairs if pair.b is not None) == list(
        range(len(compared.b.claims))
    )


def test_a_claim_is_paired_with_the_most_similar_one_and_no_other() -> None:
    one = report("The mill was built in 1790.")
    other = report("The mill was built in 1790. The old mill was built of wood in 1790.")
    assert compare(one, other).pairs == (
        ClaimPair(Relation.SAME, 0, 0),
        ClaimPair(Relation.ONLY_B, None, 1),
    )
    assert compare(other, one).pairs == (
        ClaimPair(Relation.SAME, 0, 0),
        ClaimPair(Relation.ONLY_A, 1, None),
    )


def test_different_sources_are_refused() -> None:
    with pytest.raises(InputError, match="different sources"):
        compare(report(A), report(A, SOURCE + " More."))


def test_the_views_show_both_sides_and_escape_them() -> None:
    from halldetect.render.comparison_views import (
        comparison_html,
        comparison_terminal,
        comparison_view,
    )

    evil = "<script>alert(1)</script> costs six euros."
    compared = compare(report(evil), report(B))
    page = comparison_html(compared)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; costs six euros." in page
    assert "No matching sentence in A." in page
    view = comparison_view(compared)
    assert [side.verdict for _, side in view["sides"]] == ["hallucinated", "faithful"]
    text = comparison_terminal(compare(report(A), report(B)), width=80, color=False)
    assert text.startswith("The source backs B better; 3 claims differ.")
    assert "Only in A" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, page = tmp_path / "source.txt", tmp_path / "both.html"
    source.write_text(SOURCE)
    base = ["--quiet"]
    same = "Entry costs four euros."
    assert main(["compare", str(source), same, same, "--html", str(page), *base]) == 0
    assert "equally well; 0 claims differ" in capsys.readouterr().out
    assert "HallDetect comparison" in page.read_text()
    assert main(["compare", str(source), same, "Whales sing.", "--json", *base]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["better"], len(data["pairs"])) == ("a", 2)
    assert Report.from_dict(data["b"]).response == "Whales sing."
    assert main(["compare", same, "Whales sing.", "--source", str(source), "--json", *base]) == 1
    assert json.loads(capsys.readouterr().out)["a"]["document_names"] == ["source.txt"]
    assert main(["compare", str(source), same, "", *base]) == 3
    for texts in (["one"], [str(source), "a", "b", "c"], ["a", "b"]):
        assert main(["compare", *texts, *base]) == 2
