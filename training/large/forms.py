"""Generated sources that are no running text: sheets, tables, lists, settings, tool output.

Every maker returns a passage with claims that read it rightly (E), read it wrongly (C) or ask for
more than it says (N). `scenes` adds contracts, dialogues, changes and dates.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

from training.large import scenes
from training.large import vocabulary as v
from training.large.sources import Claim, Passage

Row = dict[str, str]


def forms(count: int, rng: random.Random) -> list[Passage]:
    """Generated passages of every kind.

    Args:
        count: how many.
        rng: the source of chance.
    """
    makers: list[Callable[[random.Random], Passage]] = [
        sheet,
        table,
        table,
        price_list,
        timetable,
        function_docs,
        function_docs,
        settings,
        tool_output,
        packing_list,
        *scenes.MAKERS,
    ]
    made = []
    for number in range(count):
        passage = makers[number % len(makers)](rng)
        passage.source = "forms"
        if len(passage.claims) > 10:
            passage.claims = rng.sample(passage.claims, rng.randrange(6, 11))
        made.append(passage)
    return made


def claims(kind: str, rng: random.Random, *items: tuple[str, Sequence[str]]) -> list[Claim]:
    """One claim per item: a label and its possible wordings."""
    return [
        Claim(_sentence(rng.choice(list(texts))), label, f"form_{kind}") for label, texts in items
    ]


def _sentence(text: str) -> str:
    if "_" not in text.split(maxsplit=1)[0]:
        text = text[:1].upper() + text[1:]
    return text if text[-1] in ".!" else text + "."


def render(title: str, row: Row, rng: random.Random) -> str:
    """One record as lines, bullets, a Markdown table, JSON or a terse run."""
    style = rng.randrange(7)
    if style == 0:
        return "\n".join([title, *(f"{key}: {value}" for key, value in row.items())])
    if style == 1:
        return "\n".join([f"# {title}", "", *(f"- **{k}**: {x}" for k, x in row.items())])
    if style == 2:
        lines = [f"| {key} | {value} |" for key, value in row.items()]
        return "\n".join([f"## {title}", "", "| Property | Value |", "|---|---|", *lines])
    if style == 3:
        keys = {key.lower().replace(" ", "_"): value for key, value in row.items()}
        return json.dumps({"name": title, **keys}, indent=2, ensure_ascii=False)
    if style == 4:
        return f"{title}. " + "; ".join(f"{key}: {value}" for key, value in row.items()) + "."
    if style == 5:
        return title + "\n" + "\n".join(f"{key.upper()}\t{value}" for key, value in row.items())
    return title + " - " + " / ".join(f"{key} {value}" for key, value in row.items())


def render_rows(title: str, rows: Sequence[Row], rng: random.Random) -> str:
    """A table as Markdown, header: value rows, CSV, JSON or tabs."""
    headers = list(rows[0])
    style = rng.randrange(6)
    if style <= 1:
        lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
        lines += ["| " + " | ".join(row.values()) + " |" for row in rows]
        return "\n".join([title, "", *lines])
    if style == 2:
        body = ["; ".join(f"{key}: {value}" for key, value in row.items()) for row in rows]
        return "\n".join([title, *body])
    if style == 3:
        return "\n".join([title, ",".join(headers), *(",".join(r.values()) for r in rows)])
    if style == 4:
        return (
            title + "\n" + json.dumps(list(rows), indent=rng.choice((None, 1)), ensure_ascii=False)
        )
    return "\n".join([title, "\t".join(headers), *("\t".join(row.values()) for row in rows)])


def sheet(rng: random.Random) -> Passage:
    """A data sheet of one device."""
    name = v.model(rng)
    thing = rng.choice(
        (
            "speaker",
            "camera",
            "drone",
            "e-bike",
            "monitor",
            "router",
            "heater",
            "printer",
            "vacuum cleaner",
            "projector",
            "air purifier",
        )
    )
    weight, hours, years = rng.randrange(2, 40), rng.randrange(3, 48), rng.choice((1, 2, 3, 5))
    colour, material = rng.choice(v.COLOURS), rng.choice(v.MATERIALS)
    price, year = rng.randrange(30, 2400), rng.randrange(2008, 2026)
    ports, watts = rng.randrange(1, 6), rng.choice((15, 40, 65, 90, 120, 250, 800, 1200))
    bluetooth = rng.random() < 0.5
    proof = rng.random() < 0.5
    row = {
        "Weight": f"{weight / 10:.1f} kg",
        "Battery life": f"{hours} h",
        "Colour": colour,
        "Housing": material,
        "Warranty": f"{years} year{'s' * (years > 1)}",
        "Price": f"€{price}",
        "Released": str(year),
        "USB ports": str(ports),
        "Power": f"{watts} W",
        "Bluetooth": rng.choice(("yes", "built in")) if bluetooth else rng.choice(("no", "none")),
        "Waterproof": "yes" if proof else "no",
    }
    keys = rng.sample(list(row), rng.randrange(6, len(row) + 1))
    row = {key: row[key] for key in keys}
    the = f"the {name}"
    far_colour = rng.choice([c for c in v.COLOURS if c != colour])
    far_material = rng.choice([m for m in v.MATERIALS if m != material])
    options: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        "Weight": (
            (
                f"{the} weighs {weight / 10:.1f} kilograms",
                f"{the} weighs {weight * 100} grams",
                f"the weight of {the} is {weight / 10:.1f} kg",
            ),
            (
                f"{the} weighs {v.other(weight, rng) / 10:.1f} kg",
                f"{the} weighs {weight / 10:.1f} grams",
            ),
        ),
        "Battery life": (
            (f"its battery lasts {hours} hours", f"{the} runs for {hours} hours on battery"),
            (
                f"the battery of {the} lasts {v.other(hours, rng)} hours",
                f"its battery lasts {hours} minutes",
            ),
        ),
        "Colour": (
            (f"{the} is {colour}", f"{the} comes in {colour}"),
            (f"{the} is {far_colour}", f"the colour of {the} is {far_colour}"),
        ),
        "Housing": (
            (f"its housing is made of {material}", f"{the} has a {material} housing"),
            (f"its housing is made of {far_material}",),
        ),
        "Warranty": (
            (
                f"{the} comes with a warranty of {years} year{'s' * (years > 1)}",
                f"buyers get {years * 12} months of warranty",
            ),
            (
                f"the warranty on {the} lasts {years + rng.choice((1, 2, 4))} years",
                f"{the} is sold without a warranty",
            ),
        ),
        "Price": (
            (f"{the} costs {price} euros", f"{the} is priced at €{price}"),
            (f"{the} costs €{v.other(price, rng)}", f"{the} costs {price} dollars"),
        ),
        "Released": (
            (f"{the} was released in {year}", f"{the} came out in {year}"),
            (f"{the} was released in {year + rng.choice((-3, -2, -1, 1, 2))}",),
        ),
        "USB ports": (
            (f"{the} has {ports} USB port{'s' * (ports > 1)}",),
            (f"{the} has {ports + rng.choice((1, 2, 3))} USB ports", f"{the} has no USB ports"),
        ),
        "Power": (
            (f"{the} draws {watts} watts", f"its power is rated at {watts} W"),
            (f"its power is rated at {v.other(watts, rng)} W",),
        ),
        "Bluetooth": (
            (f"{the} supports Bluetooth", f"{the} has Bluetooth")
            if bluetooth
            else (f"{the} has no Bluetooth", f"{the} does not support Bluetooth"),
            (f"{the} does not support Bluetooth",) if bluetooth else (f"{the} has Bluetooth",),
        ),
        "Waterproof": (
            (f"{the} is waterproof",) if proof else (f"{the} is not waterproof",),
            (f"{the} is not waterproof",) if proof else (f"{the} is waterproof",),
        ),
    }
    found: list[Claim] = []
    for key in rng.sample(keys, min(4, len(keys))):
        right, wrong = options[key]
        found += claims("sheet", rng, ("E", right))
        if rng.random() < 0.85:
            found += claims("sheet", rng, ("C", wrong))
    for key in [key for key in options if key not in keys][:2]:
        found += claims("sheet", rng, ("N", [*options[key][0], *options[key][1]]))
    found += claims(
        "sheet",
        rng,
        (
            "N",
            (
                f"{the} won a design award",
                f"{the} is made in {v.place(rng)}",
                f"{the} has been recalled",
                f"{the} is the best-selling {thing} of its maker",
                f"{the} includes a carrying case",
                f"{the} can be controlled by voice",
            ),
        ),
    )
    return Passage(render(f"{name} {thing}", row, rng), "forms", found)


def table(rng: random.Random) -> Passage:
    """A table of several records: staff, towns, orders, matches, courses or rivers."""
    return rng.choice((_staff, _towns, _orders, _matches, _courses))(rng)


def _rank(
    rows: Sequence[Row], key: str, name: str, noun: tuple[str, str], kind: str, rng: random.Random
) -> list[Claim]:
    """Claims that compare a numeric column."""

    def value(row: Row) -> float:
        return float("".join(ch for ch in row[key] if ch.isdigit() or ch == "."))

    ordered = sorted(rows, key=value)
    if len({value(row) for row in rows}) < len(rows):
        return []
    low, high = ordered[0], ordered[-1]
    one, two = rng.sample(list(rows), 2)
    more, less = (one, two) if value(one) > value(two) else (two, one)
    return claims(
        kind,
        rng,
        ("E", (f"{high[name]} has the {noun[0]}", f"the {noun[0]} belongs to {high[name]}")),
        ("C", (f"{low[name]} has the {noun[0]}", f"{high[name]} has the {noun[1]}")),
        ("E", (f"{more[name]} has a higher {key.lower()} than {less[name]}",)),
        ("C", (f"{less[name]} has a higher {key.lower()} than {more[name]}",)),
    )


def _staff(rng: random.Random) -> Passage:
    count = rng.randrange(3, 9)
    rows = [
        {
            "Name": name,
            "Role": rng.choice(v.ROLES),
            "Department": rng.choice(v.DEPARTMENTS),
            "Since": str(rng.randrange(1998, 2025)),
            "Office": f"{rng.choice('ABCD')}{rng.randrange(101, 420)}",
        }
        for name in v.people(count, rng)
    ]
    one, two = rng.sample(rows, 2)
    found = claims(
        "table",
        rng,
        (
            "E",
            (
                f"{one['Name']} works in {one['Department']}",
                f"{one['Name']} belongs to the {one['Department']} department",
            ),
        ),
        (
            "E",
            (
                f"{two['Name']} has been with the organisation since {two['Since']}",
                f"{two['Name']} joined in {two['Since']}",
            ),
        ),
        (
            "E",
            (
                f"the office of {one['Name']} is {one['Office']}",
                f"{one['Name']} sits in office {one['Office']}",
            ),
        ),
        ("C", (f"{one['Name']} sits in office {two['Office']}",)),
        (
            "N",
            (
                f"{one['Name']} speaks three languages",
                f"{two['Name']} works part time",
                f"{one['Name']} reports to {two['Name']}",
                f"{two['Name']} has a degree in law",
            ),
        ),
    )
    if one["Role"] != two["Role"]:
        found += claims(
            "table",
            rng,
            ("E", (f"{one['Name']} is employed as {_an(one['Role'])}",)),
            ("C", (f"{one['Name']} is {_an(two['Role'])}",)),
        )
    if one["Since"] != two["Since"]:
        first, later = sorted((one, two), key=lambda row: row["Since"])
        found += claims(
            "table",
            rng,
            ("E", (f"{first['Name']} joined before {later['Name']}",)),
            (
                "C",
                (
                    f"{later['Name']} joined earlier than {first['Name']}",
                    f"{two['Name']} joined in {one['Since']}",
                ),
            ),
        )
    found += claims(
        "table",
        rng,
        ("E", (f"the list has {count} people",)),
        ("C", (f"the list has {count + rng.choice((1, 2))} people",)),
    )
    return Passage(render_rows(f"Staff of {v.firm(rng)}", rows, rng), "forms", found)


def _an(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _towns(rng: random.Random) -> Passage:
    count = rng.randrange(3, 8)
    rows = [
        {
            "Town": name,
            "Population": f"{rng.randrange(2, 900) * 130 + rng.randrange(130):,}",
            "Area (km²)": str(rng.randrange(9, 400)),
            "Founded": str(rng.randrange(1100, 1960)),
            "Mayor": v.person(rng),
        }
        for name in v.places(count, rng)
    ]
    one, two = rng.sample(rows, 2)
    found = claims(
        "table",
        rng,
        (
            "E",
            (
                f"{one['Town']} has a population of {one['Population']}",
                f"{one['Population']} people live in {one['Town']}",
            ),
        ),
        (
            "C",
            (
                f"{one['Town']} has {two['Population']} inhabitants",
                f"{two['Population']} people live in {one['Town']}",
            ),
        ),
        ("E", (f"{two['Town']} covers {two['Area (km²)']} square kilometres",)),
        ("E", (f"the mayor of {one['Town']} is {one['Mayor']}",)),
        ("C", (f"{two['Mayor']} is the mayor of {one['Town']}",)),
        ("E", (f"{two['Town']} was founded in {two['Founded']}",)),
        (
            "N",
            (
                f"{one['Town']} is twinned with a city abroad",
                f"{two['Town']} lies on a river",
                f"the population of {two['Town']} is falling",
                f"{one['Mayor']} was elected in 2019",
            ),
        ),
    )
    found += _rank(
        rows, "Population", "Town", ("largest population", "smallest population"), "table", rng
    )
    return Passage(render_rows(f"Towns of the {v.place(rng)} district", rows, rng), "forms", found)


def _orders(rng: random.Random) -> Passage:
    states = ["shipped", "pending", "cancelled", "delivered", "returned"]
    rows = [
        {
            "Order": f"#{number}",
            "Customer": name,
            "Item": rng.choice(v.GOODS),
            "Qty": str(rng.randrange(1, 12)),
            "Status": rng.choice(states),
        }
        for number, name in zip(rng.sample(range(1000, 9999), 6), v.people(6, rng), strict=True)
    ][: rng.randrange(3, 7)]
    one, two = rng.sample(rows, 2)
    wrong = rng.choice([state for state in states if state != one["Status"]])
    counted = sum(row["Status"] == one["Status"] for row in rows)
    found = claims(
        "table",
        rng,
        (
            "E",
            (
                f"order {one['Order']} was placed by {one['Customer']}",
                f"{one['Customer']} placed order {one['Order']}",
            ),
        ),
        ("C", (f"order {one['Order']} was placed by {two['Customer']}",)),
        (
            "E",
            (
                f"the status of order {one['Order']} is {one['Status']}",
                f"{one['Customer']}'s order is marked as {one['Status']}",
            ),
        ),
        ("C", (f"order {one['Order']} is {wrong}", f"{one['Customer']}'s order is {wrong}")),
        ("E", (f'{two["Customer"]} ordered {two["Qty"]} of the item "{two["Item"]}"',)),
        (
            "N",
            (
                f"{one['Customer']} paid by credit card",
                f"{two['Customer']} complained about the order",
                f"order {two['Order']} includes free delivery",
            ),
        ),
    )
    if one["Item"] != two["Item"]:
        found += claims(
            "table",
            rng,
            ("C", (f"{one['Customer']} ordered the {two['Item']}",)),
            ("E", (f"{one['Customer']} ordered the {one['Item']}",)),
        )
    number = "one order is" if counted == 1 else f"{counted} orders are"
    far = counted + 1
    found += claims(
        "table",
        rng,
        ("E", (f"{number} marked {one['Status']}",)),
        ("C", (f"{far} orders are marked {one['Status']}",)),
    )
    return Passage(render_rows("Open orders", rows, rng), "forms", found)


def _matches(rng: random.Random) -> Passage:
    names = v.places(8, rng)
    rows: list[Row] = []
    for place in range(rng.randrange(2, 5)):
        home, away = names[2 * place], names[2 * place + 1]
        goals = rng.sample(range(6), 2)
        rows.append(
            {
                "Date": f"{rng.randrange(1, 28)} {rng.choice(('March', 'May', 'October'))}",
                "Home": home,
                "Away": away,
                "Score": f"{goals[0]}-{goals[1]}",
                "Attendance": f"{rng.randrange(800, 42000):,}",
            }
        )
    found: list[Claim] = []
    for row in rng.sample(rows, 2):
        left, right = map(int, row["Score"].split("-"))
        winner, loser = (row["Home"], row["Away"]) if left > right else (row["Away"], row["Home"])
        found += claims(
            "table",
            rng,
            (
                "E",
                (
                    f"{winner} beat {loser}",
                    f"{loser} lost to {winner}",
                    f"{winner} defeated {loser} {max(left, right)}-{min(left, right)}",
                ),
            ),
            (
                "C",
                (
                    f"{loser} beat {winner}",
                    f"{winner} lost to {loser}",
                    f"{winner} and {loser} drew",
                ),
            ),
            (
                "E",
                (
                    f"{row['Attendance']} people watched {row['Home']} play {row['Away']}",
                    f"{row['Home']} played at home against {row['Away']} on {row['Date']}",
                ),
            ),
            (
                "N",
                (
                    f"{winner} scored a penalty",
                    f"{loser} had a player sent off",
                    f"the match between {row['Home']} and {row['Away']} was delayed by rain",
                ),
            ),
        )
    return Passage(render_rows("Results", rows, rng), "forms", found)


def _courses(rng: random.Random) -> Passage:
    days = "Monday Tuesday Wednesday Thursday Friday".split()
    rows = [
        {
            "Course": subject,
            "Teacher": v.person(rng),
            "Day": rng.choice(days),
            "Time": v.clock(rng),
            "Room": str(rng.randrange(1, 60)),
            "Credits": str(rng.randrange(2, 9)),
        }
        for subject in rng.sample(v.SUBJECTS, rng.randrange(3, 8))
    ]
    one, two = rng.sample(rows, 2)
    far = rng.choice([day for day in days if day != one["Day"]])
    found = claims(
        "table",
        rng,
        (
            "E",
            (
                f"{one['Teacher']} teaches {one['Course']}",
                f"{one['Course']} is taught by {one['Teacher']}",
            ),
        ),
        (
            "C",
            (
                f"{two['Teacher']} teaches {one['Course']}",
                f"{one['Course']} is taught by {two['Teacher']}",
            ),
        ),
        (
            "E",
            (
                f"{one['Course']} takes place on {one['Day']}",
                f"{one['Course']} is on {one['Day']} at {one['Time']}",
            ),
        ),
        ("C", (f"{one['Course']} takes place on {far}", f"{one['Course']} is held on {far}s")),
        (
            "E",
            (
                f"{two['Course']} is worth {two['Credits']} credits",
                f"{two['Course']} meets in room {two['Room']}",
            ),
        ),
        (
            "N",
            (
                f"{one['Course']} ends with a written exam",
                f"{two['Course']} is full",
                f"{one['Teacher']} also works at another university",
                f"{two['Course']} is taught in English",
            ),
        ),
    )
    return Passage(render_rows("Course list, winter term", rows, rng), "forms", found)


def price_list(rng: random.Random) -> Passage:
    """A menu, a shop's prices or tickets."""
    sign = rng.choice("$€£")
    word = {"$": "dollars", "€": "euros", "£": "pounds"}[sign]
    items = rng.sample(rng.choice((v.DISHES, v.GOODS)), rng.randrange(4, 10))
    prices = dict(zip(items, rng.sample(range(2, 90), len(items)), strict=True))
    gap = rng.choice((" - ", ": ", " ..... ", "\t", " | "))
    lines = [f"{item.capitalize()}{gap}{sign}{price}" for item, price in prices.items()]
    note = rng.choice(
        (
            "Prices include VAT.",
            "Children under six eat free.",
            "Cash only.",
            "Service is not included.",
            "Ten per cent off on Mondays.",
        )
    )
    one, two = rng.sample(items, 2)
    dear = max(items, key=lambda item: prices[item])
    cheap = min(items, key=lambda item: prices[item])
    more, less = (one, two) if prices[one] > prices[two] else (two, one)
    found = claims(
        "prices",
        rng,
        (
            "E",
            (
                f"the {one} costs {sign}{prices[one]}",
                f"the {one} is {prices[one]} {word}",
                f"you pay {sign}{prices[one]} for the {one}",
            ),
        ),
        (
            "C",
            (
                f"the {one} costs {sign}{prices[two]}",
                f"the {one} costs {sign}{v.other(prices[one], rng)}",
            ),
        ),
        ("E", (f"the {more} costs more than the {less}", f"the {less} is cheaper than the {more}")),
        ("C", (f"the {less} costs more than the {more}", f"the {more} is cheaper than the {less}")),
        ("E", (f"the most expensive item is the {dear}", f"the {cheap} is the cheapest item")),
        ("C", (f"the cheapest item is the {dear}", f"the {cheap} is the most expensive item")),
        ("E", (f"the {one} and the {two} together cost {sign}{prices[one] + prices[two]}",)),
        (
            "N",
            (
                f"the {one} is sold out",
                f"the {two} used to be cheaper",
                f"the {one} is the best seller",
                f"the {two} can be ordered online",
            ),
        ),
    )
    title = rng.choice(("Price list", "Our prices", "Menu", "Today's offers", "Counter prices"))
    return Passage("\n".join([title, *lines, note]), "forms", found)


