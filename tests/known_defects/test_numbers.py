"""Numbers, units, bounds and exchanged values, with the weights in the package."""

from __future__ import annotations

from collections.abc import Sequence

from halldetect import Detector
from halldetect.facts.quantities import read_quantities
from halldetect.report import ErrorKind, Probabilities, Status
from tests.support.fakes import OverlapVerifier
from tests.support.known_defects import defect, flagged, judged, only_claim, passed

SETTINGS = (
    "`tries`: how often a download is begun anew. Default: 5. `growth`: each wait is longer by "
    "this factor. Default: 2.0. `wait`: seconds before the first new try. Default: 0.5."
)
SEASON = (
    "Season tickets. A ticket for adults costs 90 euros, a ticket for students 55 euros and a "
    "ticket for children 30 euros. Tickets are valid from May to September. The office sells them "
    "from 9:00 to 16:00. Lockers cost 25 euros a season, and a parking permit costs 40 euros. "
    "Lost tickets are replaced for 5 euros."
)
PLANS = (
    '[{"plan":"Mini","price":4,"users":1},{"plan":"Midi","price":11,"users":6},'
    '{"plan":"Maxi","price":27,"users":30}]'
)


def test_no_arithmetic_is_invented() -> None:
    """A default of 5 does not become seven or ten because other defaults stand beside it."""
    wrong = [
        "By default a download is tried again seven times.",
        "By default a download is begun anew ten times.",
    ]
    match = "Each team has 5 players. A match takes 2 halves. Every half lasts 20 minutes."
    assert (
        passed([*((SETTINGS, text) for text in wrong), (match, "Each team has ten players.")]) == []
    )


@defect("Plain sentences")
def test_equal_bounds_are_equal() -> None:
    equal = [
        ("The lift carries up to nine persons.", "At most nine persons may use the lift."),
        ("A bag may weigh up to 23 kg.", "Bags may weigh at most 23 kg."),
        ("The speed must not exceed 30 km/h.", "The speed may be no more than 30 km/h."),
        ("A group must have at least 12 people.", "Groups need no fewer than 12 people."),
        ("Up to four may sleep in the cabin.", "No more than four may sleep in the cabin."),
        ("Members book at least six days ahead.", "Members book six days ahead or more."),
    ]
    assert flagged(equal) == []


@defect("Plain sentences")
def test_only_an_amount_vouches_for_an_amount() -> None:
    """Neither digits of a clock, a date or a decimal, nor a duration or another thing's amount."""
    soup = "Doors open at 8:20. A bowl of soup costs five euros."
    tram = "The tram runs every 12 minutes until 23:40. A day pass costs nine euros."
    hike = "The hike is 14 kilometres long and takes five hours."
    assert passed([
        (soup, "A bowl of soup costs approx. eight euros."),
        (tram, "A day pass costs approx. twelve euros."),
        (tram, "A day pass is priced at approx. 23 euros."),
        ("Version 3.7 came on 9 June. It costs six dollars.", "It costs approx. nine dollars."),
        (hike, "The hike takes roughly fourteen hours and is five kilometres long."),
    ]) == []  # fmt: skip


@defect("Plain sentences")
def test_an_unknown_clock_time_does_not_pass() -> None:
    assert passed([
        ("The lecture runs from 13:15 to 14:45 in hall B.", "The lecture in hall B ends at 15:15."),
        ("The seminar runs from 9:30 to 16:45 in room 4.", "The seminar finishes at 17:15."),
        ("The clinic answers calls from 8:00 to 11:30.", "Calls are answered until 12:00."),
    ]) == []  # fmt: skip


@defect("Plain sentences")
def test_a_clock_time_in_words_is_known() -> None:
    assert flagged([
        ("The lecture starts at 14:15.", "The lecture begins at a quarter past two."),
        ("The shop closes at 17:30.", "The shop shuts at half past five in the afternoon."),
        ("The boat sails at 21:45.", "The boat sails at a quarter to ten in the evening."),
    ]) == []  # fmt: skip


@defect("Plain sentences")
def test_the_unit_in_a_key_or_a_header_counts() -> None:
    runs = "| run | distance (km) |\n|---|---|\n| spring | 12 |\n| autumn | 21 |"
    assert passed([
        ('{"item": "rope", "length_m": 40}', "The rope is 40 centimetres long."),
        ('{"job": "backup", "timeout_ms": 900}', "The backup job times out after 900 seconds."),
        ('{"tank": "north", "volume_l": 300}', "The north tank holds 300 millilitres."),
        (runs, "The autumn run is 21 metres long."),
    ]) == []  # fmt: skip


