"""A claim that begins with "He" or "Her" gets the name it means, where the response says which.

Who is meant is decided by the guard's own rule and only where one person can be meant; the guard
then marks such a claim as named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halldetect.claims.guard.matching import Passage
from halldetect.claims.guard.pronouns import antecedents
from halldetect.text.words import kept, words

_PRONOUN = re.compile(r"(he|she|his|her)\b(?!['’])", re.IGNORECASE)


class Names:
    """For the sentences of a text, who is meant by a pronoun in each."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._sentences = tuple(sentences)
        self._norms = antecedents(sentences)
        self._surface: dict[tuple[str, ...], str] = {}
        for sentence in sentences:
            spoken = kept(words(sentence[:2000]))
            length = 0
            while length < len(spoken) and spoken[length].capital:
                length += 1
                if spoken[length - 1].norm != "'s":
                    norms = tuple(word.norm for word in spoken[:length])
                    self._surface[norms] = sentence[spoken[0].start : spoken[length - 1].end]

    def put(self, claim: str, number: int) -> str:
        """The claim of that sentence with a name for its first word, if that passes the guard."""
        norms = self._norms[number]
        pronoun = _PRONOUN.match(claim)
        name = self._surface.get(norms)
        if not norms or pronoun is None or name is None:
            return claim
        # "Her" before a verb or at the end would be an object; at the start it owns something.
        owns = pronoun[0].casefold() in ("his", "her")
        named = name + ("'s" if owns else "") + claim[pronoun.end() :]
        passed = Passage(self._sentences[number]).match(named, norms)
        return claim if passed is None else named