def timetable(rng: random.Random) -> Passage:
    """Departures from a station, pier or airport."""
    kind = rng.choice(("train", "bus", "ferry", "flight"))
    stop = {"train": "platform", "bus": "bay", "ferry": "pier", "flight": "gate"}[kind]
    count = rng.randrange(3, 8)
    times = sorted(
        rng.sample([f"{h:02d}:{m:02d}" for h in range(5, 23) for m in range(0, 60, 5)], count)
    )
    rows = [
        {
            "Departs": time,
            "To": name,
            "Line": f"{rng.choice('ABCEKLNS')}{rng.randrange(1, 90)}",
            stop.capitalize(): str(rng.randrange(1, 20)),
            "Note": rng.choice(("on time", "delayed", "cancelled", "weekdays only", "on time")),
        }
        for time, name in zip(times, v.places(count, rng), strict=True)
    ]
    one, two = rng.sample(rows, 2)
    first, later = sorted((one, two), key=lambda row: row["Departs"])
    far = stop.capitalize()
    found = claims(
        "timetable",
        rng,
        (
            "E",
            (
                f"the {kind} to {one['To']} leaves at {one['Departs']}",
                f"the {one['Departs']} {kind} goes to {one['To']}",
            ),
        ),
        (
            "C",
            (
                f"the {kind} to {one['To']} leaves at {two['Departs']}",
                f"the {two['Departs']} {kind} goes to {one['To']}",
            ),
        ),
        ("E", (f"the {kind} to {first['To']} leaves before the one to {later['To']}",)),
        ("C", (f"the {kind} to {later['To']} leaves before the one to {first['To']}",)),
        (
            "E",
            (
                f"the last {kind} listed leaves at {times[-1]}",
                f"the first {kind} leaves at {times[0]}",
            ),
        ),
        ("C", (f"the last {kind} leaves at {times[0]}",)),
        (
            "E",
            (
                f"line {one['Line']} leaves from {stop} {one[far]}",
                f"the {kind} to {one['To']} leaves from {stop} {one[far]}",
            ),
        ),
        (
            "N",
            (
                f"the {kind} to {two['To']} takes two hours",
                f"a ticket to {one['To']} costs 12 euros",
                f"the {kind} to {one['To']} carries bicycles",
            ),
        ),
    )
    if one["Note"] != two["Note"] and {one["Note"], two["Note"]} <= {
        "delayed",
        "cancelled",
        "on time",
    }:
        found += claims(
            "timetable",
            rng,
            ("E", (f"the {kind} to {one['To']} is {one['Note']}",)),
            ("C", (f"the {kind} to {one['To']} is {two['Note']}",)),
        )
    if one[far] != two[far]:
        found += claims(
            "timetable", rng, ("C", (f"the {kind} to {one['To']} leaves from {stop} {two[far]}",))
        )
    title = f"Departures, {v.place(rng)}"
    return Passage(render_rows(title, rows, rng), "forms", found)


