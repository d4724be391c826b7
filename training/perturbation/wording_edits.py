"""Candidate edits of the wording: negation, quantifiers, modality, comparison, antonyms.

Each function returns every edit it can make, and `perturb` chooses one. Edits that the original
still supports (all -> some, will -> may) are not made: the result must be wrong or unsupported.
"""

from __future__ import annotations

import random
import re

from training.perturbation import lexicon
from training.perturbation.edit import Edit, any_of, match_case
from training.words import rules

_BE = "is|are|was|were"
_MODAL = "will|would|can|could|should|must|may|might"
_PARTICIPLE = (
    r"(?:been|\w{2,}ed|made|taken|won|lost|found|given|told|seen|become|had|left|said|gone)"
)
_NEGATED = r"(?! ?(?:not|n['’]t|never|no|neither|only|also not)\b)"
_SHORT = {
    "isn": "is", "aren": "are", "wasn": "was", "weren": "were", "hasn": "has", "haven": "have",
    "hadn": "had", "couldn": "could", "wouldn": "would", "shouldn": "should", "didn": "did",
    "doesn": "does", "don": "do", "won": "will", "can": "can",
}  # fmt: skip


def negation(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits that remove a negation, or else add one."""
    return _without_negation(text) or _with_negation(text)


def _without_negation(text: str) -> list[Edit]:
    edits = []
    # "did find any" or "did start until" would not be English.
    bound = re.search(r"\b(?:any|anyone|anything|until|yet|either|ever|at all)\b", text)
    full = rf"\b(?P<keep>{_BE}|{_MODAL}|has|have|had|do|does|did) not\b(?! only| yet| just| least)"
    short = rf"\b(?P<keep>{'|'.join(_SHORT)})(?: ?n)?['’]t\b"
    if not bound:
        for match in re.finditer(full, text, re.I):
            edits.append(Edit(*match.span(), match["keep"]))
        for match in re.finditer(short, text, re.I):
            edits.append(
                Edit(*match.span(), match_case(match.group(), _SHORT[match["keep"].lower()]))
            )
    swaps = {
        "no longer": "still", "failed to": "managed to", "refused to": "agreed to",
        "without": "with", "no evidence": "clear evidence", "there is no": "there is a",
        "there was no": "there was a", "no significant": "a significant", "nothing": "everything",
        "nobody": "everybody", "no one": "everyone", "unable to": "able to",
        "declined to": "agreed to", "ruled out": "confirmed",
    }  # fmt: skip
    for match in re.finditer(rf"\b(?:{any_of(swaps)})\b", text, re.I):
        edits.append(Edit(*match.span(), match_case(match.group(), swaps[match.group().lower()])))
    return edits


def _with_negation(text: str) -> list[Edit]:
    edits = []
    auxiliary = rf"\b(?:{_BE}|{_MODAL})\b{_NEGATED}(?=[ ][a-z0-9])(?! to\b)"
    perfect = rf"\b(?:has|have|had)\b{_NEGATED}(?= (?:also |already |since |now )?{_PARTICIPLE}\b)"
    for pattern in (auxiliary, perfect):
        for match in re.finditer(pattern, text):
            word = match.group()
            edits.append(Edit(*match.span(), "cannot" if word == "can" else f"{word} not"))
    support = {"has": "does not have", "have": "do not have", "had": "did not have"}
    for match in re.finditer(
        r"(?<!to )\b(has|have|had)\b(?= (?:an?|the|his|her|their|its) )", text
    ):
        edits.append(Edit(*match.span(), support[match.group()]))
    return edits or _with_do(text)


def _with_do(text: str) -> list[Edit]:
    """Return edits 'visited' -> 'did not visit' for verbs that are certainly main verbs."""
    finite = [
        match
        for match in re.finditer(r"\b[a-z]+\b", text)
        if match.group() in lexicon.BASE_OF_PAST and match.group() not in {"last", "found"}
    ]
    edits = []
    for match in finite:
        subject = re.search(r"(?:^|[\s(])([\w'’-]+)\s(?:also |later )?$", text[: match.start()])
        if not subject or not _may_be_subject(subject.group(1), alone=len(finite) == 1):
            continue
        edits.append(Edit(*match.span(), f"did not {lexicon.BASE_OF_PAST[match.group()]}"))
    for match in re.finditer(r"(?<=\b(?:he|He|it|It) )[a-z]+\b|(?<=\b(?:she|She) )[a-z]+\b", text):
        if match.group() in lexicon.BASE_OF_THIRD:
            edits.append(Edit(*match.span(), f"does not {lexicon.BASE_OF_THIRD[match.group()]}"))
    return edits


def _may_be_subject(word: str, *, alone: bool) -> bool:
    if word.lower() in {"he", "she", "it", "they", "we", "i", "you", "who", "which"}:
        return True
    if word[:1].isupper() and word not in lexicon.NOT_NAMES and not word.endswith(("'s", "’s")):
        return True
    function_word = re.fullmatch(
        r"(?:was|were|is|are|been|be|being|had|has|have|by|an?|the|his|her|its|their|and|or|to|of|"
        r"in|on|at|for|with|as|that|newly|not|\w+ly|\w+['’]s)",
        word,
    )
    return alone and not function_word


_QUANTIFIERS = rules("quantifiers")


def quantifier(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits to another quantifier."""
    edits = _ruled(text, _QUANTIFIERS, rng)
    pair = re.search(r"\b(both) (?:[\w'’-]+ ){1,4}(and) ", text, re.I)
    if pair:
        inner = text[pair.end(1) : pair.start(2)]
        edits.append(Edit(*pair.span(), f"{match_case(pair[1], 'neither')}{inner}nor "))
    return edits


# "plans" may be a noun, "was planned to" a passive: use them only after an actor, or not.
_ACTOR = r"(?:(?<=\b[Hh]e )|(?<=\b[Ss]he )|(?<=\b[Ii]t )|(?<=\bwho )|(?<=\bwhich ))"
_NO_BE = r"(?<!is )(?<!are )(?<!was )(?<!were )(?<!been )"
_MODALITY: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\b(?:may|might|could)\b(?= (?!not\b)[a-z]+)(?! have\b| well\b)", ("will", "must")),
    (r"\bmay have\b|\bmight have\b|\bcould have\b", ("must have",)),
    (r"\bwill\b(?= (?!not\b)[a-z]+)", ("must", "need not")),
    (r"\bmust\b(?= (?!not\b|have\b)[a-z]+)", ("need not", "should never")),
    (r"\bshould\b(?= (?!not\b|have\b)[a-z]+)", ("must", "need not")),
    (r"\bcan\b(?= (?!not\b)[a-z]+)", ("must", "will")),
    (r"\b(?:is|are|was|were) expected to\b", ("refused to", "had to")),
    (r"\b(?:is|are) (?:un)?likely to\b", ("will certainly",)),
    (rf"\b(?:wants|intends) to\b|{_ACTOR}(?:plans|hopes|aims) to\b", ("refuses to", "has to")),
    (r"\b(?:want|intend) to\b|(?<=[Tt]hey )(?:plan|hope|aim) to\b", ("refuse to", "have to")),
    (rf"{_NO_BE}\b(?:planned|hoped|wanted|intended) to\b", ("refused to", "had to")),
    (r"\b(?:possibly|probably|perhaps|apparently)\b", ("certainly", "definitely")),
    (r"\b(?:allegedly|reportedly)\b", ("undoubtedly", "admittedly")),
    (r"\bsuggests that\b|\bindicates that\b", ("proves that", "rules out that")),
    (r"\bsuggest that\b|\bindicate that\b", ("prove that", "rule out that")),
    (r"\bappears to\b|\bseems to\b", ("is proven to", "is certain to")),
    (r"\bsuggested that\b|\bspeculated that\b", ("proved that",)),
    (r"\bhas to\b", ("may choose to",)),
    (r"\bhave to\b", ("may choose to",)),
    (r"\bhad to\b", ("chose to",)),
)


