"""Names, things and amounts for generated forms: wide enough that no single item is learned."""

from __future__ import annotations

import random

FIRST = (
    "Adela Bruno Chiara Dmitri Elif Fatou Gustav Hana Ivo Jasmin Kofi Leila Mateo Nadia Oskar "
    "Priya Quentin Ruben Soraya Tomas Ursula Viktor Wanda Xenia Yusuf Zofia Abel Beatriz Cyrus "
    "Dalia Emre Freya Gideon Helga Imran Judit Karim Lotte Marek Noor Orla Pavel Renata Selim "
    "Tamara Ulrich Vesna Wilma Yara Zane Amira Boris Celine Darius Edna Florian Gemma Hassan Irma "
    "Joachim Katya Lars Mirela Nils Odette Petra Rashid Sigrid Tobias Una Valeria Winston"
).split()
LAST = (
    "Abara Bellweather Castellan Dorrigo Egeland Fairbrother Garmendia Hollis Ilves Jankowski "
    "Kettering Lindqvist Marchetti Novakova Okonjo Pellegrin Quiroga Rasmussen Sandoval Thibault "
    "Urbina Vasquez Whitlock Yamagata Zeller Ashworth Brandvold Cobham Delacroix Eastgate Ferreira "
    "Gadsden Haverford Ismailov Joubert Kowalczyk Lamprecht Mbeki Norrington Oduya Prescott Rourke "
    "Stavros Tennant Underhill Voss Wexley Zhang Aaltonen Birkeland Carmody Drummond"
).split()
_STARTS = (
    "Al Bar Cor Del Es Fal Gar Hal Is Jor Kel Lor Mar Nor Or Pel Quin Ros Sal Tor Ul Ver Wil Yar "
    "Zan Bren Cael Dun Fen Gren Hol Kris Lin Mon Nav Ost Pra Rin Stel Tam Vel"
).split()
_MIDDLES = "a e i o u an en or ar il on em ul ev is".split()
_ENDS = (
    "ton ville berg mouth ford field haven dale port stad wick by ham mere more via nia ta ros "
    "den dor lin sta"
).split()
_FIRMS = (
    "Logistics Foods Energy Textiles Instruments Systems Shipping Robotics Ceramics Analytics "
    "Pharma Motors Timber Media Optics Catering Insurance Software Mining Airways Cycles Brewing "
    "Paper Interiors Security Travel Water Rentals Publishing Dental"
).split()
_FORMS = ("Ltd", "Inc.", "GmbH", "LLC", "S.A.", "Group", "plc", "& Sons", "Co.", "")
GOODS = (
    "desk lamp|kettle|hiking boot|rain jacket|office chair|wall clock|tripod|backpack|toaster|"
    "cordless drill|yoga mat|bicycle pump|sleeping bag|water bottle|notebook|keyboard|headset|"
    "garden hose|folding table|travel mug|frying pan|bread knife|bath towel|umbrella|"
    "picture frame|storage box|door mat|pillow|camping stove|torch|extension lead|paint roller|"
    "ladder|measuring tape|screwdriver set|coffee grinder|teapot|cutting board|blanket|curtain"
).split("|")
DISHES = (
    "lentil soup|grilled trout|mushroom risotto|beef stew|vegetable curry|apple tart|fish tacos|"
    "pumpkin ravioli|chicken wrap|beetroot salad|onion pie|potato gratin|rice bowl|cheese plate|"
    "lemon cake|spinach quiche|noodle salad|bean chili|tomato bread|roast duck|plum crumble|"
    "house lemonade|iced tea|filter coffee|hot chocolate|sparkling water"
).split("|")
COLOURS = "black white red navy green grey silver orange yellow brown beige purple teal".split()
MATERIALS = (
    "aluminium steel oak bamboo glass ceramic cotton wool polyester leather plastic titanium "
    "linen cork rubber brass"
).split()
INGREDIENTS = (
    (
        "flour sugar butter salt yeast milk rice lentils onions carrots cream honey oats raisins "
        "almonds olive\u00a0oil tomatoes potatoes cheese chickpeas spinach cocoa"
    )
    .replace("\u00a0", "_")
    .split()
)
ROLES = (
    "accountant|designer|site manager|nurse|data analyst|electrician|translator|sales assistant|"
    "warehouse supervisor|lawyer|receptionist|chemist|driver|trainer|archivist|technician|"
    "librarian|engineer|editor|buyer"
).split("|")
DEPARTMENTS = (
    "Finance|Marketing|Research|Operations|Legal|Human Resources|Support|Procurement|Production|"
    "Quality|Logistics|Design|Facilities|Public Relations"
).split("|")
SUBJECTS = (
    "Statistics|Organic Chemistry|Modern History|Linear Algebra|Ceramics|Music Theory|Spanish|"
    "Ethics|Microeconomics|Botany|Film Studies|Astronomy|Public Law|Welding|Typography|Genetics|"
    "Hydrology|Nutrition|Acoustics|Accounting"
).split("|")


def person(rng: random.Random) -> str:
    """A first and a last name."""
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def people(count: int, rng: random.Random) -> list[str]:
    """Different full names without a shared part."""
    return [
        f"{first} {last}"
        for first, last in zip(rng.sample(FIRST, count), rng.sample(LAST, count), strict=True)
    ]


def place(rng: random.Random) -> str:
    """An invented place name."""
    middle = rng.choice(_MIDDLES) if rng.random() < 0.5 else ""
    return rng.choice(_STARTS) + middle + rng.choice(_ENDS)


def places(count: int, rng: random.Random) -> list[str]:
    """Different invented place names."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[place(rng)] = None
    return list(found)


def firm(rng: random.Random) -> str:
    """An invented company name."""
    name = rng.choice([place(rng), rng.choice(LAST), f"{rng.choice(_STARTS)}{rng.choice('aeio')}x"])
    return " ".join(part for part in (name, rng.choice(_FIRMS), rng.choice(_FORMS)) if part)


def model(rng: random.Random) -> str:
    """An invented model name such as "Velor 320"."""
    letters = "".join(rng.choice("ABCDEFGHKLMNPRSTVXZ") for _ in range(rng.choice((1, 2))))
    style = rng.random()
    if style < 0.4:
        number = rng.choice((2, 3, 5, 7, 10, 20, 50, 100, 320, 450, 700))
        return f"{rng.choice(_STARTS)}{rng.choice(_MIDDLES)} {number}"
    if style < 0.7:
        return f"{letters}-{rng.randrange(10, 990)}"
    suffix = rng.choice("Pro Mini Plus Lite Max S X Neo".split())
    return f"{rng.choice(_STARTS)}{rng.choice(_ENDS)} {suffix}"


def other(value: int, rng: random.Random) -> int:
    """A different whole number of about the same size."""
    step = max(1, int(10 ** (len(str(abs(value))) - 2)))
    while True:
        new = value + rng.choice((-9, -7, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 7, 9)) * step
        if new > 0 and new != value:
            return new


def money(rng: random.Random, low: int = 2, high: int = 400) -> str:
    """A price with its sign."""
    sign = rng.choice("$€£")
    value = rng.randrange(low, high)
    return (
        f"{sign}{value}"
        if rng.random() < 0.5
        else f"{sign}{value}.{rng.choice(('50', '99', '95', '20', '75'))}"
    )


def clock(rng: random.Random) -> str:
    """A time of day."""
    return f"{rng.randrange(5, 23):02d}:{rng.choice(range(0, 60, 5)):02d}"