_FLAGS = (
    ("retry", "retries failed requests"),
    ("verbose", "prints progress"),
    ("strict", "raises an error on unknown keys"),
    ("cache", "keeps results in memory"),
    ("recursive", "visits subfolders"),
    ("overwrite", "replaces files that exist"),
    ("sorted", "sorts the output"),
    ("compress", "compresses the output"),
    ("ignore_case", "ignores upper and lower case"),
    ("follow_links", "follows symbolic links"),
    ("dry_run", "only reports what would be done"),
    ("unique", "removes duplicates"),
)
_NUMBERS = (
    ("timeout", "seconds to wait for an answer", (5, 10, 15, 30, 60, 90, 120)),
    ("max_items", "the largest number of items returned", (10, 25, 50, 100, 200, 500)),
    ("workers", "the number of processes", (1, 2, 4, 8, 16)),
    ("chunk_size", "bytes read at once", (512, 1024, 4096, 8192)),
    ("depth", "how many levels to descend", (1, 2, 3, 5, 10)),
    ("precision", "digits after the point", (2, 3, 4, 6, 8)),
    ("port", "the port to listen on", (8000, 8080, 9000, 5432, 6379)),
    ("attempts", "how often to try", (1, 2, 3, 5, 7)),
    ("width", "characters per line", (60, 72, 80, 100, 120)),
)
_CHOICES = (
    ("encoding", ("utf-8", "latin-1", "ascii")),
    ("mode", ("fast", "exact", "balanced")),
    ("order", ("ascending", "descending")),
    ("output", ("json", "csv", "table")),
    ("level", ("info", "debug", "warning", "error")),
    ("unit", ("metric", "imperial")),
)
_NAMES = (
    "load_rows parse_feed export_report sync_folder send_batch find_matches read_sensor "
    "render_page resize_image merge_tables fetch_prices index_files split_audio check_links "
    "import_contacts rotate_logs plan_route score_texts"
).split()


