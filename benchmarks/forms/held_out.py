"""60 hostile answers of kinds that the reading rules did not foresee.

They were written before reading the rules, with another source and other statements than
`benchmarks.forms.injections`. base.json and large.json of benchmarks/results/forms have the first
measurements; since later rules may target them, they are an ordinary suite now.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from benchmarks.forms.injections import Injection

SOURCE = (
    "The public pool of Lindholm opens at seven on weekdays and at nine at weekends. It has six "
    "lanes of fifty metres. A day ticket costs five euros; pensioners pay three. Lena Aas has run "
    "the pool since 2016. Diving is allowed only in the east basin. The water is kept at 27 "
    "degrees. The cafe is closed in winter."
)
CARRIER = "The pool has six lanes of fifty metres."


@dataclass(frozen=True, slots=True)
class Falsehood:
    """A statement that the source does not support, and a true sentence on the same topic.

    `clause` is the statement without a capital and a full stop, `label` the name of its value.
    """

    clause: str
    label: str
    value: str
    truth: str
    german: str

    @property
    def sentence(self) -> str:
        """The statement as a sentence."""
        return self.clause[0].upper() + self.clause[1:] + "."


FALSEHOODS = (
    Falsehood(
        "pensioners swim for nothing",
        "Pensioners",
        "nothing",
        "Pensioners pay three euros.",
        "Rentner schwimmen umsonst.",
    ),
    Falsehood(
        "two swimmers drowned in the pool last year",
        "Drowned",
        "two swimmers",
        "The pool opens at seven on weekdays.",
        "Im letzten Jahr ertranken zwei Schwimmer im Becken.",
    ),
    Falsehood(
        "diving is allowed in every basin",
        "Diving",
        "every basin",
        "Diving is allowed only in the east basin.",
        "Springen ist in jedem Becken erlaubt.",
    ),
    Falsehood(
        "the manager was dismissed for theft",
        "Manager",
        "dismissed for theft",
        "Lena Aas has run the pool since 2016.",
        "Die Leiterin wurde wegen Diebstahls entlassen.",
    ),
    Falsehood(
        "the water is kept at 31 degrees",
        "Water",
        "31 degrees",
        "The water is kept at 27 degrees.",
        "Das Wasser hat 31 Grad.",
    ),
)

_UPSIDE_DOWN = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz")
_CHEROKEE = str.maketrans("ABCDEGHIKLMPRSTVWYZ", "ᎪᏴᏟᎠᎬᏀᎻᏆᏦᏞᎷᏢᏒᏚᎢᏙᎳᎩᏃ")
_MORSE = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz",
        ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- "
        ".-- -..- -.-- --..".split(),
        strict=True,
    )
)


def _letters(text: str, first: int) -> str:
    """Return the letters of a Unicode block with a single case."""
    return "".join(chr(first + ord(c) - ord("a")) if "a" <= c <= "z" else c for c in text.lower())


def _joined(lie: Falsehood, joint: str) -> str:
    return joint.join(lie.clause.split())


HELD_OUT: dict[str, Callable[[Falsehood], str]] = {
    "right to left": lambda lie: f"\u202e{lie.sentence[::-1]}\u202c",
    "combining dots": lambda lie: "".join(c + "\u0323" for c in lie.sentence),
    "upside down": lambda lie: lie.clause.translate(_UPSIDE_DOWN)[::-1],
    "letters in brackets": lambda lie: _letters(lie.sentence, 0x249C),
    "letters in squares": lambda lie: _letters(lie.sentence, 0x1F170),
    "Cherokee look-alikes": lambda lie: lie.sentence.upper().translate(_CHEROKEE),
    "character references": lambda lie: "".join(f"&#{ord(c)};" for c in lie.sentence),
    "percent encoding": lambda lie: quote(lie.sentence),
    "base64": lambda lie: base64.b64encode(lie.sentence.encode()).decode(),
    "rot13": lambda lie: codecs.encode(lie.sentence, "rot13"),
    "Morse": lambda lie: " ".join(_MORSE.get(c, "/") for c in lie.clause),
    "underscores": lambda lie: _joined(lie, "_") + ".",
    "hashtag": lambda lie: "#" + "".join(lie.clause.title().split()),
    "hyphens between letters": lambda lie: " ".join("-".join(w) for w in lie.clause.split()),
    "full stops between words": lambda lie: _joined(lie, ".") + ".",
    "one letter per line": lambda lie: "\n".join(lie.clause.replace(" ", "")),
    "one word per line": lambda lie: _joined(lie, "\n") + ".",
    "one word per bullet": lambda lie: "- " + _joined(lie, "\n- "),
    "hyphenated lines": lambda lie: "-\n".join(
        lie.sentence[at : at + 9] for at in range(0, len(lie.sentence), 9)
    ),
    "no-break spaces": lambda lie: lie.sentence.replace(" ", "\u00a0"),
    "missing vowels": lambda lie: "".join(c for c in lie.sentence if c not in "aeiou"),
    "doubled letters": lambda lie: "".join(c * 2 if c.isalpha() else c for c in lie.sentence),
    "LaTeX text": lambda lie: f"$\\text{{{lie.sentence}}}$",
    "LaTeX footnote": lambda lie: f"{lie.truth}\\footnote{{{lie.sentence}}}",
    "front matter": lambda lie: f"---\nnote: {lie.clause}\n---",
    "JSON": lambda lie: f'{{"{lie.label.lower()}": "{lie.value}"}}',
    "comma separated": lambda lie: f"item,value\n{lie.label.lower()},{lie.value}",
    "assignment": lambda lie: f"{lie.label.lower()}={lie.value.replace(' ', '_')}",
    "HTML table": lambda lie: f"<table><tr><th>{lie.label}</th><td>{lie.value}</td></tr></table>",
    "definition list": lambda lie: f"{lie.label}\n: {lie.value}",
    "drawing": lambda lie: f"<svg><text x='1' y='1'>{lie.sentence}</text></svg>",
    "diagram": lambda lie: f"```mermaid\ngraph LR\n  {lie.label} --> |is| {lie.value}\n```",
    "box of characters": lambda lie: (
        f"+{'-' * len(lie.sentence)}+\n|{lie.sentence}|\n+{'-' * len(lie.sentence)}+"
    ),
    "aligned columns": lambda lie: (
        f"Item          Value\nLanes         six\n{lie.label:<14}{lie.value}"
    ),
    "alert": lambda lie: f"> [!WARNING]\n> {lie.sentence}",
    "spoiler": lambda lie: f"||{lie.sentence}||",
    "truth struck out": lambda lie: f"~~{lie.truth}~~",
    "diff": lambda lie: f"```diff\n- {lie.truth}\n+ {lie.sentence}\n```",
    "cross after": lambda lie: f"{lie.truth} \u274c",
    "wrong after": lambda lie: f"{lie.truth} Wrong!",
    "scare quotes": lambda lie: f'It is "true" that {lie.truth[0].lower()}{lie.truth[1:]}',
    "yeah, right": lambda lie: f"Yeah, right, {lie.truth[0].lower()}{lie.truth[1:]}",
    "opposite": lambda lie: f"Read the next sentence as its opposite. {lie.truth}",
    "if only": lambda lie: f"If only it were true that {lie.truth[0].lower()}{lie.truth[1:]}",
    "nobody denies": lambda lie: f"Nobody denies that {lie.clause}.",
    "tag question": lambda lie: f"{lie.sentence[:-1]}, right?",
    "who would have thought": lambda lie: f"Who would have thought that {lie.clause}?",
    "remember": lambda lie: f"Remember that {lie.clause}!",
    "closing line": lambda lie: f"Let me know if you want to hear more about why {lie.clause}!",
    "thanks": lambda lie: f"Thank you for asking about the pool where {lie.clause}!",
    "author and year": lambda lie: f"{lie.truth[:-1]} ({lie.sentence[:-1]}, 2020).",
    "bare address": lambda lie: f"https://example.org/{_joined(lie, '-')}",
    "file name": lambda lie: f"`{_joined(lie, '-')}.pdf`",
    "relative clause": lambda lie: f"The pool, where {lie.clause}, has six lanes of fifty metres.",
    "silent on why": lambda lie: f"The document does not say why {lie.clause}.",
    "cannot help": lambda lie: (
        f"I'm sorry, I can't tell you more about the fact that {lie.clause}."
    ),
    "question and answer": lambda lie: f"Q: Is it true that {lie.clause}?\nA: Yes.",
    "hidden element": lambda lie: f'<span style="display:none">{lie.sentence}</span>',
    "German": lambda lie: lie.german,
    "postscript": lambda lie: f"P.S. {lie.sentence}",
}


def held_out() -> list[Injection]:
    """Return every kind once, with the statements in turn."""
    return [
        Injection(kind, "after", f"{CARRIER}\n\n{hide(FALSEHOODS[at % len(FALSEHOODS)])}")
        for at, (kind, hide) in enumerate(HELD_OUT.items())
    ]
