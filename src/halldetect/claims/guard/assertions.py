"""Which sentences of a response assert something, and what of them is mark-up.

Questions, greetings, headings, lead-ins of lists, code, bare links and tags assert nothing.
In doubt a sentence is an assertion: checking a sentence without need is a smaller mistake than
leaving a false one unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.text.document import Span
from halldetect.text.sentences import lines, trimmed
from halldetect.text.words import (
    ARTICLES,
    AUXILIARIES,
    COORDINATORS,
    FOREIGN,
    NEGATIONS,
    PREPOSITIONS,
    SUBJECTS,
    is_finite_verb,
    may_be_past,
    may_be_verb,
    words,
)

_LIST_MARK = re.compile(
    r"(?:(?:#{1,6}|>+|[-*+•‣▪◦●○–—]|\(?(?:\d{1,3}[.)]|[A-Za-z]\)))\s+|\[[ xX]\]\s+)+(?=\S)"
)
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|\*|___|__|_|`)(?=\S)(.*\S)\1", re.DOTALL)
_LINK = re.compile(r"<?(?:https?://|ftp://|www\.)\S+|\S+@\S+\.\w+")
_TAG = re.compile(r"</?[\w:.-]+/?>|<\|[\w:.-]*\|>|\[/?(?:INST|SYS)\]|<</?SYS>>|<!--|-->")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_SEPARATOR = re.compile(r"\|?[\s|:=-]*-[\s|:=-]*\|?")
_CODE_LINE = re.compile(
    r"[{}\\]|;\s*$|[=(\[<]\S*[)\]>]?$|\w\(.*\)|[=!<>]=|\s=\s|->|=>|::|^[$>@#]|^\w+\.\w+|"
    r"^(?:import|from|def|class|return|const|let|var|if|else|for|while|print|echo|SELECT|sudo)\b"
)
_KEYWORD = re.compile(r"(?:import|from|def|class|return|const|let|var|if|elif|for|while|try)\b")
_COMMENT = re.compile(r"^\s*(?:#+|//+|--|/?\*+)\s+(.*)")
_STRING = re.compile(r"\"([^\"]*)\"|'([^']*)'|`([^`]*)`")

# Headings and lead-ins of nothing but these name a section and assert nothing.
_LABELS = frozenset(
    "summary overview conclusion introduction background key main point points finding findings "
    "result results method methods discussion reference references source sources detail details "
    "note notes answer response question questions step steps example examples context article "
    "text passage document brief short concise quick fact facts information list item items "
    "following below above title content contents claim claims takeaway takeaways highlights "
    "abstract analysis explanation output input user assistant system human appendix section "
    "important final further additional reading pros cons".split()
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
_QUESTION_END = re.compile(r"[?？؟][!?？؟\s\"'”’»)\]*_]*$")
_OPENERS = frozenset("so and but well okay ok now then also or".split())
_WH = frozenset({"who", "what", "which", "whom", "whose", "why", "when", "where", "how"})
_LEADING_QUESTION = re.compile(
    r"(?:do|did|have|can|could|would|will) you (?:know|hear|heard|realis|realiz|remember|see|seen|"
    r"notice|believe|imagine|forget|forgotten)|[,;:(—–]\s*(?:which|who|that|right|correct|no|"
    r"yes|is|was|are|were|do|does|did|has|have)\b|\b(?:given|considering|since|because|although|"
    r"though|after all|despite|fact that|true that)\b|[;:(—–]"
)
_HERE_IS = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok)[,!.]? )?here(?:'s| is| are) (?:a few )?(.*):"
)
_ROMAN = re.compile(r"^[IVX]{1,4}\.\s+")


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What the lines around a sentence show about it."""

    in_fence: bool
    fence: bool
    alone: bool
    starts_line: bool
    underlined: bool


def plain(text: str, sentence: Span, *, starts_line: bool) -> Span:
    """The sentence without list mark, heading mark and emphasis around it.

    text         the text it stands in
    sentence     its span
    starts_line  whether it is the first of its line, where a list mark may stand
    """
    start, end = sentence.start, sentence.end
    mark = _LIST_MARK.match(text, start, end) if starts_line else None
    if mark is not None:
        start = mark.end()
    wrapped = _EMPHASIS.fullmatch(text, start, end)
    if wrapped is not None and wrapped[1] not in wrapped[2]:
        start, end = wrapped.span(2)
    return trimmed(text, start, end) or sentence