def function_docs(rng: random.Random) -> Passage:
    """A function's signature and description; defaults and what they do."""
    name = rng.choice(_NAMES)
    flags = rng.sample(_FLAGS, 2)
    numbers = rng.sample(_NUMBERS, rng.choice((1, 2)))
    choice, values = rng.choice(_CHOICES)
    defaults: dict[str, str] = {}
    on = {flag: rng.random() < 0.5 for flag, _ in flags}
    for flag, _ in flags:
        defaults[flag] = str(on[flag])
    amounts = {key: rng.choice(options) for key, _, options in numbers}
    defaults |= {key: str(value) for key, value in amounts.items()}
    value = rng.choice(values)
    defaults[choice] = f'"{value}"'
    order = rng.sample(list(defaults), len(defaults))
    required = rng.choice(("path", "url", "source", "query", "table"))
    error = rng.choice(("ValueError", "FileNotFoundError", "TimeoutError", "KeyError"))
    signature = f"{name}({required}, *, " + ", ".join(f"{k}={defaults[k]}" for k in order) + ")"
    told = {flag: f"If true, {what}." for flag, what in flags}
    told |= {key: f"{what.capitalize()}." for key, what, _ in numbers}
    told[choice] = "One of " + ", ".join(f'"{item}"' for item in values) + "."
    style = rng.randrange(3)
    if style == 0:
        text = signature + "\n\n" + "\n".join(f"  {k}: {told[k]}" for k in order)
        text += f"\n\nRaises {error} if {required} is empty."
    elif style == 1:
        text = f'def {signature}:\n    """Args:\n        {required}: required.\n'
        text += "\n".join(f"        {k}: {told[k]} Default: {defaults[k]}." for k in order)
        text += f'\n\n    Raises:\n        {error}: if {required} is empty.\n    """'
    else:
        lines = [f"| {k} | {defaults[k]} | {told[k]} |" for k in order]
        text = f"### {name}\n\n`{required}` is required. An empty `{required}` raises {error}.\n\n"
        text += "| parameter | default | meaning |\n|---|---|---|\n" + "\n".join(lines)
    flag, what = rng.choice(flags)
    key, meaning, options = rng.choice(numbers)
    far = rng.choice([item for item in options if item != amounts[key]])
    other_value = rng.choice([item for item in values if item != value])
    base = what.split(maxsplit=1)
    plain = {
        "retries": "retry",
        "prints": "print",
        "raises": "raise",
        "keeps": "keep",
        "visits": "visit",
        "replaces": "replace",
        "sorts": "sort",
        "compresses": "compress",
        "ignores": "ignore",
        "follows": "follow",
        "removes": "remove",
    }
    verb = plain.get(base[0])
    yes = [
        f"by default, {name} {what}",
        f"{flag} is on by default",
        f"{flag} defaults to True",
        f"unless told otherwise, {name} {what}",
    ]
    no = [f"{flag} is off by default", f"{flag} defaults to False"]
    if verb:
        no += [f"by default, {name} does not {verb} {base[1]}"]
    else:
        no += [f"{flag} is disabled unless it is set"]
    found = claims(
        "function",
        rng,
        ("E", yes if on[flag] else no),
        ("C", no if on[flag] else yes),
        (
            "E",
            (
                f"{key} defaults to {amounts[key]}",
                f"the default of {key} is {amounts[key]}",
                f"if {key} is not given, {amounts[key]} is used",
            ),
        ),
        ("C", (f"{key} defaults to {far}", f"the default value of {key} is {far}")),
        ("E", (f'{choice} is "{value}" by default', f"the default {choice} is {value}")),
        (
            "C",
            (f'{choice} is "{other_value}" by default', f"the default {choice} is {other_value}"),
        ),
        (
            "E",
            (
                f"{name} raises {error} when {required} is empty",
                f"{required} must be given",
                f"{key} sets {meaning}"
                if not meaning.startswith("how")
                else f"{key} says {meaning}",
            ),
        ),
        ("C", (f"{required} is optional", f"an empty {required} is accepted without an error")),
        (
            "N",
            (
                f"{name} returns a list",
                f"{name} is deprecated",
                f"{name} is thread-safe",
                f"{name} was added in version 2.0",
                f"{name} writes a log file",
            ),
        ),
    )
    return Passage(text, "forms", found)


