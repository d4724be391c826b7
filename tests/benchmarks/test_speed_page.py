"""The speed page says what the results say, and the replay plans as the package does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect.claims.extraction import Claim
from halldetect.report import Probabilities
from halldetect.text.overlap import Promise
from halldetect.verification.rounds import Task, verify
from halldetect.verification.schedule import Rule
from halldetect.windows.scales import library


def test_the_tables_are_those_of_the_results() -> None:
    from benchmarks.speed_tables import PAGE, filled

    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page, "run python -m benchmarks.speed_tables"
    with pytest.raises(SystemExit, match="no place for"):
        filled("A page without marks.")


class Given:
    """Says what it is told; a word is a token."""

    max_tokens = 1_000_000
    description: dict[str, object] = {}  # noqa: RUF012

    def __init__(self, answers: dict[tuple[str, str], float]) -> None:
        self.answers = answers

    def count_tokens(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def judge(self, pairs: list[tuple[str, str]]) -> list[Probabilities]:
        return [Probabilities(self.answers[pair], 1 - self.answers[pair], None) for pair in pairs]


SOURCE = " ".join(f"Rider {name} crossed the {name} ford at noon." for name in "abcdefghijkl")
CLAIMS = ("Rider b crossed the b ford.", "Rider k drowned.", "Noon was hot.")


@settings(max_examples=40)
@given(
    st.randoms(use_true_random=False),
    st.sampled_from([0.0, 0.2, 0.6]),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.05, 0.3]),
)
def test_the_replay_plans_as_the_package_does(random, far, glances, silent) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("tokenizers")
    from benchmarks.cascade import Answered, Claimed, replay

    windows = library([SOURCE])
    rule = Rule(lambda item: item.entailment, far=far, glances=glances, silent=silent)
    said = {(window.text, claim): random.random() ** 2 for window in windows for claim in CLAIMS}
    verifier = Given(said)
    sizes = verifier.count_tokens([window.text for window in windows])
    promise = Promise([SOURCE], windows)
    response = Answered(
        False,
        [
            Claimed(
                promise.of(claim, windows),
                [size + len(claim.split()) for size in sizes],
                [(0, window.span.start, window.span.end) for window in windows],
                [said[window.text, claim] for window in windows],
                [0.0] * len(windows),
                None,
            )
            for claim in CLAIMS
        ],
    )
    spent, (score,), _ = replay([response], rule, None)
    claims = tuple(Claim(text, None, "made up") for text in CLAIMS)
    (judged,) = verify(verifier, [Task(claims, windows, (SOURCE,))], rule=rule)  # type: ignore[arg-type]
    assert spent.base == sum(item.tokens for item in judged)
    assert score == 1 - min(max(p.entailment for p in item.probabilities) for item in judged)
