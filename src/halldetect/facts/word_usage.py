"""The use of capitals in texts, to find names at the start of sentences.

The capital of a first word means nothing. Such a word is a name if it has a capital in the middle
of other sentences. If it occurs nowhere else, its ending and a list of common words decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from halldetect.reading.sentences import sentences
from halldetect.reading.words import FUNCTION_WORDS, Word, normalize, words

# After a list mark, colon or quotation mark, a word has a capital as at the start of a sentence.
_LIST_MARK = re.compile(r"\W*(?:\w{1,3}[.)]\W*)?")
_OPENING_MARKS = frozenset(':"“‘(•*|-')
_LOOK_BACK = 20
# A text with more content words contains a name, if it uses capitals at all.
_ENOUGH_WORDS = 40
_COMMON_ENDINGS = ("tion", "tions", "ment", "ments", "ness", "ities", "ings", "ship")
_PLURAL = re.compile(r"[a-z]{2,}(?<![suia])s")
_NAMES_LIKE_PLURALS = frozenset(
    "james charles jones hughes holmes barnes williams davis evans adams collins edwards rogers "
    "phillips roberts peters stevens reuters mercedes athens brussels".split()
)
# Words that often begin a sentence and are not names.
_COMMON = frozenset(
    "access admission age air annual area average bank battery breakfast budget building business "
    "capital car care city class climate coffee company cost council country course court "
    "customer damage data date day death debt delivery demand dinner disease doctor door drug "
    "early eastern education energy entrance entry evidence fire food foreign former free fuel "
    "full global government gross guest health heat help high history home hospital hotel house "
    "income inflation insurance interest land late law light local long low lunch mail "
    "maintenance man manager market membership money music national net new news nobody northern "
    "oil old online output overall owner paper parking people plant police power price private "
    "product production profit program programme project property public quality rain regular "
    "rent repair research revenue road room safety school security service shipping shop short "
    "small software southern special staff storage student supply support tax teacher team "
    "temperature time total trade traffic training transport travel treatment turnover typical "
    "use user value visitor war warranty waste water weather weight western white wind woman work "
    "worker young".split()
)


class WordUsage:
    """Counts lower-case words, and capitalised words inside sentences.

    Args:
        texts: The response and the documents of its source.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._small: Counter[str] = Counter()
        self._capital: Counter[str] = Counter()
        for text in texts:
            for span in sentences(text):
                self._read(span.cut(text))
        # Texts without names are rare: a long text without capitals was put in lower case.
        self._lowered = not self._capital and self._small.total() > _ENOUGH_WORDS
        if self._lowered:
            self._small.clear()

    def _read(self, sentence: str) -> None:
        found = [word for word in words(sentence) if word.norm not in FUNCTION_WORDS]
        if all(word.capital for word in found):  # a title
            return
        for word in found:
            if not word.capital:
                self._small[_stem(word.norm)] += 1
            elif not opens(sentence, word.start):
                self._capital[_stem(word.norm)] += 1

    def is_name(self, word: str) -> bool:
        """Return True if a capitalised word that begins a sentence is a name."""
        norm = normalize(word)
        if norm in FUNCTION_WORDS:
            return False
        if any(char.isupper() or char.isdigit() for char in word[1:]):  # "NATO", "McDonald"
            return True
        small, capital = self._small[_stem(norm)], self._capital[_stem(norm)]
        if small or capital:
            return capital > small
        plural = _PLURAL.fullmatch(norm) is not None and norm not in _NAMES_LIKE_PLURALS
        return not plural and norm not in _COMMON and not norm.endswith(_COMMON_ENDINGS)

    def are_name(self, text: str, run: Sequence[Word]) -> bool:
        """Return True if a run of words in a sentence is a name."""
        spoken = [word for word in run if word.norm not in FUNCTION_WORDS and word.norm != "'s"]
        if not spoken or not (self._lowered or all(word.capital for word in spoken)):
            return False
        first = spoken[0]
        alone = self._lowered or (len(spoken) == 1 and opens(text, first.start))
        return not alone or self.is_name(text[first.start : first.end])


def opens(sentence: str, at: int) -> bool:
    """Return True if the word at an offset has a capital because of its position."""
    before = sentence[max(0, at - _LOOK_BACK) : at]
    if at <= _LOOK_BACK and _LIST_MARK.fullmatch(before):
        return True
    return before.rstrip()[-1:] in _OPENING_MARKS


def _stem(norm: str) -> str:
    """Return the common part of the forms of a word: "refunds", "refunded"."""
    for ending in ("ing", "ed", "es", "s"):
        if norm.endswith(ending) and len(norm) - len(ending) >= 3:
            return norm[: -len(ending)]
    return norm