def settings(rng: random.Random) -> Passage:
    """A configuration file."""
    numbers = rng.sample(_NUMBERS, 3)
    flags = rng.sample(_FLAGS, 3)
    choice, values = rng.choice(_CHOICES)
    value = rng.choice(values)
    words = rng.choice((("true", "false"), ("on", "off"), ("yes", "no"), ("enabled", "disabled")))
    state = {flag: rng.random() < 0.5 for flag, _ in flags}
    amounts = {key: rng.choice(options) for key, _, options in numbers}
    lines = [f"{flag}{{}}{words[0] if on else words[1]}" for flag, on in state.items()]
    lines += [f"{key}{{}}{amount}" for key, amount in amounts.items()] + [f"{choice}{{}}{value}"]
    rng.shuffle(lines)
    gap = rng.choice((" = ", ": ", "="))
    head = rng.choice(("[server]", "# settings", "[default]", "config.yaml", "; service options"))
    flag, _ = rng.choice(flags)
    key, _, options = rng.choice(numbers)
    far = rng.choice([item for item in options if item != amounts[key]])
    true = (f"{flag} is switched on", f"{flag} is enabled", f"the {flag} option is active")
    false = (f"{flag} is switched off", f"{flag} is disabled", f"the {flag} option is not active")
    found = claims(
        "settings",
        rng,
        ("E", true if state[flag] else false),
        ("C", false if state[flag] else true),
        ("E", (f"{key} is set to {amounts[key]}", f"the value of {key} is {amounts[key]}")),
        ("C", (f"{key} is set to {far}", f"the value of {key} is {far}")),
        ("E", (f"the {choice} setting is {value}",)),
        ("C", (f"the {choice} setting is {rng.choice([x for x in values if x != value])}",)),
        (
            "N",
            (
                f"the default of {key} is {far}",
                f"{key} was raised last year",
                "changes need a restart",
                f"{flag} slows the program down",
            ),
        ),
    )
    return Passage("\n".join([head, *(line.format(gap) for line in lines)]), "forms", found)


