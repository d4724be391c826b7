"""Kinds of error, measured: what a row should get, how a verifier confirms it, and the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import error_kinds
from benchmarks.error_kinds import Case
from halldetect.protocols import Verifier
from halldetect.report import ErrorKind, ErrorReport, Probabilities

TOWER = "The tower was built in 1875 by Olaf Berg."


class SaysTheSame:
    """A verifier for which a source entails its own sentences, and nothing else."""

    description = {"name": "fake"}  # noqa: RUF012
    max_tokens = 512

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [
            Probabilities(1.0, 0.0, 0.0) if claim in source else Probabilities(0.0, 1.0, 0.0)
            for source, claim in pairs
        ]


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ("It closed in May 2019.", ErrorKind.DATE),
        ("It cost 40 times more.", ErrorKind.NUMBER),
        ("It was Anna Holm who left.", ErrorKind.NAME),
        ("It left quickly.", None),
    ],
)
def test_an_edit_has_the_kind_of_the_words_that_it_puts_in(
    after: str, kind: ErrorKind | None
) -> None:
    assert error_kinds.changed_kind("It closed and was who left of them behind.", after) is kind


@pytest.mark.parametrize(
    ("claim", "error", "text"),
    [
        ("It opened in 1885.", ErrorReport(ErrorKind.DATE, "1885", "1875"), "It opened in 1875."),
        ("It did not open.", ErrorReport(ErrorKind.NEGATION, "not", ""), "It did open."),
        ("The lift works.", ErrorReport(ErrorKind.NEGATION, "", "not"), None),
        (
            "It shut because it rained.",
            ErrorReport(ErrorKind.CAUSE, "because it rained.", ""),
            "It shut.",
        ),
        ("It shut.", ErrorReport(ErrorKind.INVENTED, "shut", ""), None),
    ],
)
def test_an_error_is_mended_with_the_words_of_the_source(
    claim: str, error: ErrorReport, text: str | None
) -> None:
    assert error_kinds.mended(claim, error) == text


def test_a_verifier_confirms_the_error_whose_mending_makes_the_claim_true() -> None:
    claim = "The tower was not built in 1885 by Olaf Berg."
    wanted = frozenset({ErrorKind.DATE})
    both = Case("own", "date", claim, TOWER, ErrorKind.DATE, wanted, contradicted=True)
    one = Case("own", "date", claim.replace("not ", ""), TOWER, ErrorKind.DATE, wanted)
    verifier: Verifier = SaysTheSame()
    chosen = error_kinds.choices([both, one], verifier)
    assert chosen["by_rule"] == [ErrorKind.DATE, ErrorKind.DATE]
    assert chosen["confirmed_first"] == [ErrorKind.DATE, ErrorKind.DATE]
    assert chosen["confirmed_only"] == [None, ErrorKind.DATE]


def test_precision_and_recall_are_counted_by_kind() -> None:
    date, name = ErrorKind.DATE, ErrorKind.NAME
    cases = [Case("own", "t", "", "", wanted, frozenset({wanted})) for wanted in (date, date, name)]
    found = error_kinds.figures(cases, [date, None, date])
    assert found["precision_by_kind"] == {"date": [1, 2], "name": [0, 0]}
    assert found["recall_by_kind"] == {"date": [1, 2], "name": [0, 1]}
    assert (found["given"], found["precision"], found["recall"]) == (2, 0.5, 0.3333)


def test_the_command_measures_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "summedits").mkdir()
    (tmp_path / "bump").mkdir()
    row = {
        "corrected_error_type": "Extrinsic Entity Error",
        "reference_summary": TOWER,
        "edited_summary": TOWER.replace("Olaf Berg", "Hans Moe"),
        "article": TOWER,
    }
    (tmp_path / "bump" / "task1_dataset.json").write_text(json.dumps([row]), "utf-8")
    monkeypatch.setattr(error_kinds, "minimal_pairs", lambda: iter(()))
    out = tmp_path / "out.json"
    error_kinds.main(["--data", str(tmp_path), "--out", str(out)])
    found = json.loads(out.read_text("utf-8"))["rules"]["bump"]["by_rule"]
    assert found["precision_by_kind"] == {"name": [1, 1]}
