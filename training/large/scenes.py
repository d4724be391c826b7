"""Generated texts about people and dates: contracts, dialogues, changes, relative dates, units."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence

from training.large import vocabulary as v
from training.large.edits import number_word
from training.large.sources import Claim, Passage


def claims(kind: str, rng: random.Random, *items: tuple[str, Sequence[str]]) -> list[Claim]:
    """One claim per item: a label and its possible wordings."""
    found = []
    for label, texts in items:
        text = rng.choice(list(texts))
        text = text[:1].upper() + text[1:]
        found.append(Claim(text if text[-1] in ".!" else text + ".", label, f"form_{kind}"))
    return found


_PARTIES = (
    ("Supplier", "Customer"),
    ("Landlord", "Tenant"),
    ("Lender", "Borrower"),
    ("Contractor", "Client"),
    ("Licensor", "Licensee"),
    ("Employer", "Employee"),
    ("Seller", "Buyer"),
    ("Agency", "Artist"),
    ("Carrier", "Shipper"),
    ("Host", "Exhibitor"),
)
# A duty as a plain form, and the same in the third person.
_DUTIES = (
    ("pay the insurance", "pays the insurance"),
    ("provide monthly reports", "provides monthly reports"),
    ("bear the cost of transport", "bears the cost of transport"),
    ("keep all records for six years", "keeps all records for six years"),
    ("appoint a contact person", "appoints a contact person"),
    ("obtain the necessary permits", "obtains the necessary permits"),
    ("repair any damage within a week", "repairs any damage within a week"),
    ("pay for electricity and water", "pays for electricity and water"),
    ("train the staff on site", "trains the staff on site"),
    ("return all documents at the end", "returns all documents at the end"),
    ("keep the information confidential", "keeps the information confidential"),
    ("cover travel expenses", "covers travel expenses"),
    ("inspect the goods on arrival", "inspects the goods on arrival"),
    ("choose the auditor", "chooses the auditor"),
)


def contract(rng: random.Random) -> Passage:
    """A contract between two parties, who must and may do different things."""
    one, two = rng.choice(_PARTIES)
    first, second = v.firm(rng), v.person(rng) if rng.random() < 0.4 else v.firm(rng)
    duties = rng.sample(_DUTIES, 4)
    days, notice = rng.choice((7, 10, 14, 21, 30, 45, 60)), rng.choice((1, 2, 3, 6, 12))
    fee = rng.randrange(3, 95) * 100
    ender = rng.random() < 0.5
    may, must_not = (one, two) if ender else (two, one)
    year = rng.randrange(2016, 2027)
    months = "month" if notice == 1 else "months"
    lines = [
        f'This agreement is made between {first} ("the {one}") and {second} ("the {two}").',
        f"The {one} shall {duties[0][0]}.",
        f"The {two} shall {duties[1][0]} and {duties[2][0]}.",
        f"The {two} shall pay the {one} a fee of €{fee:,} per month, due within {days} days of the "
        "invoice.",
        f"The {may} may end this agreement with {notice} {months}' notice; the {must_not} may not "
        f"end it before 31 December {year}.",
        f"The {one} may {duties[3][0]} but is not obliged to.",
    ]
    if rng.random() < 0.6:
        lines = [lines[0], *(f"{n}. {line}" for n, line in enumerate(lines[1:], 1))]
    use_names = rng.random() < 0.4
    a, b = (first, second) if use_names else (f"the {one}", f"the {two}")
    found = claims(
        "contract",
        rng,
        (
            "E",
            (
                f"{a} must {duties[0][0]}",
                f"{a} {duties[0][1]}",
                f"it is the duty of {a} to {duties[0][0]}",
            ),
        ),
        ("C", (f"{b} must {duties[0][0]}", f"it is the duty of {b} to {duties[0][0]}")),
        ("E", (f"{b} has to {duties[1][0]}", f"{b} must {duties[2][0]}")),
        ("C", (f"{a} has to {duties[1][0]}", f"{a} must {duties[2][0]}")),
        (
            "E",
            (
                f"{b} pays {a} €{fee:,} per month",
                f"{a} receives a monthly fee of €{fee:,} from {b}",
            ),
        ),
        (
            "C",
            (
                f"{a} pays {b} €{fee:,} per month",
                f"{b} receives a monthly fee of €{fee:,} from {a}",
                f"{b} pays {a} €{fee:,} per year",
                f"{b} pays {a} €{v.other(fee, rng):,} per month",
            ),
        ),
        (
            "E",
            (
                f"invoices are due within {days} days",
                f"the fee must be paid within {days} days of the invoice",
            ),
        ),
        ("C", (f"invoices are due within {v.other(days, rng)} days",)),
        (
            "E",
            (
                f"the {may} can terminate with {notice} {months}' notice",
                f"the notice period for the {may} is {number_word(notice)} {months}",
            ),
        ),
        (
            "C",
            (
                f"the {must_not} may end the agreement at any time",
                f"the {may} cannot end the agreement",
                f"the notice period is {notice + rng.choice((1, 2, 4))} months",
            ),
        ),
        ("C", (f"{a} is obliged to {duties[3][0]}", f"{a} must {duties[3][0]}")),
        (
            "N",
            (
                "disputes are settled by arbitration",
                f"{first} is based in {v.place(rng)}",
                "the agreement renews itself every year",
                f"{a} can raise the fee",
                f"{b} gets a discount for early payment",
            ),
        ),
    )
    return Passage("\n".join(lines), "forms", found)


_ERRANDS = (
    ("book the meeting room", "booking the meeting room"),
    ("call the plumber", "calling the plumber"),
    ("send the invoice", "sending the invoice"),
    ("pick up the keys", "picking up the keys"),
    ("buy the tickets", "buying the tickets"),
    ("review the draft", "reviewing the draft"),
    ("print the posters", "printing the posters"),
    ("feed the cats", "feeding the cats"),
    ("bring the projector", "bringing the projector"),
    ("order the cake", "ordering the cake"),
    ("update the price list", "updating the price list"),
    ("water the plants", "watering the plants"),
    ("reserve a table", "reserving a table"),
    ("fix the bicycle", "fixing the bicycle"),
    ("return the library books", "returning the library books"),
    ("clean the garage", "cleaning the garage"),
)
_OPINIONS = (
    ("the new logo", "too dark", "just right"),
    ("the hotel", "too expensive", "good value"),
    ("the route", "too long", "fine"),
    ("the deadline", "realistic", "too tight"),
    ("the film", "boring", "wonderful"),
    ("the proposal", "convincing", "weak"),
    ("the soup", "too salty", "perfect"),
    ("the plan", "risky", "sensible"),
)


def dialogue(rng: random.Random) -> Passage:
    """A talk of two or three people: who asks, agrees, refuses, thinks and promises what."""
    one, two, three = rng.sample(v.FIRST, 3)
    errand, doing = rng.choice(_ERRANDS)
    second, _ = rng.choice([item for item in _ERRANDS if item[0] != errand])
    topic, bad, good = rng.choice(_OPINIONS)
    if rng.random() < 0.5:
        bad, good = good, bad
    day = rng.choice(("Monday", "Tuesday", "Thursday", "Friday", "Saturday"))
    wrong_day = rng.choice(("Wednesday", "Sunday"))
    agrees = rng.random() < 0.6
    number = rng.randrange(3, 30)
    turns = [
        (one, rng.choice((f"Could you {errand}, {two}?", f"{two}, can you {errand} this week?"))),
        (
            two,
            rng.choice((f"Sure, I'll do it on {day}.", f"Yes, no problem. {day} works for me."))
            if agrees
            else rng.choice(
                (f"Sorry, I can't. I'm away until {day}.", f"No, I won't have time before {day}.")
            ),
        ),
        (three, f"I think {topic} is {bad}."),
        (one, f"Really? I find it {good}."),
        (three, f"By the way, {number} people have signed up. I'll {second} tonight."),
        (two, rng.choice(("Great, thanks.", "Good to know.", "Perfect."))),
    ]
    style = rng.choice(("{}: {}", "{} - {}", "[{}] {}", "**{}**: {}"))
    text = "\n".join(style.format(*turn) for turn in turns)
    yes = (f"{two} agrees to {errand}", f"{two} will {errand}", f"{two} says yes to {doing}")
    no = (f"{two} refuses to {errand}", f"{two} cannot {errand} for now", f"{two} declines {doing}")
    found = claims(
        "dialogue",
        rng,
        ("E", (f"{one} asks {two} to {errand}", f"{two} is asked by {one} to {errand}")),
        ("C", (f"{two} asks {one} to {errand}",)),
        ("notE", (f"{three} asks {two} to {errand}", f"{one} asks {three} to {errand}")),
        ("E", yes if agrees else no),
        ("C", no if agrees else yes),
        ("E", (f"{three} finds {topic} {bad}", f"in {three}'s opinion, {topic} is {bad}")),
        (
            "C",
            (
                f"{three} finds {topic} {good}",
                f"{one} and {three} agree about {topic}",
                f"{one} thinks that {topic} is {bad}",
            ),
        ),
        ("E", (f"{one} disagrees with {three} about {topic}", f"{one} finds {topic} {good}")),
        (
            "E",
            (f"{three} promises to {second}", f"{three} says that {number} people have signed up"),
        ),
        ("C", (f"{three} says that {v.other(number, rng)} people have signed up",)),
        (
            "notE",
            (f"{one} promises to {second}", f"{two} says that {number} people have signed up"),
        ),
        (
            "N",
            (
                f"{one} and {two} are colleagues",
                f"{three} is older than {two}",
                f"{two} has already paid",
                f"{one} will thank {two} later",
                f"{two} likes {topic}",
            ),
        ),
    )
    if agrees:
        found += claims(
            "dialogue",
            rng,
            ("E", (f"{two} plans to {errand} on {day}",)),
            ("C", (f"{two} plans to {errand} on {wrong_day}",)),
        )
    return Passage(text, "forms", found)


_LIMITS = (
    ("the upload limit", "MB"),
    ("the speed limit on the bridge", "km/h"),
    ("the annual fee", "euros"),
    ("the number of free days", "days"),
    ("the minimum order", "units"),
    ("the deposit", "dollars"),
    ("the trial period", "days"),
    ("the maximum group size", "people"),
    ("the password length", "characters"),
    ("the delivery charge", "pounds"),
    ("the storage quota", "GB"),
    ("the opening hour fee", "euros"),
    ("the session timeout", "minutes"),
    ("the age limit", "years"),
    ("the parking fee", "euros"),
)


def change(rng: random.Random) -> Passage:
    """A changelog or a notice: an old value and the one that holds now."""
    product, version = v.model(rng), f"{rng.randrange(1, 9)}.{rng.randrange(0, 12)}"
    year, month = rng.randrange(2012, 2026), rng.choice(("January", "March", "June", "October"))
    found: list[Claim] = []
    lines = []
    for what, unit in rng.sample(_LIMITS, rng.randrange(2, 5)):
        old = rng.choice((5, 8, 10, 15, 20, 25, 30, 40, 50, 60))
        new = rng.choice([n for n in (4, 6, 12, 14, 18, 24, 35, 45, 75, 90) if n != old])
        rose = new > old
        verb = ("raised", "increased") if rose else ("lowered", "cut", "reduced")
        opposite = ("lowered", "reduced") if rose else ("raised", "increased")
        lines.append(
            rng.choice(
                (
                    f"{what.capitalize()} was {rng.choice(verb)} from {old} to {new} {unit}.",
                    f"{what.capitalize()} is now {new} {unit} (previously {old}).",
                    f"{what.capitalize()}: {old} {unit} -> {new} {unit}",
                    f"Since {month} {year}, {what} has been {new} {unit}; before that {old}.",
                )
            )
        )
        found += claims(
            "change",
            rng,
            (
                "E",
                (
                    f"{what} is now {new} {unit}",
                    f"the new value of {what} is {new} {unit}",
                    f"{what} currently stands at {new} {unit}",
                ),
            ),
            (
                "C",
                (
                    f"{what} is now {old} {unit}",
                    f"{what} currently stands at {old} {unit}",
                    f"{what} is {old} {unit} today",
                ),
            ),
            (
                "E",
                (
                    f"{what} used to be {old} {unit}",
                    f"{what} was {rng.choice(verb)}",
                    f"before the change, {what} was {old} {unit}",
                ),
            ),
            (
                "C",
                (
                    f"{what} was {rng.choice(opposite)}",
                    f"{what} used to be {new} {unit}",
                    f"{what} has not changed",
                ),
            ),
        )
    found += claims(
        "change",
        rng,
        (
            "N",
            (
                "the change followed complaints",
                f"{product} will be discontinued",
                "users were told by e-mail",
                "another change is planned for next year",
                "the change was approved by the board",
            ),
        ),
    )
    head = rng.choice(
        (
            f"## {product} {version}",
            f"Release notes {version}",
            "Notice of changes",
            f"What is new in {product} {version}",
            f"Changes as of {month} {year}",
        )
    )
    mark = rng.choice(("- ", "* ", ""))
    return Passage("\n".join([head, *(mark + line for line in lines)]), "forms", found)


_EVENTS = (
    "the council meeting|the book fair|the exam|the concert|the board meeting|the flea market|"
    "the software release|the hearing|the launch|the vote|the workshop|the inspection|the match"
).split("|")


def relative_date(rng: random.Random) -> Passage:
    """A dated text that says tomorrow, last week or in three days."""
    base = datetime.date(rng.randrange(2015, 2027), rng.randrange(1, 13), rng.randrange(1, 28))
    found: list[Claim] = []
    phrases: list[tuple[str, int]] = [
        ("tomorrow", 1),
        ("yesterday", -1),
        ("today", 0),
        ("the day after tomorrow", 2),
        ("in three days", 3),
        ("a week ago", -7),
        ("in two weeks", 14),
        ("next week on the same day", 7),
        ("ten days ago", -10),
        ("in five days", 5),
        ("two days ago", -2),
    ]
    lines = []
    names = rng.sample(_EVENTS, 2)
    for name, (phrase, shift) in zip(names, rng.sample(phrases, 2), strict=True):
        when = base + datetime.timedelta(days=shift)
        past = shift < 0
        lines.append(f"{name.capitalize()} {'took' if past else 'takes'} place {phrase}.")
        wrong = when + datetime.timedelta(days=rng.choice((-5, -3, -2, -1, 1, 2, 3, 6)))
        tense = "took" if past else "takes"
        found += claims(
            "date",
            rng,
            (
                "E",
                (
                    f"{name} {tense} place on {_long(when, rng)}",
                    f"{name} {'was' if past else 'is'} on {when:%A}, {_long(when, rng)}",
                    f"the date of {name} is {when.isoformat()}",
                ),
            ),
            (
                "C",
                (
                    f"{name} {tense} place on {_long(wrong, rng)}",
                    f"the date of {name} is {wrong.isoformat()}",
                ),
            ),
        )
        if past or shift > 0:
            found += claims(
                "date",
                rng,
                (
                    "E",
                    (f"{name} is already over",) if past else (f"{name} has not taken place yet",),
                ),
                ("C", (f"{name} is still to come",) if past else (f"{name} is already over",)),
            )
    years, start = rng.randrange(3, 60), base.year
    place = v.place(rng)
    wrong_year = start - years + rng.choice((-10, -5, -2, -1, 1, 2, 4))
    lines.append(f"The hall in {place} was opened {years} years ago.")
    found += claims(
        "date",
        rng,
        ("E", (f"the hall in {place} was opened in {start - years}",)),
        (
            "C",
            (f"the hall in {place} was opened in {wrong_year}",),
        ),
        (
            "N",
            (
                f"{names[0]} is free of charge",
                f"{names[1]} was planned last year",
                f"the hall in {place} has 300 seats",
            ),
        ),
    )
    rng.shuffle(lines)
    head = rng.choice(
        (
            f"Published {base:%A}, {_long(base, rng)}.",
            f"{_long(base, rng)} -",
            f"Date: {base.isoformat()}",
            f"{place}, {_long(base, rng)}.",
        )
    )
    return Passage(head + rng.choice((" ", "\n")) + " ".join(lines), "forms", found)


def _long(day: datetime.date, rng: random.Random) -> str:
    style = rng.randrange(3)
    if style == 0:
        return f"{day.day} {day:%B} {day.year}"
    return f"{day:%B} {day.day}, {day.year}" if style == 1 else f"{day:%B} {day.day} {day.year}"


# Singular subject, verb, unit, factor, other unit, a wrong unit.
_MEASURES = (
    ("the tunnel", "is", "km", 1000, "metres", "miles", "long"),
    ("the cable", "is", "m", 100, "centimetres", "km", "long"),
    ("the film", "lasts", "hours", 60, "minutes", "days", ""),
    ("the parcel", "weighs", "kg", 1000, "grams", "tonnes", ""),
    ("the tank", "holds", "litres", 1000, "millilitres", "gallons", ""),
    ("the course", "runs for", "weeks", 7, "days", "months", ""),
    ("the lease", "lasts", "years", 12, "months", "decades", ""),
    ("the download", "is", "GB", 1000, "MB", "TB", "in size"),
    ("the voyage", "takes", "days", 24, "hours", "weeks", ""),
    ("the plank", "is", "cm", 10, "millimetres", "m", "wide"),
)


def units(rng: random.Random) -> Passage:
    """Measures given in one unit and claimed in another."""
    found: list[Claim] = []
    lines = []
    names = v.places(3, rng)
    for name, (thing, verb, unit, factor, small, wrong, tail) in zip(
        names, rng.sample(_MEASURES, 3), strict=True
    ):
        value = rng.randrange(2, 30)
        subject = f"{thing} of {name}" if rng.random() < 0.5 else f"{thing} in {name}"
        lines.append(
            f"{subject[:1].upper()}{subject[1:]} {verb} {value} {unit} {tail}".strip() + "."
        )
        amount = f"{value * factor:,}"
        found += claims(
            "units",
            rng,
            ("E", (f"{subject} {verb} {amount} {small} {tail}".strip(),)),
            (
                "C",
                (
                    f"{subject} {verb} {value} {wrong} {tail}".strip(),
                    f"{subject} {verb} {value} {small} {tail}".strip(),
                    f"{subject} {verb} {v.other(value, rng)} {unit} {tail}".strip(),
                    f"{subject} {verb} {value * factor * 10:,} {small} {tail}".strip(),
                ),
            ),
        )
        if value < 20:
            found += claims(
                "units",
                rng,
                ("E", (f"{subject} {verb} {number_word(value)} {unit} {tail}".strip(),)),
            )
    found += claims(
        "units",
        rng,
        (
            "N",
            (
                f"the plans for {names[0]} were changed twice",
                f"{names[1]} is larger than {names[2]}",
                "the figures were checked by an engineer",
            ),
        ),
    )
    return Passage(rng.choice((" ", "\n")).join(lines), "forms", found)


def rules(rng: random.Random) -> Passage:
    """House rules with different terms for two groups."""
    one, two = rng.choice(
        (
            ("members", "non-members"),
            ("adults", "children"),
            ("residents", "visitors"),
            ("students", "staff"),
            ("employees", "contractors"),
            ("subscribers", "guests"),
        )
    )
    site = rng.choice(("library", "pool", "gym", "archive", "museum", "workshop", "car park"))
    fee, other_fee = rng.sample(range(2, 40), 2)
    greater, lesser = (one, two) if fee > other_fee else (two, one)
    days, other_days = rng.sample((3, 5, 7, 10, 14, 21, 28), 2)
    opening, closing = rng.randrange(6, 11), rng.randrange(16, 23)
    shut = rng.choice(("Monday", "Tuesday", "Sunday"))
    banned = rng.choice(("dogs", "food", "large bags", "bicycles", "cameras", "glass bottles"))
    lines = [
        f"The {site} is open from {opening} am to {closing - 12} pm, except on {shut}s.",
        f"{one.capitalize()} pay {fee} euros, {two} {other_fee} euros.",
        f"{one.capitalize()} may book up to {days} days ahead; {two} up to {other_days} days.",
        f"No {banned} in the {site}."
        if rng.random() < 0.5
        else f"{banned.capitalize()} are not allowed.",
        f"Only {one} may use the lockers.",
    ]
    rng.shuffle(lines)
    found = claims(
        "rules",
        rng,
        ("E", (f"{one} pay {fee} euros", f"the price for {two} is {other_fee} euros")),
        ("C", (f"{one} pay {other_fee} euros", f"the price for {two} is {fee} euros")),
        (
            "E",
            (f"{greater} pay more than {lesser}",),
        ),
        (
            "C",
            (
                f"{lesser} pay more than {greater}",
                f"{one} and {two} pay the same",
            ),
        ),
        (
            "E",
            (
                f"the {site} is closed on {shut}s",
                f"the {site} opens at {opening} am",
                f"the {site} closes at {closing - 12} pm",
            ),
        ),
        (
            "C",
            (
                f"the {site} is open every day of the week",
                f"the {site} is open on {shut}s",
                f"the {site} opens at {opening + 1} am",
            ),
        ),
        (
            "E",
            (f"{two} may book {other_days} days ahead", f"{one} can book {days} days in advance"),
        ),
        ("C", (f"{two} may book up to {max(days, other_days) + 3} days ahead",)),
        ("E", (f"{banned} may not be brought in", f"{banned} are forbidden")),
        ("C", (f"{banned} are allowed in the {site}",)),
        (
            "C",
            (
                f"{two} may use the lockers",
                "the lockers are open to everyone",
            ),
        ),
        (
            "N",
            (
                f"the {site} was renovated last year",
                f"{one} get a card by post",
                f"the {site} has a café",
                "the fees went up this year",
            ),
        ),
    )
    return Passage(rng.choice((" ", "\n", "\n- ")).join(lines), "forms", found)


MAKERS: tuple[Callable[[random.Random], Passage], ...] = (
    contract,
    contract,
    dialogue,
    dialogue,
    change,
    change,
    relative_date,
    units,
    rules,
)
