"""A repair never writes a statement that the source does not make."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from halldetect import Detector, Probabilities
from halldetect.repair.outcome import Method, Outcome
from halldetect.repair.proposals import Proposals
from tests.support.fakes import OverlapVerifier

# A source, a false sentence, and the true sentences that may replace it.
CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "fare of another age": (
        "A ticket costs nine euros. Children under 3 travel free of charge.",
        "Children under twelve pay nine euros.",
        (),
    ),
    "lower limit of an age": (
        "Adults pay nine euros. Children under 3 travel free. "
        "Children from 3 to twelve pay four euros.",
        "Children under twelve pay nine euros.",
        ("Children from 3 to twelve pay four euros.",),
    ),
    "hour of another day": (
        "The museum is open from 9 to 17 on weekdays. On Sundays it opens at 11.",
        "On Sundays the museum opens at 10.",
        ("On Sundays the museum opens at 11.", "On Sundays it opens at 11."),
    ),
    "year of another event": (
        "Anna Holm was born in 1902. She designed the bridge in 1932. She died in 1971.",
        "Anna Holm was born in 1905.",
        ("Anna Holm was born in 1902.",),
    ),
    "person of another act": (
        "Ida Berg founded the firm. Olaf Moe sold the firm in 1999.",
        "Olaf Moe founded the firm.",
        ("Ida Berg founded the firm.", "Olaf Moe sold the firm."),
    ),
    "dose of another group": (
        "Adults take 2 tablets a day. Children over six take 1 tablet a day.",
        "Children over six take 3 tablets a day.",
        ("Children over six take 1 tablet a day.",),
    ),
    "price of another plan": (
        "The Team plan costs 40 euros a month. The Starter plan costs 10 euros a month.",
        "The Starter plan costs 25 euros a month.",
        ("The Starter plan costs 10 euros a month.",),
    ),
    "rank of another town": (
        "Kell has 4,000 inhabitants. Norvik, the capital, has 90,000 inhabitants.",
        "Kell, the capital, has 5,000 inhabitants.",
        ("Kell has 4,000 inhabitants.", "Norvik, the capital, has 90,000 inhabitants."),
    ),
    "column of a table": (
        "| Product | 2023 | 2024 |\n|---|---|---|\n"
        "| Kettles | 120 | 150 |\n| Lamps | 300 | 310 |\n",
        "Kettles sold 130 in 2024.",
        ("Kettles sold 150 in 2024.",),
    ),
    "field of another record": (
        '[{"name": "Ann", "age": 31, "city": "Oslo"}, {"name": "Bob", "age": 45, "city": "Rome"}]',
        "Bob is 44 and lives in Oslo.",
        ("Bob is 45 and lives in Rome.",),
    ),
    "negation of another rule": (
        "Dogs are not allowed on the beach. Cats are allowed on the terrace.",
        "Cats are allowed on the beach.",
        ("Cats are allowed on the terrace.", "Dogs are not allowed on the beach."),
    ),
    "term of another item": (
        "Books can be returned within 14 days. Films cannot be returned. "
        "Shoes can be returned within 60 days.",
        "Books can be returned within 30 days.",
        ("Books can be returned within 14 days.",),
    ),
    "winner of another race": (
        "Mia Lund won the 100 metres. Eva Dahl won the 200 metres in 23 seconds.",
        "Mia Lund won the 200 metres in 23 seconds.",
        ("Eva Dahl won the 200 metres in 23 seconds.", "Mia Lund won the 100 metres."),
    ),
    "platform of another train": (
        "The train to Kell leaves from platform 4 at 9:10. "
        "The train to Norvik leaves from platform 7 at 9:40.",
        "The train to Kell leaves from platform 7 at 9:40.",
        (
            "The train to Kell leaves from platform 4 at 9:10.",
            "The train to Norvik leaves from platform 7 at 9:40.",
        ),
    ),
    "limit of another damage": (
        "Water damage is covered up to 5,000 euros. "
        "Theft is covered up to 2,000 euros if the door was locked.",
        "Theft is covered up to 5,000 euros.",
        (
            "Theft is covered up to 2,000 euros.",
            "Water damage is covered up to 5,000 euros.",
        ),
    ),
}


class TrustingVerifier(OverlapVerifier):
    """Supports everything but one sentence: only the rules of the repair are left."""

    def __init__(self, wrong: str) -> None:
        super().__init__()
        self._wrong = wrong.rstrip(".")

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        no, yes = Probabilities(0.01, 0.09, 0.9), Probabilities(0.95, 0.04, 0.01)
        return [no if self._wrong in claim else yes for _, claim in pairs]


def assert_true_or_removed(name: str, detector: Detector) -> None:
    source, response, true = CASES[name]
    repair = detector.repair(source, response)
    assert repair.outcome is Outcome.FAILED or repair.text in true


@pytest.mark.parametrize("name", CASES)
def test_rules_alone_write_no_falsehood(name: str) -> None:
    assert_true_or_removed(name, Detector(verifier=TrustingVerifier(CASES[name][1])))


@cache
def base() -> Detector:
    return Detector()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_base_writes_no_falsehood(name: str) -> None:
    assert_true_or_removed(name, base())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The valley is known for marble and slate.", "The former is used for roofs."),
        ("Ash Lane was resurfaced this year.", "So was Cedar Lane."),
    ],
)
def test_reference_to_a_removed_sentence_goes_too(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halldetect.repair.repairer.STEPS", ())
    detector = Detector(verifier=TrustingVerifier(first))
    assert detector.repair("Slate is used for roofs.", f"{first} {second}").text is None


def test_a_change_keeps_a_verb() -> None:
    response = "So was Cedar Lane."
    source = "Birch Lane was old. Cedar Lane"
    repair = Detector(verifier=TrustingVerifier(response)).repair(source, response)
    assert repair.text is None or "was" in repair.text


@pytest.mark.parametrize(
    ("source", "sentence", "torn"),
    [
        (
            "Children under twelve travel free.",
            "Children of nine travel free.",
            "Children of twelve travel free.",
        ),
        (
            "Pay within seven days, by noon of the last.",
            "Pay after nine days.",
            "Pay after seven days.",
        ),
    ],
)
def test_a_number_is_not_taken_without_its_limit(source: str, sentence: str, torn: str) -> None:
    proposals = Proposals(sentence, [source]).of(Method.REPLACE, sentence)
    assert not [item for item in proposals if item.text == torn and item.one_fact]


def test_a_limit_is_not_left_out() -> None:
    source = "Children under twelve travel free with a pass."
    sentence = "Children under twelve travel free."
    assert Proposals(sentence, [source])._repeats(sentence, source)
    assert not Proposals(sentence, [source])._repeats("Children to twelve travel free.", source)
    assert not Proposals(sentence, [source])._repeats("Children of twelve travel free.", source)


def test_a_part_of_a_name_of_the_source_is_its_own() -> None:
    source = "Anna Holm designed the bridge. Olaf Moe built it."
    proposals = Proposals("Holm built the bridge.", [source])
    assert proposals._repeats("Holm designed the bridge.", "Anna Holm designed the bridge.")
    assert not proposals._repeats("Moe designed the bridge.", "Anna Holm designed the bridge.")