def assertions(text: str, sentences: Sequence[Span]) -> list[Span | None]:
    """For each sentence its part without mark-up, or None where it asserts nothing.

    text       the response
    sentences  the spans of its sentences
    """
    result: list[Span | None] = []
    for sentence, around in zip(sentences, _surroundings(text, sentences), strict=True):
        inner = plain(text, sentence, starts_line=around.starts_line)
        result.append(inner if _asserts(text, sentence, inner, around) else None)
    return result


def _surroundings(text: str, sentences: Sequence[Span]) -> list[_Surroundings]:
    results: list[_Surroundings] = []
    all_lines = list(lines(text))
    fenced = False
    at = 0
    for number, line in enumerate(all_lines):
        fence = _FENCE.match(text, line.start, line.end) is not None
        following = all_lines[number + 1].cut(text) if number + 1 < len(all_lines) else ""
        underlined = len(following) < 500 and _SEPARATOR.fullmatch(following) is not None
        underlined = underlined or (len(following) > 2 and not following.strip("="))
        while at < len(sentences) and sentences[at].start < line.end:
            sentence = sentences[at]
            results.append(
                _Surroundings(
                    in_fence=fenced or fence,
                    fence=fence,
                    alone=sentence == line,
                    starts_line=sentence.start == line.start,
                    underlined=underlined,
                )
            )
            at += 1
        fenced = fenced != fence
    return results


def _asserts(text: str, sentence: Span, inner: Span, around: _Surroundings) -> bool:
    content = inner.cut(text)
    if len(content) > 1000:
        return _has_word(content)
    content = _TAG.sub(" ", _LINK.sub(" ", content)).strip()
    if not _has_word(content):
        return False
    if around.fence and " " not in content.strip("`~ "):
        return False
    if around.in_fence and _is_code(content):
        return False
    if (
        _GREETING.fullmatch(_flat(content))
        or _SALUTATION.fullmatch(content)
        or _is_question(content)
    ):
        return False
    if not around.alone:
        return True
    marked = (
        text.startswith("#", sentence.start)
        or content.endswith(":")
        or around.underlined
        or text[inner.start - 1 : inner.start] in ("*", "_")
    )
    return not _is_heading(content, marked)


def _has_word(text: str) -> bool:
    return any(char.isalnum() for char in text)


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s']", " ", text.replace("’", "'")).casefold().split())


def _is_heading(content: str, marked: bool) -> bool:
    norms = [word.norm for word in words(_ROMAN.sub("", content))]
    if all(norm in _LABELS or norm in _PLAIN for norm in norms):
        return marked or len(norms) <= 3
    lead_in = _HERE_IS.fullmatch(content.casefold().replace("’", "'"))
    if lead_in is not None:
        return not _verb_sign(lead_in[1])
    return marked and len(norms) <= 8 and not _verb_sign(content)


def _verb_sign(content: str) -> bool:
    """Whether a short line may be a statement: a verb, a number, a subject, another language."""
    sequence = words(content)
    for position, word in enumerate(sequence):
        norm = word.norm
        if norm == "|":
            continue
        if word.numeric or not norm.isascii() or not norm[0].isalpha():
            return True
        if norm in AUXILIARIES | SUBJECTS | NEGATIONS | FOREIGN:
            return True
        if position == 0:
            continue
        after = sequence[position + 1] if position + 1 < len(sequence) else None
        linking = norm in COORDINATORS | PREPOSITIONS | ARTICLES
        if is_finite_verb(norm) or may_be_past(norm) or (may_be_verb(norm) and norm.endswith("s")):
            return True
        if may_be_verb(norm) and sequence[position - 1].norm.endswith("s"):
            return True
        if after is None or linking or after.norm in COORDINATORS | PREPOSITIONS:
            continue
        # "Ann beats Olaf", "Ann lit the lamp": a word with an object behind it
        if norm.endswith("s") or after.norm in ARTICLES or (after.capital and not word.capital):
            return True
    return False


def _is_question(content: str) -> bool:
    """A question in form and meaning, not a statement with a question mark."""
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
    if norms[0] in AUXILIARIES or norms[0] in {"who", "what", "which", "whose", "whom"}:
        return True
    return norms[0] in _WH and bool(AUXILIARIES & set(norms[1:7]))


def _is_code(content: str) -> bool:
    """Code, unless a comment or a string in it reads like a sentence."""
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
        return not content.endswith((".", "!", "。")) and not _verb_sign(content)
    return _CODE_LINE.search(content) is not None
