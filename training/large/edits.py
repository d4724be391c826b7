"""Claims made from true sentences: truth-preserving rewrites and one-place falsifications.

Everything random comes from the `random.Random` passed in. A false claim carries "C" where the
source excludes it (numbers, dates, negations, opposites)
and "notE" where it only fails to follow.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from os.path import commonprefix as shared_start  # of any strings

from halldetect.facts.recogniser import VALUES
from training.perturbation import lexicon
from training.perturbation import proper_names as names
from training.perturbation.perturb import KINDS, perturb

CONTRADICTING = frozenset({"number", "date", "unit", "negation", "antonym", "comparison"})
_STANDS_BACK = {"negation": 0.45, "antonym": 0.35, "entity": 0.15}
# After these a smaller or greater number may still be true.
_LOOSE = re.compile(
    r"\b(?:more than|over|at least|up to|less than|fewer than|under|nearly|almost|about|around|"
    r"approximately|some|as many as|minimum of|maximum of|above|below|exceed\w*|roughly)"
    r"[ \w$£€]{0,8}$",
    re.I,
)
# The words of small numbers by value, "one" left out.
_WORDS = {int(value): word for word, value in VALUES.items() if value != "1"}
_DIGITS = {word: str(value) for value, word in _WORDS.items()}


@dataclass(frozen=True, slots=True)
class Made:
    """A claim, its label (E, N, C or notE) and how it was made."""

    text: str
    label: str
    kind: str


def usable(sentence: str) -> bool:
    """Return True if a sentence of a document can be a claim."""
    return (
        6 <= len(sentence.split()) <= 45
        and sentence[-1:] in ".!\"'”’)"
        and "?" not in sentence
        and sentence[:1].isupper()
        and not re.search(r"https?:|@|\bcite|\|", sentence)
        and sentence.count('"') % 2 == 0
        and not re.match(r"[A-Z]{4,}|[A-Z][\w ]{2,20}:|Table|Figure|Fig\b", sentence)
    )


def false_claims(
    claim: str, source: str, count: int, rng: random.Random, kinds: Sequence[str] = KINDS
) -> list[Made]:
    """Return up to `count` claims that differ from a true one in one place, each in another kind.

    An edit that the source states is not made.
    """
    made: list[Made] = []
    # Kinds that rarely apply are preferred over those that apply to almost any sentence.
    order = sorted(kinds, key=lambda kind: rng.random() + _STANDS_BACK.get(kind, 0.0))
    for kind in order:
        if len(made) == count:
            break
        try:
            text = perturb(claim, source, kind, rng)
        except (OverflowError, IndexError):
            # Some texts have numbers of twenty digits, which cannot be changed.
            continue
        if text is None:
            continue
        before = shared_start([claim, text])  # noqa: RUF071
        label = "C" if kind in CONTRADICTING else "notE"
        if kind in {"number", "unit"} and _LOOSE.search(before):
            continue
        if kind == "negation" and re.search(r"\b(?:may|might|some\b.*) ?$", before):
            label = "notE"
        if kind == "quantifier":
            negative = re.compile(r"\b(?:no|none of|never|neither|nobody)\b", re.I)
            label = "C" if bool(negative.search(text)) != bool(negative.search(claim)) else "notE"
            if re.search(r"(?:'s|s'|the|its|their|in) (?:no|few|all) ", text[len(before) - 5 :]):
                continue
        # A changed conditional statement does not contradict the original.
        if re.match(r"(?:If|When|Whether|Unless|Please|Do not)\b", claim):
            label = "notE"
        made.append(Made(text, label, f"edit_{kind}"))
    return made


_KEEP_CAPITAL = re.compile(r"^(?:I\b|I'|[A-Z]{2}|[A-Z][\w'’-]* [A-Z])")


@lru_cache(maxsize=256)
def _small_words(source: str) -> frozenset[str]:
    return frozenset(re.findall(r"(?<![\w'’])[a-z]\w*(?![\w'’])", source))


def inner(sentence: str, source: str) -> str:
    """Return a sentence for use after an opener: lower-case unless it begins with a name."""
    first = sentence.split(maxsplit=1)[0]
    if first in lexicon.NOT_NAMES and not first.startswith("I"):
        return sentence[:1].lower() + sentence[1:]
    if first.lower() in _small_words(source) and not _KEEP_CAPITAL.match(sentence):
        return sentence[:1].lower() + sentence[1:]
    return sentence


def rewrites(claim: str, rng: random.Random) -> list[Made]:
    """Return other wordings with the same meaning, or a part of it, each labelled E."""
    found: list[tuple[str, str]] = []
    found += [("shorter", text) for text in shortened(claim)]
    found += [("figures", text) for text in _figures(claim, rng)]
    return [
        Made(text, "E", f"rewrite_{kind}")
        for kind, text in found
        if text != claim and len(text.split()) >= 4
    ]


def shortened(sentence: str) -> list[str]:
    """Return shorter true versions: without brackets, clauses, fronted phrases or conjuncts."""
    cuts = []
    bare = re.sub(r"\s*\([^()]*\)", "", sentence)
    if bare != sentence and "(" not in bare:
        cuts.append(bare)
    match = re.match(
        r"^((?:In|On|At|After|During|Since|By|Before|Following) [^,]{3,40}), "
        r"(?!and |or |such |including |which |who |where |when |as |\d)"
        r"(\w.*)$",
        sentence,
    )
    if match and not re.search(r"\b(?:only|until)\b", match[1]):
        cuts.append(match[2][0].upper() + match[2][1:])
    match = re.match(r"^(.{25,}?), (?:and|but) ((?:he|she|it|they|the|we|this)\b.{15,})$", sentence)
    if match and not re.match(r"(?:If|Unless|Although|While|When|Though)\b", sentence):
        cuts += [match[1] + ".", match[2][0].upper() + match[2][1:]]
    return [cut for cut in cuts if len(cut.split()) >= 4 and cut.count('"') % 2 == 0]


def _figures(claim: str, rng: random.Random) -> list[str]:
    """Return versions with numbers, per cent signs and dates in other formats."""
    found = []
    match = re.search(r"(?<![\w.,$£€/:-])(\d{1,2})(?= [a-z]{4,}\b)(?! (?:percent|million|billion|"
                      r"January|o'clock))", claim)  # fmt: skip
    if match and int(match[1]) in _WORDS and not claim.startswith(match[1]):
        found.append(claim[: match.start()] + _WORDS[int(match[1])] + claim[match.end() :])
    pattern = "|".join(sorted(_DIGITS, key=len, reverse=True))
    match = re.search(rf"(?<![\w-])({pattern})(?= [a-z]{{4,}}\b)(?! (?:hundred|thousand|million|"
                      rf"billion|of\b))", claim)  # fmt: skip
    if match:
        found.append(claim[: match.start()] + _DIGITS[match[1]] + claim[match.end() :])
    if re.search(r"\d ?(?:%|per ?cent\b)", claim):
        style = rng.choice([" percent", " per cent", "%"])
        found.append(re.sub(r"(?<=\d) ?(?:%|per ?cent\b)", style, claim))
    months = "|".join(lexicon.MONTHS)
    match = re.search(rf"\b({months}) (\d{{1,2}}), (\d{{4}})\b,?", claim)
    if match:
        number = lexicon.MONTHS.index(match[1]) + 1
        new = rng.choice([f"{match[2]} {match[1]} {match[3]}",
                          f"{match[3]}-{number:02d}-{int(match[2]):02d}"])  # fmt: skip
        found.append(claim[: match.start()] + new + claim[match.end() :])
    match = re.search(rf"\b(\d{{1,2}}) ({months}) (\d{{4}})\b", claim)
    if match:
        found.append(f"{claim[: match.start()]}{match[2]} {match[1]}, {match[3]}"
                     f"{claim[match.end() :]}")  # fmt: skip
    match = re.search(
        r"([$£€])(\d+(?:[.,]\d+)*)(?![\d.,]*(?: ?(?:million|billion|trillion|m|bn|k)\b|\d))", claim
    )
    if match:
        word = {"$": "dollars", "£": "pounds", "€": "euros"}[match[1]]
        found.append(f"{claim[: match.start()]}{match[2]} {word}{claim[match.end() :]}")
    return found


def joined(first: str, second: str, source: str) -> str:
    """Return two sentences as one, as summaries do."""
    return f"{first.rstrip(' .')}, and {inner(second, source)}"


_PHRASE = re.compile(
    r"\b(?P<link>in|on|at|from|to|by|for|with|since|during|near) "
    r"(?P<what>(?:the )?[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*|\d{4})(?=[ ,.;])"
)


# Several clauses, a negation or a quantifier: a negation would not cover the changed part.
_NOT_PLAIN = re.compile(
    r"[,;:\"]|n['’]t|\b(?:and|or|but|not|no|never|who|that|which|only|because|if|when|likely|every|"
    r"all|each|most|some)\b",
    re.I,
)


def denied(claim: str, source: str, rng: random.Random) -> Made | None:
    """Return a true denial: "the dam was not built in 1945" where the source says 1931."""
    if len(claim.split()) > 16 or _NOT_PLAIN.search(claim):
        return None
    false = false_claims(claim, source, 1, rng, kinds=("number", "date", "unit"))
    if not false or false[0].label != "C":
        return None
    text = perturb(false[0].text, source, "negation", rng)
    if text is None or not re.search(r"\b(?:not|cannot)\b", text):
        return None
    # The negation must come before the changed part to cover it.
    negated, changed = (shared_start([false[0].text, one]) for one in (text, claim))  # noqa: RUF071
    if len(negated) > len(changed):
        return None
    return Made(text, "E", "denied")


def recombined(first: str, second: str, source: str, rng: random.Random) -> Made | None:
    """Return the first sentence with a place, time or partner of the second one."""
    here, there = list(_PHRASE.finditer(first)), list(_PHRASE.finditer(second))
    rng.shuffle(here)
    for old in here:
        fitting = [
            new["what"]
            for new in there
            if new["link"] == old["link"]
            and new["what"][0].isdigit() == old["what"][0].isdigit()
            and new["what"] not in first
            and not names.same(old["what"], new["what"])
        ]
        if fitting:
            text = first[: old.start("what")] + rng.choice(fitting) + first[old.end("what") :]
            return None if text in source or text == second else Made(text, "notE", "recombined")
    return None