def modality(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits to another modality."""
    return _ruled(text, _MODALITY, rng)


_COMPARISONS: dict[str, list[str]] = {}
for _pair in lexicon.COMPARISONS:
    _one, _way, _other = re.split("([:>])", _pair)
    _COMPARISONS.setdefault(_one, []).append(_other)
    if _way == ":":
        _COMPARISONS.setdefault(_other, []).append(_one)
# Too vague without a number after them.
_NEEDS_NUMBER = {"over", "under", "above", "below", "nearly", "almost", "well over", "up to"}


def comparison(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits to the opposite comparison."""
    edits = []
    for match in re.finditer(rf"(?<!-)\b(?:{any_of(_COMPARISONS)})\b(?!-)", text, re.I):
        word = match.group().lower()
        if word in _NEEDS_NUMBER and not re.match(r" (?:[$£€]?\d|half\b)", text[match.end() :]):
            continue
        edits.append(Edit(*match.span(), match_case(match.group(), rng.choice(_COMPARISONS[word]))))
    return edits


_ANTONYMS = lexicon.antonyms()
_ANTONYM = re.compile(rf"(?<!-)\b(?:{any_of(_ANTONYMS)})\b(?!-)", re.I)


def antonym(text: str, source: str, rng: random.Random) -> list[Edit]:
    """Return edits of a word to its antonym."""
    edits = []
    for match in _ANTONYM.finditer(text):
        word = match.group().lower()
        inside_name = match.group()[0].isupper() and not re.search(
            r"(?:^|[.!?]\s+)[\"'“‘]?$", text[: match.start()]
        )
        if not inside_name and not _fixed_phrase(text, match):
            edits.append(
                Edit(*match.span(), match_case(match.group(), rng.choice(_ANTONYMS[word])))
            )
    return edits


def _fixed_phrase(text: str, match: re.Match[str]) -> bool:
    """Return True if a word has no antonym here (left the house, set up, day after day)."""
    word, after = match.group().lower(), text[match.end() :]
    if word in {"up", "down", "left", "right", "like", "open", "light", "mean", "day", "end"}:
        return True
    return word in {"long", "good", "well"} and bool(re.match(r"(?:-| as\b| time\b)", after))


def _ruled(
    text: str, rules: tuple[tuple[str, tuple[str, ...]], ...], rng: random.Random
) -> list[Edit]:
    edits = []
    for pattern, replacements in rules:
        # Capitals matter inside a sentence: "May" is not a modal verb.
        for match in re.finditer(rf"(?:{pattern})", text[:1].lower() + text[1:]):
            original = text[match.start() : match.end()]
            edits.append(Edit(*match.span(), match_case(original, rng.choice(replacements))))
    return edits