def tool_output(rng: random.Random) -> Passage:
    """The JSON a tool returned: weather, an account, a parcel or a search."""
    style = rng.randrange(3)
    if style == 0:
        town, degrees = v.place(rng), rng.randrange(-9, 35)
        wind, rain = rng.randrange(3, 70), rng.randrange(0, 101)
        sky = rng.choice(("clear", "cloudy", "light rain", "snow", "fog", "thunderstorm"))
        data: dict[str, object] = {
            "city": town,
            "temperature_c": degrees,
            "wind_kmh": wind,
            "condition": sky,
            "rain_probability": rain / 100,
        }
        wrong = rng.choice(
            [s for s in ("clear", "cloudy", "light rain", "snow", "fog") if s != sky]
        )
        found = claims(
            "tool",
            rng,
            (
                "E",
                (
                    f"it is {degrees} degrees in {town}",
                    f"the temperature in {town} is {degrees} °C",
                ),
            ),
            ("C", (f"it is {degrees + rng.choice((-6, -4, 3, 5, 8))} °C in {town}",)),
            (
                "E",
                (
                    f"the chance of rain in {town} is {rain}%",
                    f"the wind in {town} blows at {wind} km/h",
                ),
            ),
            (
                "C",
                (
                    f"the wind in {town} blows at {v.other(wind, rng)} km/h",
                    f"the chance of rain is {(rain + 35) % 101}%",
                ),
            ),
            ("E", (f"the condition reported for {town} is {sky}",)),
            ("C", (f"the condition reported for {town} is {wrong}",)),
            (
                "N",
                (
                    f"it will be warmer in {town} tomorrow",
                    f"the humidity in {town} is 60%",
                    f"{town} had snow last week",
                ),
            ),
        )
    elif style == 1:
        owner, balance = v.person(rng), rng.randrange(20, 9000)
        plan = rng.choice(("free", "basic", "premium", "business"))
        active, seats = rng.random() < 0.6, rng.randrange(1, 40)
        data = {
            "account": {"owner": owner, "plan": plan, "active": active, "seats": seats},
            "balance": {"amount": balance, "currency": "EUR"},
            "overdue": False,
        }
        wrong = rng.choice([p for p in ("free", "basic", "premium", "business") if p != plan])
        yes, no = (
            (f"{owner}'s account is active",),
            (f"{owner}'s account is inactive", f"the account of {owner} is not active"),
        )
        found = claims(
            "tool",
            rng,
            ("E", yes if active else no),
            ("C", no if active else yes),
            ("E", (f"{owner} is on the {plan} plan",)),
            ("C", (f"{owner} is on the {wrong} plan",)),
            ("E", (f"the balance is {balance} euros", f"{owner}'s balance is €{balance}")),
            ("C", (f"the balance is €{v.other(balance, rng)}", "the account is overdue")),
            ("E", (f"the account has {seats} seat{'s' * (seats > 1)}", "nothing is overdue")),
            (
                "N",
                (
                    f"{owner} opened the account in 2021",
                    f"{owner} has two accounts",
                    f"{owner} plans to change to the {wrong} plan",
                ),
            ),
        )
    else:
        code, hub, town = f"{rng.choice('RXLP')}{rng.randrange(10**6, 10**7)}", *v.places(2, rng)
        state = rng.choice(("in transit", "delivered", "held at customs", "returned to sender"))
        kilos, day = rng.randrange(1, 30), rng.randrange(2, 27)
        month = rng.choice(("01", "03", "06", "09", "11"))
        data = {
            "tracking": code,
            "status": state,
            "last_scan": hub,
            "destination": town,
            "weight_kg": kilos,
            "eta": f"2025-{month}-{day:02d}",
        }
        wrong = rng.choice(
            [s for s in ("in transit", "delivered", "held at customs") if s != state]
        )
        found = claims(
            "tool",
            rng,
            ("E", (f"parcel {code} is {state}", f"the status of {code} is: {state}")),
            ("C", (f"parcel {code} is {wrong}",)),
            ("E", (f"the parcel was last scanned in {hub}", f"the parcel is addressed to {town}")),
            (
                "C",
                (
                    f"the parcel was last scanned in {town}",
                    f"the destination of the parcel is {hub}",
                ),
            ),
            ("E", (f"the parcel weighs {kilos} kg",)),
            ("C", (f"the parcel weighs {v.other(kilos, rng)} kg",)),
            (
                "N",
                (
                    f"the parcel contains {rng.choice(v.GOODS)}s",
                    "the sender paid for insurance",
                    f"the parcel left {hub} on time",
                ),
            ),
        )
    return Passage(
        json.dumps(data, indent=rng.choice((None, 2)), ensure_ascii=False), "forms", found
    )


