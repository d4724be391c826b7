"""Pairs about real passages: a true claim and the same with one fact changed.

The changes are those of `training.perturbation` and a few that it lacks: two names or two numbers
exchanged, an opposite or an equal bound, another time of the day, an amount in another scale.
None is certain: a changed claim can be true by chance, so the large verifier is asked.
"""

from __future__ import annotations

import difflib
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from training.large import edits
from training.large.compose import PROSE
from training.large.data import is_dev
from training.large.sources import Passage, split
from training.perturbation import proper_names
from training.plain.pairs import Pair
from training.plain.values import AGAINST, BOUNDS, Clock, Style, clock, other_clock

# Kind of an edit of `training.perturbation` -> kind of the fact.
EDITS = {
    "edit_number": "number", "edit_date": "date", "edit_entity": "name", "edit_unit": "unit",
    "edit_negation": "negation", "edit_quantifier": "all", "edit_modality": "too_strong",
    "edit_comparison": "comparison", "edit_antonym": "comparison",
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.,$£€:-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w%]|[.,:-]\d)")
_CLOCK = re.compile(r"(?<=\bat )(\d{1,2}):(\d\d)\b(?: ?([ap])\.?m\.?(?!\w))?")
_LIMITS = {
    "max": r"(?:up to|at most|no more than|not more than|a maximum of|less than|fewer than|under)",
    "min": r"(?:at least|no less than|no fewer than|a minimum of|more than|over)",
}  # fmt: skip
_STRICT = re.compile(r"less|fewer than$|under|^more|over")
_BOUND = {way: re.compile(rf"\b({words}) ([$£€]?\d[\d,.]*\d|[$£€]?\d)(?![\d.,]*\d)")
          for way, words in _LIMITS.items()}  # fmt: skip
_SCALED = re.compile(r"(?<![\d.,])(\d+(?:\.\d+)?) (million|billion|thousand)\b")
_SIZES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_BECAUSE = re.compile(r"^([A-Z][^,;:]{12,90}?),? because ((?!of\b)[^,;:]{12,90})\.$")


