"""What is read of a response and of a source: nothing is left unsaid, nothing denied supports."""

from __future__ import annotations

import pytest

from tests.support.known_defects import defect, judged, passed, said

SOURCE = (
    "The reading room of the town archive is open from Tuesday to Friday. Copies cost ten cents a "
    "page. Visitors may not bring food. The archive was founded in 1911."
)
RIGHT = "The archive was founded in 1911."


@pytest.mark.parametrize(
    "courtesy",
    [
        "If you need any help the archive is free of charge every day",
        "I hope this is clear the archive was founded by the king",
        "I wish you all the best the copies are free",
        pytest.param(
            "It depends on your needs the archive lends every book", marks=defect("Hardening")
        ),
    ],
)
def test_a_courtesy_with_a_main_clause_is_judged(courtesy: str) -> None:
    """D5: the statement behind a courtesy is judged, or listed as perhaps asserting."""
    assert courtesy.split(" the ")[-1] in said(judged(SOURCE, courtesy))


@pytest.mark.parametrize(
    "heading",
    [
        "## Closure of the archive in winter",
        "### Demolition of the building",
        "Loss of all records to fire\n===",
    ],
)
def test_a_heading_of_nouns_is_judged(heading: str) -> None:
    words = heading.strip("#=\n ")
    assert words in said(judged(SOURCE, f"{heading}\n\n{RIGHT}"))


@defect("Hardening")
def test_a_table_header_is_judged() -> None:
    table = "| Sunday opening | Café with terrace |\n|---|---|\n| | |"
    heard = said(judged(SOURCE, f"{table}\n\n{RIGHT}"))
    assert "Sunday opening" in heard
    assert "terrace" in heard


@defect("Hardening")
def test_what_an_abstention_presupposes_is_listed() -> None:
    for text in (
        "The source does not mention when the archive burned down.",
        "The text does not say who forged the oldest charter.",
    ):
        assert said(judged(SOURCE, text)) != "", text


@defect("Hardening")
def test_a_word_in_a_footnote_mark_is_read() -> None:
    """A reader sees "not"; the check sees a citation."""
    assert passed([
        ("Dogs are allowed on the ferry.", "Dogs are [^not] allowed on the ferry."),
        ("The bridge is open to lorries.", "The bridge is[^not] open to lorries."),
    ]) == []  # fmt: skip


@defect("Hardening")
def test_a_short_affirmation_is_not_faithful_to_a_false_question() -> None:
    asked = [
        ("Is the archive open on Mondays?", "Yes."),
        ("Was the archive founded in 1920?", "Exactly!"),
        ("Does a copy cost twenty cents?", "Exactly!"),
        ("Is food allowed in the reading room?", "Absolutely."),
        ("Is food allowed in the reading room?", "Of course."),
    ]
    assert [pair for pair in asked if judged(SOURCE, pair[1], pair[0]).ok] == []


@defect("Hardening")
def test_an_affirmation_of_nothing_is_not_faithful() -> None:
    assert passed((SOURCE, text) for text in ("Indeed.", "Exactly!", "That is right.")) == []


@defect("Hardening")
def test_a_statement_split_over_cells_is_put_together() -> None:
    """Read along the row, each of these is the opposite of the source."""
    assert passed([
        ("Copies are not free.", "| Copies | are | free |\n|---|---|---|"),
        ("The lake is not safe for us.", "| The lake |\n|---|\n| is safe |\n| for us |"),
        ("Dogs may not enter the hall.", "- Dogs\n  - may\n    - enter the hall"),
    ]) == []  # fmt: skip


@defect("Hardening")
@pytest.mark.parametrize(
    ("source", "claim"),
    [
        (
            "# Facts\n\nHoney keeps for years.\n\n## Myths\n\nHoney must be stored in the fridge.",
            "Honey must be stored in the fridge.",
        ),
        ("DRAFT, NOT VALID\n\nThe fee is 40 euros.", "The fee is 40 euros."),
        ("VOID - withdrawn on 3 May\n\nTenants may keep dogs.", "Tenants may keep dogs."),
        (
            "| Said | True |\n|---|---|\n| The pool is heated | No |\n| The gym is new | Yes |",
            "The pool is heated.",
        ),
    ],
)
def test_what_a_source_denies_does_not_support(source: str, claim: str) -> None:
    assert not judged(source, claim).ok


@defect("Hardening")
@pytest.mark.parametrize(
    "page",
    [
        '<p>It seats 90.</p><iframe srcdoc="<p>Smoking is allowed in the hall.</p>"></iframe>',
        '<style>p::after{content:"Smoking is allowed in the hall."}</style><p>It seats 90.</p>',
    ],
)
def test_what_no_reader_of_a_page_sees_does_not_support(page: str) -> None:
    assert not judged(page, "Smoking is allowed in the hall.").ok