def packing_list(rng: random.Random) -> Passage:
    """A recipe's ingredients or a shopping list: terse amounts."""
    items = [item.replace("_", " ") for item in rng.sample(v.INGREDIENTS, rng.randrange(4, 9))]
    amounts = {item: rng.randrange(1, 40) * rng.choice((5, 10, 25)) for item in items}
    mark = rng.choice(("- ", "* ", "", "• "))
    serves, minutes = rng.randrange(2, 13), rng.choice((15, 20, 35, 45, 60, 90))
    degrees = rng.choice((160, 180, 200, 220))
    lines = [
        f"{mark}{amount} g {item}" if rng.random() < 0.6 else f"{mark}{item}, {amount} g"
        for item, amount in amounts.items()
    ]
    head = f"Serves {serves}. {minutes} min at {degrees} °C."
    one, two = rng.sample(items, 2)
    missing = rng.choice([i for i in v.INGREDIENTS if i.replace("_", " ") not in items])
    missing = missing.replace("_", " ")
    more, less = (one, two) if amounts[one] > amounts[two] else (two, one)
    found = claims(
        "list",
        rng,
        (
            "E",
            (
                f"the recipe needs {amounts[one]} grams of {one}",
                f"it takes {amounts[one]} g of {one}",
            ),
        ),
        (
            "C",
            (
                f"the recipe needs {v.other(amounts[one], rng)} grams of {one}",
                f"it takes {amounts[one]} kg of {one}",
            ),
        ),
        (
            "E",
            (
                f"the recipe serves {serves} people",
                f"it is baked at {degrees} degrees",
                f"it takes {minutes} minutes in the oven",
            ),
        ),
        (
            "C",
            (
                f"the recipe serves {serves + rng.choice((1, 2, 4))} people",
                f"it is baked at {degrees + rng.choice((-20, 20, 30))} °C",
            ),
        ),
        ("E", (f"{one} is one of the ingredients", f"the list includes {two}")),
        ("C", (f"the list does not include {two}", f"the recipe needs no {one}")),
        (
            "N",
            (
                f"the {one} must be organic",
                "the dish can be frozen",
                f"the recipe comes from {v.place(rng)}",
                f"the {two} is added last",
            ),
        ),
    )
    found += claims(
        "list", rng, ("notE", (f"the recipe needs {missing}", f"the list includes {missing}"))
    )
    if amounts[one] != amounts[two]:
        found += claims(
            "list",
            rng,
            ("E", (f"there is more {more} than {less} in it",)),
            ("C", (f"there is more {less} than {more} in it",)),
        )
    return Passage(
        "\n".join([head, *lines] if rng.random() < 0.5 else [*lines, head]), "forms", found
    )