def exchanged_names(claim: str, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield the claim with two of its names exchanged."""
    names = [name for name in proper_names.find(claim, source) if claim.count(name.text) == 1]
    kinds = proper_names.kinds(claim, source)
    for one, two in pairwise(names):
        between = claim[one.end : two.start]
        alike = kinds.get(one.text) == kinds.get(two.text)
        # A list of names says the same in any order.
        if not alike or len(between.split()) < 2 or proper_names.same(one.text, two.text):
            continue
        wrong = claim[: one.start] + two.text + between + one.text + claim[two.end :]
        yield Pair("actors", claim, wrong, certain=False)


def exchanged_numbers(claim: str, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield the claim with two of its numbers exchanged."""
    found = list(_NUMBER.finditer(claim))
    for one, two in pairwise(found):
        between = claim[one.end() : two.start()]
        like = abs(len(one[0]) - len(two[0])) <= 1
        if one[0] == two[0] or len(between.split()) < 2 or not like:
            continue
        wrong = claim[: one.start()] + two[0] + between + one[0] + claim[two.end() :]
        yield Pair("amounts", claim, wrong, certain=False)


def bounds(claim: str, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield an equal bound with the opposite one."""
    for way, pattern in _BOUND.items():
        match = pattern.search(claim)
        if match is None:
            continue
        words = [text for text in BOUNDS[way] if text.endswith("{}")]
        right = match[0] if _STRICT.search(match[1]) else rng.choice(words).format(match[2])
        wrong = rng.choice([text for text in AGAINST[way] if text.endswith("{}")]).format(match[2])
        before, after = claim[: match.start()], claim[match.end() :]
        yield Pair("bound", before + right + after, before + wrong + after, certain=False)


def clocks(claim: str, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield the claim with a time in another form, and with another time."""
    match = _CLOCK.search(claim)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        return
    hour = int(match[1]) % 12 + 12 * (match[3] == "p") if match[3] else int(match[1])
    time = Clock(60 * hour + int(match[2]))
    form = rng.choice((0, 1, 2)) if match[3] or hour > 12 else 4
    style = Style(False, False, True, 0, form, 0)
    before, after = claim[: match.start()], claim[match.end() :]
    right, wrong = clock(time, style), clock(other_clock(time, rng), style)
    if right != wrong:
        yield Pair("clock", before + right + after, before + wrong + after, certain=False)


def scales(claim: str, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield an amount in another scale, and the same off by a power of ten."""
    match = _SCALED.search(claim)
    if match is None:
        return
    number = round(float(match[1]) * _SIZES[match[2]])
    times = rng.choice((10, 100, 1000))
    wrong = number * times if rng.random() < 0.5 or number % times else number // times
    before, after = claim[: match.start()], claim[match.end() :]
    yield Pair("scale", f"{before}{number:,}{after}", f"{before}{wrong:,}{after}", certain=False)
    other = rng.choice([word for word in _SIZES if word != match[2]])
    yield Pair("scale", claim, f"{before}{match[1]} {other}{after}", certain=False)


def reversed_causes(claim: str, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield the claim with cause and effect exchanged."""
    match = _BECAUSE.match(claim)
    if match is not None:
        effect, reason = match[1], match[2]
        wrong = f"{reason[:1].upper()}{reason[1:]} because {edits.inner(effect, source)}."
        yield Pair("cause", claim, wrong, certain=False)


def edited(claim: str, source: str, rng: random.Random) -> Iterator[Pair]:
    """Yield the edits of `training.perturbation`, and an equal form of the claim beside one."""
    for made in edits.false_claims(claim, source, 2, rng):
        yield Pair(EDITS[made.kind], claim, made.text, certain=False)
    forms = [made.text for made in edits.rewrites(claim, rng) if made.kind == "rewrite_figures"]
    if forms:
        right = rng.choice(forms)
        for made in edits.false_claims(right, source, 1, rng, kinds=("number", "date", "unit")):
            yield Pair(EDITS[made.kind], right, made.text, certain=False)


_MAKERS: tuple[Callable[[str, str, random.Random], Iterator[Pair]], ...] = (
    exchanged_names, exchanged_numbers, bounds, clocks, scales, reversed_causes, edited,
)  # fmt: skip


def twins(passage: Passage, rng: random.Random) -> Iterator[Pair]:
    """Yield the right and wrong claims of people that differ in a few words."""
    wrong = [claim.text for claim in passage.claims if claim.label == "C"]
    for claim in passage.claims:
        if claim.label != "E" or not wrong:
            continue
        words = claim.text.split()
        best = max(wrong, key=lambda text: _alike(words, text.split()))
        if _alike(words, best.split()) >= 0.75:
            yield Pair("written", claim.text, best)


def _alike(one: Sequence[str], two: Sequence[str]) -> float:
    return difflib.SequenceMatcher(None, one, two, autojunk=False).ratio()


def pairs_of(passage: Passage, rng: random.Random, most: int = 10) -> list[Pair]:
    """Return pairs about a passage: from its true claims, and from its own sentences."""
    true = [claim.text for claim in passage.claims
            if claim.label == "E" and claim.kind != "qa_quoted"
            and 4 <= len(claim.text.split()) <= 40]  # fmt: skip
    true = rng.sample(true, min(len(true), 5))
    if passage.source in PROSE:
        own = [sentence for sentence in split(passage.text) if edits.usable(sentence)]
        true += rng.sample(own, min(len(own), 4))
    rare: list[Pair] = []
    common: list[Pair] = list(twins(passage, rng))
    for claim in true:
        for maker in _MAKERS:
            (common if maker is edited else rare).extend(maker(claim, passage.text, rng))
    known = {claim.text for claim in passage.claims if claim.label == "E"}
    usable = [pair for pair in (*rare, *rng.sample(common, min(len(common), most)))
              if pair.right != pair.wrong and pair.wrong not in known
              and pair.wrong not in passage.text]  # fmt: skip
    return list({pair.right + pair.wrong: pair for pair in usable}.values())[:most]


def is_held_out(passage: Passage) -> bool:
    """Return True if a passage is for development; those of one title stay together."""
    key = f"plain|{passage.title or passage.text}"
    if is_dev(passage):  # the development sets of `data` are made of these
        return True
    return zlib.crc32(key.encode()) % 40 == 0
