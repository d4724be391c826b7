"""The questions that the evaluation answers, each in a sentence with its numbers and intervals.

A question whose results are missing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from halldetect_bench.methods.ablation import Variant, extractor_of
from halldetect_bench.stats.cost import latency_sentences
from halldetect_bench.stats.evidence import Compared, Evidence, Scores
from halldetect_bench.stats.growth import Bin, growth
from halldetect_bench.stats.resampling import Figure
from halldetect_bench.stats.sentence_level import sentence_quality

FULL: Variant = ("all", "support")
WHOLE_SOURCE: Variant = ("1", "support")
FED: Variant = ("all", "fed")


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
    asked: tuple[tuple[str, Callable[[], str | None]], ...] = (
        ("What is decomposition worth?", lambda: _decomposition(evidence)),
        ("Where does splitting pay?", lambda: _where_splitting_pays(evidence)),
        ("What are windows worth?", lambda: _windows(evidence)),
        ("What is the score of support worth?", lambda: _scoring(evidence)),
        ("What is the larger verifier worth?", lambda: _large(evidence)),
        ("Can all claims be judged in one prompt?", lambda: _one_prompt(evidence)),
        (
            "Is chunked verification cheaper than one long-context call, or than reading the "
            "source once?",
            lambda: latency_sentences(evidence) or None,
        ),
        (
            "How do accuracy and cost grow with the source and the claims?",
            lambda: _growth(growth(evidence)),
        ),
        ("Does it find the wrong sentence?", lambda: _sentences(evidence)),
    )
    found = ((question, answer()) for question, answer in asked)
    return [Answer(question, text) for question, text in found if text is not None]


def _both(compared: Compared) -> str:
    auroc, accuracy = compared.means["AUROC"], compared.means["balanced accuracy"]
    return f"{gain(auroc)} AUROC and {gain(accuracy)} balanced accuracy"


def _verifier(evidence: Evidence, method: str) -> str | None:
    return (evidence.headers[method].method.get("verifier") or {}).get("name")


def _on_whole(evidence: Evidence, method: str) -> str | None:
    """Return the method with one call on the whole texts and the same verifier, or None."""
    verifier = _verifier(evidence, method)
    return None if verifier is None else evidence.find("nli-only", verifier_name=verifier)


def _decomposition(evidence: Evidence) -> str | None:
    parts = []
    ours = [evidence.reference, evidence.find("halldetect", verifier_name="large")]
    for method in dict.fromkeys(one for one in ours if one):
        whole = _on_whole(evidence, method)
        if whole is None:
            continue
        found = evidence.compare(evidence.scores(whole), evidence.scores(method))
        if found is not None:
            parts.append(
                f"With `{_verifier(evidence, method)}`, claims, windows and scoring together give "
                f"{_both(found)} over one call on the whole texts, on {found.rows:,} rows"
            )
    return ". ".join(parts) + "." if parts else None


def _where_splitting_pays(evidence: Evidence) -> str | None:
    whole = _on_whole(evidence, evidence.reference) if evidence.reference else None
    if whole is None:
        return None
    found = evidence.compare(evidence.scores(whole), evidence.scores(evidence.reference))
    if found is None:
        return None
    by_size = sorted(
        ((name, one["AUROC"]) for name, one in found.by_dataset.items()),
        key=lambda item: -(item[1].value or 0.0),
    )
    better = [f"{name} {gain(one)}" for name, one in by_size if (one.low or 0) > 0]
    worse = [f"{name} {gain(one)}" for name, one in by_size if (one.high or 0) < 0]
    return (
        f"AUROC of `{evidence.reference}` less that of `{whole}`: better than chance explains on "
        f"{', '.join(better) or 'no dataset'}; worse on {', '.join(worse) or 'no dataset'}."
    )


def _variants(evidence: Evidence) -> tuple[str, Mapping[Variant, Scores]] | None:
    """Return the ablation with the claims of the reference method, or with sentences."""
    if not evidence.reference:
        return None
    method = evidence.headers[evidence.reference].method
    verifier = _verifier(evidence, evidence.reference)
    known = {extractor_of(one) for one in evidence.ablations}
    for name in ((method.get("extractor") or {}).get("name"), "sentences"):
        if name in known and verifier is not None:
            scores = evidence.ablation(name, verifier)
            if scores[FULL]:
                return name, scores
    return None


def _compared(evidence: Evidence, first: Variant, second: Variant) -> Compared | None:
    found = _variants(evidence)
    return None if found is None else evidence.compare(found[1][first], found[1][second])


def _windows(evidence: Evidence) -> str | None:
    whole = _compared(evidence, WHOLE_SOURCE, FULL)
    if whole is None:
        return None
    return (
        f"Windows of five scales give {_both(whole)} over the whole source alone, every pair "
        f"judged, on {whole.rows:,} rows."
    )


def _scoring(evidence: Evidence) -> str | None:
    ours = _compared(evidence, FED, FULL)
    if ours is None:
        return None
    return (
        "Counting contradiction in the same window, and the worst claim (the default), gives "
        f"{_both(ours)} over the paper's score (FED), every pair judged, on {ours.rows:,} rows."
    )


def _large(evidence: Evidence) -> str | None:
    large = evidence.find("halldetect", verifier_name="large")
    if large is None or large == evidence.reference:
        return None
    found = evidence.compare(evidence.scores(evidence.reference), evidence.scores(large))
    return None if found is None else f"{_both(found)} over `base`, on {found.rows:,} rows."


def _one_prompt(evidence: Evidence) -> str | None:
    large = evidence.find("halldetect", verifier_name="large")
    together = evidence.find("one-prompt", verifier_name="large")
    if large is None or together is None:
        return None
    found = evidence.compare(evidence.scores(large), evidence.scores(together))
    if found is None:
        return None
    return (
        f"`large` with all sentences of a response in one prompt: {_both(found)} against one claim "
        f"at a time, on {found.rows:,} rows."
    )


def _growth(bins: list[Bin]) -> str | None:
    parts = []
    for by in dict.fromkeys(one.by for one in bins):
        known = [one for one in bins if one.by == by and one.auroc.value is not None]
        if len(known) > 1:
            ends = " and ".join(
                f"{one.auroc.value:.3f} ({one.auroc.low:.3f} to {one.auroc.high:.3f}) with "
                f"{one.tokens:,.0f} verifier tokens at {one.range}"
                for one in (known[0], known[-1])
            )
            parts.append(f"By {by}, AUROC is {ends}")
    return ". ".join(parts) + "." if parts else None


def _sentences(evidence: Evidence) -> str | None:
    parts = []
    for (dataset, method), cell in evidence.cells.items():
        if method == evidence.reference:
            found = sentence_quality(list(cell.values()))
            if found is not None and found.auroc is not None:
                parts.append(f"{dataset} {found.auroc:.3f} ({found.scored:,} sentences)")
    return f"AUROC of its claims on labelled sentences: {', '.join(parts)}." if parts else None