@defect("Plain sentences")
def test_a_wrong_unit_and_all_for_some_are_kinds_of_error() -> None:
    hose = only_claim("The hose is 20 metres long.", "The hose is 20 centimetres long.")
    rooms = only_claim(
        "Some rooms of the inn have a balcony; most look onto the street.",
        "All rooms of the inn have a balcony.",
    )
    kinds = [claim.error and claim.error.kind for claim in (hose, rooms)]
    assert None not in kinds
    assert not {ErrorKind.NUMBER, ErrorKind.INVENTED}.intersection(filter(None, kinds))


@defect("Plain sentences")
def test_the_value_of_the_same_thing_is_named() -> None:
    """What the report says the source has is what a repair puts in."""
    found = {
        text: (claim.error and claim.error.source_words)
        for source, text in (
            (SEASON, "A ticket for students costs 60 euros."),
            (SEASON, "A locker costs 35 euros a season."),
            (PLANS, "The Maxi plan allows 50 users."),
        )
        for claim in judged(source, text).claims
    }
    assert [words and words.split()[0] for words in found.values()] == ["55", "25", "30"]


@defect("Plain sentences")
def test_a_contradicted_sentence_is_not_one_invented_detail() -> None:
    """What the source says otherwise is not "invented" from its first word to its last."""
    pairs = [
        (SEASON, "Children pay 55 euros for a season ticket."),
        (SEASON, "Students pay 30 euros."),
        ("The tram runs every 12 minutes.", "The tram runs every 40 minutes until 23:40."),
    ]
    claims = [only_claim(*pair) for pair in pairs]
    whole = [
        claim.text
        for claim in claims
        if claim.status is Status.CONTRADICTED
        and any(
            word.kind is ErrorKind.INVENTED and word.words == claim.text.rstrip(".")
            for word in claim.wrong
        )
    ]
    assert whole == []


@defect("Plain sentences")
def test_logs_and_terms_of_payment() -> None:
    log = "07:40 pump on\n07:55 pump off\n08:30 pump on"
    assert passed([
        (log, "The pump was on at 8 o'clock."),
        (
            "Complaints must reach us within 14 days after delivery.",
            "Complaints must be sent within 14 days after the order.",
        ),
        (
            "The fee is due 20 days after the date of the invoice.",
            "The fee is due 20 days after the invoice is received.",
        ),
    ]) == []  # fmt: skip


@defect("Plain sentences")
def test_exchanged_actors_and_amounts_are_noticed() -> None:
    river = "The river Olm flows into the lake, and the lake feeds the canal. Boats are for hire."
    assert passed([
        (SEASON, "A season ticket costs students 90 euros and adults 55 euros."),
        (river, "The lake flows into the river Olm."),
        (SEASON, "Lockers cost 40 euros a season, and a parking permit costs 25 euros."),
    ]) == []  # fmt: skip


@defect("One path")
def test_an_identifier_in_another_notation_is_not_invented() -> None:
    """D6: the verifier is sure of these, and the rule for identifiers overrules it."""
    equal = [
        ("Take New York State Route 104 to the lake.", "Take NY-104 to the lake."),
        ("Interstate 405 is closed on Sunday.", "I-405 is closed on Sunday."),
        ("Turn left onto Pennsylvania Route 611.", "Turn left onto PA-611."),
    ]
    assert flagged(equal) == []


class Unsure(OverlapVerifier):
    """Supports no claim, so that numbers are judged again in the words of the source."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        super().judge(pairs)
        return [Probabilities(0.4, 0.3, 0.3) for _ in pairs]


def test_numbers_of_a_block_are_judged_together() -> None:
    """D4: the calls of the verifier do not grow with the responses of a block."""
    calls = []
    for count in (2, 12):
        verifier = Unsure()
        pairs = [
            (f"The shed {at} is {at}2 metres long.", f"The shed {at} measures {at}200 cm.")
            for at in range(1, count + 1)
        ]
        reports = Detector(verifier).check_many(pairs)
        assert all(report.claims for report in reports)
        calls.append(len(verifier.calls))
    assert calls[1] <= calls[0] + 2


def test_verbs_and_names_are_no_quantities() -> None:
    """D7: only forms of "double" and "treble" say how many times; "march" may be a verb."""
    kinds = {
        text: [item.kind for item in read_quantities(text)]
        for text in (
            "Trebizond", "a quadruped", "we march 12 km", "may 6 of us come"
        )
    }  # fmt: skip
    assert kinds["Trebizond"] == kinds["a quadruped"] == []
    assert kinds["we march 12 km"] == ["length"]
    assert kinds["may 6 of us come"] == ["count"]
    assert [item.kind for item in read_quantities("It doubled on May 6.")] == [
        "times",
        "day of year",
    ]
