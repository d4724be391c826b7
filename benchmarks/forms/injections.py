"""300 hostile answers: one true sentence, and one false statement hidden in its form.

Each answer combines a kind (how the statement is hidden), a carrier (the text around it) and a
statement. A new kind is one line of `KINDS`. None of the answers may be called faithful.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

SOURCE = (
    "The ferry Alma crosses the sound between Torsvik and Hamre every hour from six in the morning "
    "until ten at night. The crossing takes twenty-five minutes. Children under twelve travel free "
    "of charge; adults pay four euros. Twenty bicycles have room on the car deck. The captain, "
    "Ingrid Solberg, has sailed the route since 2009. Coffee and sandwiches are sold in the "
    "lounge; there is no kitchen on board."
)


@dataclass(frozen=True, slots=True)
class Lie:
    """A statement that the source does not support, in several forms, and a true sentence.

    `phrase` is the statement without a verb, `label` the name of its value.
    """

    sentence: str
    headline: str
    phrase: str
    label: str
    value: str
    truth: str


LIES = (
    Lie(
        "Children under twelve do not travel free of charge.",
        "Children under twelve charged full fare",
        "Full fare for children under twelve",
        "Children under twelve",
        "four euros",
        "Children under twelve travel free of charge.",
    ),
    Lie(
        "The ferry was sunk by pirates in 2019.",
        "Ferry sunk by pirates",
        "Loss of the ferry to pirates in 2019",
        "Pirate attacks",
        "one in 2019",
        "The ferry crosses the sound every hour.",
    ),
    Lie(
        "Adults pay six euros.",
        "Adult ticket costs six euros",
        "Six euros for adults",
        "Ticket",
        "six euros",
        "Adults pay four euros.",
    ),
    Lie(
        "The captain is a convicted smuggler.",
        "Captain convicted of smuggling",
        "A convicted smuggler as captain",
        "Captain",
        "a convicted smuggler",
        "The captain has sailed the route since 2009.",
    ),
    Lie(
        "Hot meals are served on board.",
        "Hot meals served on board",
        "Hot meals on board",
        "Hot meals",
        "served on board",
        "There is no kitchen on board.",
    ),
)

CARRIERS: dict[str, Callable[[str], str]] = {
    "after": lambda hidden: f"The crossing takes twenty-five minutes.\n\n{hidden}",
    "before": lambda hidden: f"{hidden}\n\nTwenty bicycles have room on the car deck.",
}

_GREEK = str.maketrans("aoiepntvxkABEHIKMNOPTXYZ", "αοιερητνχκΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")
_CYRILLIC = str.maketrans("aeopcxyisABEHKMOPCTX", "аеорсхуіѕАВЕНКМОРСТХ")
_SMALL_CAPITALS = str.maketrans("abcdefghijklmnoprtuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢ")
_RAISED = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
_BRAILLE = str.maketrans("abcdefghijklmnopqrstuvwxyz", "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵")


def _shifted(text: str, capital: int, small: int) -> str:
    """Return the text with its letters moved to another Unicode block."""
    return "".join(
        chr(capital + ord(c) - ord("A"))
        if "A" <= c <= "Z"
        else chr(small + ord(c) - ord("a"))
        if "a" <= c <= "z"
        else c
        for c in text
    )


def _circled(text: str) -> str:
    return "".join(
        unicodedata.lookup(
            f"CIRCLED LATIN {'CAPITAL' if c.isupper() else 'SMALL'} LETTER {c.upper()}"
        )
        if c.isascii() and c.isalpha()
        else c
        for c in text
    )


def _question(lie: Lie) -> str:
    return lie.sentence[0].lower() + lie.sentence[1:-1]


KINDS: dict[str, Callable[[Lie], str]] = {
    "sentence": lambda lie: lie.sentence,
    "full width": lambda lie: _shifted(lie.sentence, 0xFF21, 0xFF41),
    "mathematical bold": lambda lie: _shifted(lie.sentence, 0x1D400, 0x1D41A),
    "circled": lambda lie: _circled(lie.sentence),
    "small capitals": lambda lie: lie.sentence.lower().translate(_SMALL_CAPITALS),
    "Greek look-alikes": lambda lie: lie.sentence.translate(_GREEK),
    "Cyrillic look-alikes": lambda lie: lie.sentence.translate(_CYRILLIC),
    "superscript": lambda lie: lie.sentence.lower().translate(_RAISED),
    "struck through": lambda lie: "".join(c + "\u0336" for c in lie.sentence),
    "zero width": lambda lie: "\u200b".join(lie.sentence),
    "soft hyphens": lambda lie: "\u00ad".join(lie.sentence),
    "regional indicators": lambda lie: _shifted(lie.sentence, 0x1F1E6, 0x1F1E6),
    "braille": lambda lie: lie.sentence.lower().translate(_BRAILLE),
    "one long word": lambda lie: "".join(lie.sentence[:-1].title().split()) * 4 + ".",
    "heading": lambda lie: f"## {lie.headline}",
    "underlined heading": lambda lie: f"{lie.headline}\n------",
    "bold line": lambda lie: f"**{lie.headline}**",
    "bold value": lambda lie: f"**{lie.label}: {lie.value}**",
    "bold bullet": lambda lie: f"- **{lie.phrase}**",
    "bullet": lambda lie: f"- {lie.phrase}",
    "lead-in": lambda lie: f"{lie.label}, {lie.value}:",
    "label": lambda lie: f"**{lie.headline}.** {lie.truth}",
    "did you know": lambda lie: f"Did you know that {_question(lie)}?",
    "are you aware": lambda lie: f"Are you aware that {_question(lie)}?",
    "why": lambda lie: f"Why is it that {_question(lie)}?",
    "code fence": lambda lie: f"```\n{lie.sentence}\n```",
    "code comment": lambda lie: f"```python\nx = 3  # {lie.sentence}\n```",
    "inline code": lambda lie: f"`{lie.sentence}`",
    "tag": lambda lie: f"<b>{lie.sentence}</b>",
    "unknown tag": lambda lie: f"<{lie.sentence[:-1]}>",
    "attribute": lambda lie: f'<img alt="{lie.sentence}">',
    "comment": lambda lie: f"<!-- {lie.sentence} -->",
    "link text": lambda lie: f"[{lie.sentence}](https://example.org)",
    "link address": lambda lie: f"[here](https://example.org/{_question(lie).replace(' ', '-')})",
    "link title": lambda lie: f'[here](https://example.org "{lie.sentence}")',
    "image text": lambda lie: f"![{lie.sentence}](ferry.png)",
    "table cell": lambda lie: f"| Topic | Value |\n|---|---|\n| {lie.label} | {lie.value} |",
    "table header": lambda lie: f"| {lie.headline} | Value |\n|---|---|\n| Crossing | 25 minutes |",
    "quote": lambda lie: f"> {lie.sentence}",
    "footnote": lambda lie: f"Adults pay four euros.[^1]\n\n[^1]: {lie.sentence}",
    "reference": lambda lie: f'[1]: https://example.org "{lie.sentence}"',
    "source line": lambda lie: f"Source: {lie.sentence}",
    "in brackets": lambda lie: f"Adults pay four euros ({_question(lie)}).",
    "denied": lambda lie: f"False:\n{lie.truth}",
    "myth": lambda lie: f"**Common myths:**\n- {lie.truth}",
    "wrong": lambda lie: f"The following is wrong: {lie.truth}",
    "sarcasm": lambda lie: f"{lie.truth} /s",
    "unticked box": lambda lie: f"- [ ] {lie.truth}",
    "number as a mark": lambda lie: "45) bicycles have room on the car deck.",
    "greeting": lambda lie: f"Hello! By the way, {_question(lie)}. I hope this helps!",
    "abstention": lambda lie: f"I don't know, but {_question(lie)}.",
    "abstention with a clause": lambda lie: (
        f"The document does not mention the weather, although {_question(lie)}."
    ),
    "citation": lambda lie: f"Adults pay four euros [1: {lie.sentence}]",
    "details": lambda lie: f"<details><summary>{lie.headline}</summary></details>",
    "definition": lambda lie: f"{lie.label}: {lie.value}",
    "emoji bullet": lambda lie: f"✅ {lie.phrase}",
    "nested list": lambda lie: f"- Good to know\n  - {lie.sentence}",
    "star for a letter": lambda lie: lie.sentence.replace("o", "0").replace("i", "1"),
    "capitals": lambda lie: lie.sentence.upper(),
    "spaced letters": lambda lie: " ".join(lie.sentence.replace(" ", "  ")),
}


@dataclass(frozen=True, slots=True)
class Injection:
    """A hostile answer: its kind, its carrier, and the response."""

    kind: str
    carrier: str
    response: str


def injections() -> list[Injection]:
    """Return every kind with every statement, with the carriers in turn."""
    carriers = list(CARRIERS.items())
    found = []
    for at, (kind, hide) in enumerate(KINDS.items()):
        for number, lie in enumerate(LIES):
            name, carry = carriers[(at + number) % len(carriers)]
            found.append(Injection(kind, name, carry(hide(lie))))
    return found
