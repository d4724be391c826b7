"""`adversarial:NAME`: the faithful responses of a dataset, and wrong versions of each.

Each wrong row has one edit of a recorded kind, to measure recall per kind. The verifiers were
trained on texts with a wrong name, number, date, unit, negation, antonym, comparison, quantifier,
modality, role, speaker or added detail (`training.large.edits`). The kinds of this module are
different and never used in training:

- cause: a reason becomes an obstacle, or the reverse: "because of" and "despite"
- direction: a movement or change is reversed: "from A to B" becomes "from B to A"
- left-out: one of two participants is excluded: "A and B" becomes "A, but not B,"
- escaped: an event nearly happened: "was fined" becomes "narrowly escaped being fined"
- retracted: a statement becomes a false report
- unknown: a statement becomes an open question
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from halldetect.reading.sentences import sentences
from halldetect_bench.datasets.labelled_rows import Row

_NAME = r"[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*"
_AMOUNT = r"[$£€]?\d[\d,.]*\d%?|[$£€]?\d%?"
_REASONS = {
    "because of": "despite",
    "due to": "despite",
    "thanks to": "despite",
    "as a result of": "in spite of",
    "despite": "because of",
    "in spite of": "because of",
    "because": "although",
    "although": "because",
    "even though": "because",
}
_REASON = re.compile(
    r"\b(?:" + "|".join(sorted(_REASONS, key=len, reverse=True)) + r")\b", re.IGNORECASE
)
_DIRECTION = re.compile(
    rf"\bfrom (?P<one>{_NAME}|{_AMOUNT}) to (?P<two>{_NAME}|{_AMOUNT})(?=[\s.,;:!?)]|$)"
)
_BOTH = re.compile(rf"(?P<one>{_NAME}) and (?P<two>{_NAME})(?= (?:were|are|have|had|will|both)\b)")
# "due to" in "was due to meet" is a plan, not a reason.
_PLANNED = re.compile(r"\bdue to (?:be|have|go|meet|[a-z]+e|start|begin|play|visit)\b")
_PARTICIPLES = (
    "arrested fined killed injured sacked fired banned suspended jailed charged convicted evicted "
    "defeated beaten robbed attacked kidnapped deported demolished destroyed damaged closed "
    "cancelled sentenced relegated eliminated dismissed expelled shot stabbed hit struck bitten"
).split()
_PASSIVE = re.compile(
    rf"\b(?:was|were|has been|have been) (?P<done>{'|'.join(_PARTICIPLES)})\b(?! not\b)"
)
_PLAIN_SENTENCE = re.compile(r"^[A-Z][^:;\"“”!?]{20,}\.$")
_STARTERS = frozenset(
    "a an the this that these those it he she they we his her their its in on at after before "
    "there one two three some many most all both".split()
)

# Yields every place of a text where an edit applies, with the new text.
Editor = Callable[[str], Iterator[str]]


def _cause(text: str) -> Iterator[str]:
    for match in _REASON.finditer(text):
        if _PLANNED.match(text, match.start()):
            continue
        new = _REASONS[match.group().lower()]
        new = new.capitalize() if match.group()[0].isupper() else new
        yield text[: match.start()] + new + text[match.end() :]


def _direction(text: str) -> Iterator[str]:
    for match in _DIRECTION.finditer(text):
        if match["one"] != match["two"]:
            turned = f"from {match['two']} to {match['one']}"
            yield text[: match.start()] + turned + text[match.end() :]


def _left_out(text: str) -> Iterator[str]:
    for match in _BOTH.finditer(text):
        before, after = text[: match.start()], text[match.end() :].removeprefix(" both")
        yield f"{before}{match['one']}, but not {match['two']},{_singular(after)}"


def _singular(text: str) -> str:
    """Return the plural verb of "A and B were ..." in the singular."""
    pairs = {" were": " was", " are": " is", " have": " has"}
    for plural, one in pairs.items():
        if re.match(rf"{plural}\b", text):
            return one + text[len(plural) :]
    return text


def _escaped(text: str) -> Iterator[str]:
    for match in _PASSIVE.finditer(text):
        yield f"{text[: match.start()]}narrowly escaped being {match['done']}{text[match.end() :]}"


def _reported(frame: str, text: str) -> Iterator[str]:
    """Yield the text with one sentence in a frame, for each plain sentence."""
    for span in sentences(text):
        sentence = span.cut(text)
        if _PLAIN_SENTENCE.match(sentence):
            new = frame.format(_inside(sentence.rstrip(". "), text))
            yield text[: span.start] + new + text[span.end :]


def _inside(sentence: str, text: str) -> str:
    """Return a sentence with a lower-case start, unless it seems to begin with a name."""
    first = re.split(r"\W", sentence, maxsplit=1)[0]
    known = first.lower() in _STARTERS or re.search(rf"\b{re.escape(first.lower())}\b", text)
    if known or sentence[1:] == sentence[1:].lower():
        return sentence[0].lower() + sentence[1:]
    return sentence


_EDITORS: dict[str, Editor] = {
    "cause": _cause,
    "direction": _direction,
    "left-out": _left_out,
    "escaped": _escaped,
    "retracted": partial(_reported, "The report that {} has been withdrawn as false."),
    "unknown": partial(_reported, "It is still unknown whether {}."),
}
HELD_OUT_KINDS = tuple(_EDITORS)


def held_out_edit(text: str, kind: str, rng: random.Random) -> str | None:
    """Return a text with one edit at a random place, or None if no edit of that kind applies."""
    found = list(_EDITORS[kind](text))
    return rng.choice(found) if found else None


def adversarial(rows: Iterable[Row], *, seed: int) -> Iterator[Row]:
    """Yield every faithful row unchanged, and once for each kind of edit that applies.

    Each edit has its own generator, seeded by row and kind, so that adding a row or a kind does not
    change the other edits.
    """
    for row in rows:
        if row.hallucinated is not False:
            continue
        yield replace(row, dataset=f"adversarial-{row.dataset}", sentences=(), kind=None)
        for kind in HELD_OUT_KINDS:
            text = held_out_edit(row.response, kind, random.Random(f"{seed}/{row.id}/{kind}"))
            if text is not None:
                yield replace(
                    row,
                    dataset=f"adversarial-{row.dataset}",
                    id=f"{row.id}/{kind}",
                    response=text,
                    hallucinated=True,
                    score=None,
                    sentences=(),
                    kind=kind,
                )
