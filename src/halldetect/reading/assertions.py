"""Tests of a piece of text: an assertion, a topic, a sentence, code.

Questions, greetings, headings and labels that only name a topic, code, bare links and tags assert
nothing. In doubt, a text is an assertion: an unneeded check is a smaller mistake than an
unchecked false statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect.reading.normalise import has_letters
from halldetect.reading.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    FOREIGN,
    NEGATIONS,
    NUMBER_WORDS,
    PREPOSITIONS,
    SUBJECTS,
    Word,
    is_finite_verb,
    may_be_past,
    may_be_verb,
    words,
)

_LINK = re.compile(r"<?(?:https?://|ftp://|www\.)\S+|\S+@\S+\.\w+")
_TAG = re.compile(r"</?[\w:.-]+/?>|<\|[\w:.-]*\|>|\[/?(?:INST|SYS)\]|<</?SYS>>|<!--|-->")
_CODE_LINE = re.compile(
    r"[{}\\]|;\s*$|[=(\[<]\S*[)\]>]?$|\w\(.*\)|[=!<>]=|\s=\s|->|=>|::|^[$>@#]|^\w+\.\w+|"
    r"^(?:import|from|def|class|return|const|let|var|if|else|for|while|print|echo|SELECT|sudo)\b"
)
_KEYWORD = re.compile(r"(?:import|from|def|class|return|const|let|var|if|elif|for|while|try)\b")
_COMMENT = re.compile(r"^\s*(?:#+|//+|--|/?\*+)\s+(.*)")
_STRING = re.compile(r"\"([^\"]*)\"|'([^']*)'|`([^`]*)`")

# A heading or lead-in of only these words names a section.
_LABELS = frozenset(
    "summary overview conclusion introduction background key main point points finding findings "
    "result results method methods discussion reference references source sources detail details "
    "note notes answer response question questions step steps example examples context article "
    "text passage document brief short concise quick fact facts information list item items "
    "following below above title content contents claim claims takeaway takeaways highlights "
    "abstract analysis explanation output input user assistant system human appendix section "
    "important final further additional reading pros cons".split()
)
# Words that a number may follow: "line 4", "day 2".
_NUMBERED = frozenset(
    "line route bus platform room floor model flight gate sample group grade class unit zone "
    "season episode step part section chapter phase day week article clause annex figure table "
    "option version "
    "stage level item tip reason way thing lesson slide page paragraph q1 q2 q3 q4 h1 h2 quarter "
    "year edition volume question".split()
)
# With one of these words, even a heading without a verb is a statement.
_VALUES = frozenset(
    "yes free unlimited closed open banned forbidden prohibited mandatory compulsory dead guilty "
    "convicted bankrupt included excluded available unavailable cancelled canceled postponed "
    "illegal safe unsafe toxic fatal deadly only always fraudulent corrupt criminal true false "
    "confirmed approved rejected proven".split()
)
_PARTICIPLES = frozenset(
    "sunk broken stolen drunk written taken given driven hidden frozen eaten beaten shaken sworn "
    "torn worn woven chosen forgotten grown known shown thrown flown begun done gone seen swum "
    "sung rung fallen risen bitten blown drawn forbidden mistaken ridden spoken".split()
)
# Plurals in headings that end like a verb.
_PLURALS = frozenset(
    "sales details benefits terms rules fees results rights hours services options features costs "
    "prices requirements conditions sports news systems effects times dates goods works changes "
    "plans means users members effects measures risks needs orders returns reports calls starts "
    "offers shows visits uses runs plays claims notes views sources ends forms leaves lives "
    "materials products materials tickets guests children figures units methods steps".split()
)
_PLAIN = frozenset("and or of the a an to in for on with here is are these this your my".split())
_GREETING = re.compile(
    r"(?:hello|hi|hey|greetings|good (?:morning|afternoon|evening|day|night)|welcome|goodbye|bye)"
    r"(?: (?:there|everyone|all|again|team))?"
    r"|(?:thanks|thank you)(?: (?:so|very) much| a lot)?(?: for (?:asking|your (?:question|time)))?"
    r"|you(?:'| a)re (?:very |most )?welcome|no problem|my pleasure"
    r"|(?:sure|certainly|of course|absolutely|okay|ok|great|gladly)(?: thing)?"
    r"|(?:that's |that is |what )?an? (?:great|good|excellent|interesting) question"
    r"|(?:great|good|excellent|interesting) question"
    r"|i(?:'d| would) be (?:happy|glad) to help(?: you)?(?: with that)?"
    r"|(?:i )?hope (?:this|that|it) helps(?: you)?"
    r"|(?:please )?(?:let me know|feel free to (?:ask|reach out)|don't hesitate to ask)"
    r"(?: if (?:you|there) (?:have|need|are) any(?:thing)?(?: (?:other|more|further|else))?"
    r"(?: (?:questions?|help|information|details))?)?"
    r"|(?:best|kind|warm)? ?regards|sincerely(?: yours)?|yours (?:truly|sincerely)|cheers"
    r"|(?:have|enjoy) (?:a|your) (?:nice|great|good|lovely)? ?day"
)
_SALUTATION = re.compile(r"(?:Hello|Hi|Hey|Dear)(?: (?:Mr|Mrs|Ms|Dr|Prof)\.?)? [A-Z][\w'-]*[,!.]?")
_POINTER = re.compile(
    r"(?:for (?:more|further) (?:information|details) )?(?:please )?"
    r"(?:see|read|visit|check|click|refer to|go to|consult)(?: (?:also|the|this|that|our|your|full|"
    r"links?|pages?|website|site|sources?|documents?|articles?|here|above|below|report|section))+"
)
_QUESTION_END = re.compile(r"[?？؟][!?？؟\s\"'”’»)\]*_]*$")
_OPENERS = frozenset("so and but well okay ok now then also or".split())
_WH = frozenset({"who", "what", "which", "whom", "whose", "why", "when", "where", "how"})
_LEADING_QUESTION = re.compile(
    r"(?:do|did|have|can|could|would|will|are|were) you (?:know|hear|heard|realis|realiz|remember|"
    r"see|seen|notice|believe|imagine|forget|forgotten|aware|surpris|familiar)|[,;:(—–]\s*(?:which|who|that|right|correct|no|"
    r"yes|is|was|are|were|do|does|did|has|have)\b|\b(?:given|considering|since|because|although|"
    r"though|after all|despite|fact that|true that|have (?:thought|guessed|known|believed|expected|"
    r"imagined) that|who knew that)\b|[;:(—–]"
)
# Question words that carry no content.
_UNSAID = frozenset(
    _WH | AUXILIARIES | SUBJECTS | PREPOSITIONS | ARTICLES | COORDINATORS
) | frozenset("this that these those matter matters important choose us come so".split())
_HERE_IS = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok)[,!.]? )?(?:below|here)(?:'s| is| are) (?:a few )?"
    r"(.*?)(?:(?:what |that |which )?(?:i (?:have )?found|you (?:asked for|requested|need to know)|"
    r"the (?:document|source|text|report|article|policy|context) (?:says|states|mentions)))?"
    r"(?: (?:about|on|for) (?:it|this|that))?[:.]"
)
_VALUE = re.compile(r"([^:]+):\s*(\S.*)", re.DOTALL)
_YEAR = re.compile(r"(?:19|20)\d\d")
_CODE_NAME = re.compile(r"\d+-[a-z]+|[a-z]+-?\d+(?:-?[a-z0-9]+)*")
_LATIN = re.compile(r"[a-zà-ɏ'’.\-–/]+")
# Longer than any greeting or heading; the patterns are slow on long words.
_LONG = 1000


def says_something(content: str) -> bool:
    """Return True if a sentence is more than a greeting, question, link, tag or mark."""
    if len(content) > _LONG:
        return has_letters(content)
    content = _TAG.sub(" ", _LINK.sub(" ", content)).strip()
    return has_letters(content) and not (
        _GREETING.fullmatch(_flat(content))
        or _POINTER.fullmatch(_flat(content))
        or _SALUTATION.fullmatch(content)
        or _is_question(content)
    )


def names_topic(content: str, *, marked: bool) -> bool:
    """Return True if a line only names its topic: "Key findings", "Refund policy:".

    `marked` is True for a heading, a label or the lead-in of a list.
    """
    if len(content) > _LONG:
        return not has_letters(content)
    content = _TAG.sub(" ", _LINK.sub(" ", content)).strip()
    norms = [word.norm for word in words(content)]
    if not norms:
        return not has_letters(content)
    named = [norm for norm in norms if not norm.isdigit()]
    if set(named) <= _LABELS | _PLAIN and (set(named) & _LABELS or norms[0] == "here"):
        return marked or len(norms) <= 3 or norms[0] == "here"
    if marked and norms[0] in _WH - {"why"} and len(norms) <= 6:
        return True  # "What was agreed", "How to apply"
    lead_in = _HERE_IS.fullmatch(content.casefold().replace("’", "'"))
    if lead_in is not None:
        return not _may_state(lead_in[1])
    return marked and len(norms) <= 8 and not _may_state(content)


def is_sentence(content: str) -> bool:
    """Return True if a text is independent: it has a subject and a verb."""
    sequence = words(content)
    return any(
        is_finite_verb(word.norm)
        or (len(word.norm) == 4 and word.norm.endswith("ed"))
        or (may_be_verb(word.norm) and may_be_past(word.norm))
        or (may_be_verb(word.norm) and word.norm.endswith("s"))
        or (may_be_verb(word.norm) and sequence[position - 1].norm.endswith("s"))
        for position, word in enumerate(sequence)
        if position > 0 and (sequence[position - 1].norm not in ARTICLES)
    )


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s']", " ", text.replace("’", "'")).casefold().split())


def _may_state(content: str) -> bool:
    """Return True if a short line has a verb, a value, a subject or another language."""
    value = _VALUE.match(content)
    if value is not None:
        named = [word.norm for word in words(value[1])]
        if not all(norm in _LABELS | _NUMBERED or norm.isdigit() for norm in named):
            return True
        content = value[2]
    sequence = words(content)
    for position, word in enumerate(sequence):
        norm = word.norm
        if norm in ("|", "&"):
            continue
        if word.numeric or norm in NUMBER_WORDS:
            if _numbers_part(sequence, position) or _CODE_NAME.fullmatch(norm):
                continue
            return True
        if not norm[0].isalpha() or not _LATIN.match(norm):
            return True
        if norm in AUXILIARIES | SUBJECTS | NEGATIONS | FOREIGN | _VALUES:
            return True
        if position == 0:
            continue
        if _may_be_verb_at(sequence, position):
            return True
    return False


def _numbers_part(sequence: Sequence[Word], position: int) -> bool:
    """Return True if a number counts or numbers parts of the text: "Step 1", "Five points"."""
    year = _YEAR.fullmatch(sequence[position].norm) is not None
    before = position - (3 if year else 1)
    near = [word.norm for word in sequence[max(before, 0) : position + 2]]
    return any(norm in _LABELS | _NUMBERED for norm in near)


def _may_be_verb_at(sequence: Sequence[Word], position: int) -> bool:
    word = sequence[position]
    norm = word.norm
    if is_finite_verb(norm) or may_be_past(norm) or norm in _PARTICIPLES:
        return True
    if norm in _PLURALS:
        return False
    if may_be_verb(norm) and (norm.endswith("s") or sequence[position - 1].norm.endswith("s")):
        return True
    after = sequence[position + 1] if position + 1 < len(sequence) else None
    linking = norm in COORDINATORS | PREPOSITIONS | ARTICLES
    if after is None or linking or after.norm in COORDINATORS | PREPOSITIONS:
        return False
    # "Ann beats Olaf", "Ann lit the lamp", "Ann smuggling rum": a word followed by an object
    return (
        (norm.endswith("s") and not norm.endswith(("ss", "us", "is", "'s")))
        or (norm.endswith("ing") and len(norm) > 5 and not word.capital)
        or after.norm in ARTICLES
        or (after.capital and not word.capital)
    )


def _is_question(content: str) -> bool:
    """Return True for a question in form and meaning, not for a statement with a question mark."""
    if _QUESTION_END.search(content) is None:
        return False
    if content.startswith("¿"):
        return True
    norms = [word.norm for word in words(content)]
    while norms and norms[0] in _OPENERS:
        norms = norms[1:]
    if not norms or len(norms) > 30 or NEGATIONS & set(norms):
        return False
    if _LEADING_QUESTION.search(content.casefold()) is not None:
        return False
    if norms[0] == "why" or norms[:2] == ["how", "come"]:  # the rest is presupposed
        return len(set(norms) - _UNSAID) < 3
    if norms[0] in AUXILIARIES or norms[0] in {"who", "what", "which", "whose", "whom"}:
        return True
    return norms[0] in _WH and bool(AUXILIARIES & set(norms[1:7]))


def is_code(content: str) -> bool:
    """Return True for code, unless a comment or string in it reads like a sentence."""
    comment = _COMMENT.match(content)
    quoted = [next(filter(None, match.groups()), "") for match in _STRING.finditer(content)]
    for prose in [comment[1] if comment else "", *quoted]:
        if len(prose.split()) >= 3:
            return False
    norms = [word.norm for word in words(content)]
    if comment is not None or (
        len(norms) >= 4 and any(map(is_finite_verb, norms)) and not _KEYWORD.match(content)
    ):
        return False
    if len(content.split()) < 3:
        return not content.endswith((".", "!", "。")) and not _may_state(content)
    return _CODE_LINE.search(content) is not None
