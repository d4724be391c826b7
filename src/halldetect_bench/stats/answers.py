"""The questions that the evaluation answers, each in a sentence with its numbers and intervals.

A question whose results are missing is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from halldetect_bench.stats.cost import mean_cost
from halldetect_bench.stats.evidence import Evidence, Scores, model_of
from halldetect_bench.stats.growth import Bin, growth
from halldetect_bench.stats.resampling import Figure
from halldetect_bench.stats.sentence_level import sentence_quality


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with its answer."""

    question: str
    text: str


def gain(found: Figure) -> str:
    """Return a difference with its interval."""
    if found.value is None:
        return "not known"
    if found.low is None or found.high is None:
        return f"{found.value:+.3f}"
    return f"{found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f})"


def answers(evidence: Evidence) -> list[Answer]:
    """Return every answer that the results give."""
    asked: tuple[tuple[str, Callable[[Evidence], str | None]], ...] = (
        ("What is decomposition worth?", _decomposition),
        ("Where does splitting pay?", _where_splitting_pays),
        ("What is the larger verifier worth?", _large),
        ("Can all claims be judged in one prompt?", _one_prompt),
        ("How do accuracy and cost grow with the source and the claims?", _growth),
        ("Does it find the wrong sentence?", _sentences),
    )
    found = ((question, answer(evidence)) for question, answer in asked)
    return [Answer(question, text) for question, text in found if text]


def _gain(evidence: Evidence, first: Scores, second: Scores, text: str) -> str | None:
    """Return a text with the gain of the second over the first in its {}, and their rows."""
    found = evidence.compare(first, second)
    if found is None:
        return None
    auroc, accuracy = found.means["AUROC"], found.means["balanced accuracy"]
    gains = f"{gain(auroc)} AUROC and {gain(accuracy)} balanced accuracy"
    return f"{text.format(gains)}, on {found.rows:,} rows."


def _verifier(evidence: Evidence, method: str) -> str | None:
    return model_of(evidence.headers[method].method, "verifier")


def _on_whole(evidence: Evidence, method: str) -> str | None:
    """Return the method with one call on the whole texts and the same verifier, or None."""
    return evidence.find("nli-only", _verifier(evidence, method))


def _decomposition(evidence: Evidence) -> str | None:
    parts = []
    for method in dict.fromkeys([evidence.reference, evidence.find("halldetect", "large")]):
        if method and (whole := _on_whole(evidence, method)):
            text = (
                f"With `{_verifier(evidence, method)}`, splitting the texts gains {{}} over one "
                "call on the whole texts"
            )
            parts.append(_gain(evidence, evidence.scores[whole], evidence.scores[method], text))
    return " ".join(filter(None, parts))


def _where_splitting_pays(evidence: Evidence) -> str | None:
    whole = _on_whole(evidence, evidence.reference) if evidence.reference else None
    scores = evidence.scores
    found = evidence.compare(scores[whole], scores[evidence.reference]) if whole else None
    if found is None:
        return None
    by_size = sorted(
        ((name, one["AUROC"]) for name, one in found.by_dataset.items()),
        key=lambda item: -(item[1].value or 0.0),
    )
    better = [f"{name} {gain(one)}" for name, one in by_size if (one.low or 0) > 0]
    worse = [f"{name} {gain(one)}" for name, one in by_size if (one.high or 0) < 0]
    return (
        f"AUROC gained, beyond chance: {', '.join(better) or 'no dataset'}. Lost: "
        f"{', '.join(worse) or 'no dataset'}."
    )


def _large(evidence: Evidence) -> str | None:
    large, base = evidence.find("halldetect", "large"), evidence.reference
    if large is None or large == base:
        return None
    return _gain(evidence, evidence.scores[base], evidence.scores[large], "{} over `base`")


def _one_prompt(evidence: Evidence) -> str | None:
    large, together = (evidence.find(name, "large") for name in ("halldetect", "one-prompt"))
    if large is None or together is None:
        return None
    text = "One prompt for all sentences gives {} against one claim at a time"
    first, second = (evidence.scores[name] for name in (large, together))
    found = _gain(evidence, first, second, text)
    both = [
        (evidence.cells[name, large][at], evidence.cells[name, together][at])
        for name in evidence.on_all_rows.shared
        for at in first.get(name, {}).keys() & second.get(name, {}).keys()
    ]
    if found is None or not both:
        return found
    alone, joint = map(mean_cost, zip(*both, strict=True))
    tokens = f"{joint.tokens:,.0f} tokens for a response instead of {alone.tokens:,.0f}"
    return f"{found} It reads {tokens}."


def _growth(evidence: Evidence) -> str | None:
    known: dict[str, dict[str, list[Bin]]] = {}
    for one in growth(evidence):
        if one.auroc.value is not None:
            known.setdefault(one.by, {}).setdefault(one.dataset, []).append(one)
    parts = []
    for by, datasets in known.items():
        ends = {name: (bins[0], bins[-1]) for name, bins in datasets.items() if len(bins) > 1}
        areas = {name: [one.auroc.value or 0.0 for one in both] for name, both in ends.items()}
        if ends:
            tokens = median(many.tokens / max(few.tokens, 1) for few, many in ends.values())
            shown = (f"{name} {few:.3f} and {many:.3f}" for name, (few, many) in areas.items())
            parts.append(
                f"By {by}, AUROC is lower in the longest range than in the shortest in "
                f"{sum(many < few for few, many in areas.values())} of {len(ends)} datasets, with "
                f"{tokens:.1f} times the tokens (median): {'; '.join(shown)}."
            )
    return " ".join([*parts, "`sizes.csv` has every range, with intervals."]) if parts else None


def _sentences(evidence: Evidence) -> str | None:
    parts = []
    for (dataset, method), cell in evidence.cells.items():
        if method == evidence.reference:
            area, scored = sentence_quality(list(cell.values()))
            if area is not None:
                parts.append(f"{dataset} {area:.3f} ({scored:,} sentences)")
    return f"AUROC of its claims on labelled sentences: {', '.join(parts)}." if parts else None
