"""Two responses to the same source side by side: shared and unique claims, and their states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from halldetect.errors import InputError
from halldetect.reading.overlap import content_keys
from halldetect.reading.words import words
from halldetect.report import ClaimReport, Report, Status, Verdict
from halldetect.report.json_form import plain

# Claims that share at least this part of their content words are about the same thing.
_MIN_SHARED = 0.5
# Verdicts from the best to the worst.
_RANKED = (Verdict.FAITHFUL, Verdict.ABSTAINED, Verdict.UNCHECKABLE, Verdict.HALLUCINATED)


class Relation(StrEnum):
    """The relation of a claim to the other response."""

    SAME = "same"
    DIFFERENT = "different"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


@dataclass(frozen=True, slots=True)
class ClaimPair:
    """A claim of each response, by index, about the same thing; None where one lacks it."""

    relation: Relation
    a: int | None
    b: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The reports of two responses to the same source, and which claims belong together.

    The pairs are in the order of the first response; then come claims of the second one only.
    """

    a: Report
    b: Report
    pairs: tuple[ClaimPair, ...]

    @property
    def better(self) -> str | None:
        """Return `a` or `b`, whichever the source supports better; None if they are equal.

        The verdict counts first, then the share of claims that are not supported.
        """
        first, second = _badness(self.a), _badness(self.b)
        return None if first == second else "a" if first < second else "b"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in plain dicts, lists and strings."""
        return {
            "better": self.better,
            "pairs": plain(self.pairs),
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
        }


def compare(a: Report, b: Report) -> Comparison:
    """Compare the reports of two responses to the same source.

    Claims match if they share most of their content words, or rest on the same passage and share
    some. The most similar claims are paired first, and each claim is in one pair only. Raises
    InputError if the sources differ.
    """
    if a.documents != b.documents:
        raise InputError("the two reports are about different sources")
    partner = _partners(a, b)
    pairs = []
    for at, claim in enumerate(a.claims):
        other = partner.get(at)
        relation = Relation.ONLY_A
        if other is not None:
            same = _wording(claim.text) == _wording(b.claims[other].text)
            relation = Relation.SAME if same else Relation.DIFFERENT
        pairs.append(ClaimPair(relation, at, other))
    alone = sorted({*range(len(b.claims))} - {*partner.values()})
    pairs += [ClaimPair(Relation.ONLY_B, None, at) for at in alone]
    return Comparison(a, b, tuple(pairs))


def _partners(a: Report, b: Report) -> dict[int, int]:
    """Return the index of the matching claim of the second response, by claim of the first."""
    first = [content_keys(claim.text) for claim in a.claims]
    second = [content_keys(claim.text) for claim in b.claims]
    ranked = sorted(
        (-share, at, place)
        for at, one in enumerate(first)
        for place, other in enumerate(second)
        if (share := 2 * len(one & other) / max(len(one) + len(other), 1))
        and (share >= _MIN_SHARED or _same_passage(a.claims[at], b.claims[place]))
    )
    partner: dict[int, int] = {}
    for _, at, place in ranked:
        if at not in partner and place not in partner.values():
            partner[at] = place
    return partner


def _same_passage(one: ClaimReport, other: ClaimReport) -> bool:
    """Return True if the passages of two claims overlap."""
    a, b = one.proof, other.proof
    return bool(a and b and a.document == b.document and a.span.overlaps(b.span))


def _wording(text: str) -> list[str]:
    return [word.norm for word in words(text)]


def _badness(report: Report) -> tuple[int, float]:
    flagged = sum(claim.status is not Status.SUPPORTED for claim in report.claims)
    return _RANKED.index(report.verdict), flagged / max(len(report.claims), 1)
