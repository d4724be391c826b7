"""The guard: every asserting sentence is a claim, and what an extractor proposes is a part of one.

A unit of the response that asserts something is judged as a whole, whatever the extractor says. A
proposed claim is kept as a part of its unit if it says nothing but what the unit says
(`guard.matching`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from halldetect.claims import Claim, Part
from halldetect.claims.guard.matching import Match, Passage
from halldetect.claims.guard.pronouns import antecedents
from halldetect.reading.document import Document
from halldetect.reading.sentences import sentences

# For a longer claim the name that a pronoun means is not looked for.
MAX_NAMED = 1000
_MARK = re.compile(
    r"\s*(?:(?:\(?\d{1,3}[.):]|\(?[A-Za-z]\)|[-*+•‣▪◦●○–—]|>+|#{1,6})(?=\s)|\[[ xX]\]"
    r"|(?i:claim\s*\d{0,3}\s*:))\s*"
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "`": "`"}
_TRAILING = " \t.,;:!。"


def clean_line(line: str) -> str:
    """A proposed claim without enumeration mark, bullet, quotes and trailing punctuation.

    Empty if nothing is left that could be a claim.
    """
    line = line.strip()
    mark = _MARK.match(line)
    while mark is not None and mark.end() < len(line):
        line = line[mark.end() :]
        mark = _MARK.match(line)
    line = line.rstrip(_TRAILING)
    if len(line) > 1 and _QUOTES.get(line[0]) == line[-1] and line[0] not in line[1:-1]:
        line = line[1:-1].strip().rstrip(_TRAILING)
    return line if any(char.isalnum() for char in line) else ""


def proposed_lines(drafted: Iterable[str]) -> Iterator[str]:
    """The lines of a draft that hold something."""
    for claim in drafted:
        for line in claim.splitlines():
            if clean_line(line):
                yield line.strip()


class Guard:
    """Collects the claims of one response. Its units are given by their index.

    `proposed` counts the proposed claims and `dropped` those that were not kept.
    """

    def __init__(self, response: Document) -> None:
        self.proposed = 0
        self.dropped = 0
        self._units = response.units
        self._passages = {
            number: Passage(unit.text)
            for number, unit in enumerate(self._units)
            if unit.asserts and unit.problem is None
        }
        self._kept: dict[int, list[Match]] = {number: [] for number in self._passages}

    @cached_property
    def _antecedents(self) -> list[tuple[str, ...]]:
        return antecedents([unit.text for unit in self._units])

    @property
    def parts(self) -> int:
        """How many of the proposed claims are kept as parts of a unit."""
        return sum(match.positions is not None for kept in self._kept.values() for match in kept)

    def asserting(self, block: Iterable[int]) -> list[int]:
        """The sentences of a block that assert something."""
        return [number for number in block if number in self._passages]

    def block_text(self, block: Iterable[int]) -> str:
        """The sentences of a block, one per line, so that there is no empty line in it."""
        return "\n".join(self._units[number].text for number in block)

    def take(self, drafted: Iterable[str], block: Sequence[int], limit: int) -> None:
        """Keep those of the claims proposed for a block that say what a sentence of it says.

        drafted  the proposed claims
        block    the sentences they were proposed for
        limit    the greatest number of claims to look at
        """
        asserting = self.asserting(block)
        longest = 2 * len(self.block_text(block)) + 100
        silent = {self.block_text([number]) for number in block if number not in asserting}
        lines = list(proposed_lines(drafted))
        self.proposed += len(lines)
        self.dropped += max(0, len(lines) - limit)
        for line in lines[:limit]:
            if len(line) > longest:
                self.dropped += 1
            else:
                self._consider(line, asserting, silent)

    def repeat(self, earlier: Sequence[int], asserting: Sequence[int]) -> None:
        """Keep for a block the claims of an earlier block with the same text.

        earlier    the asserting sentences of the earlier block
        asserting  those of this block
        """
        for before, now in zip(earlier, asserting, strict=True):
            passage = self._passages[now]
            self._kept[now] = [
                match
                for match in self._kept[before]
                # a name put for a pronoun there may be the wrong one here
                if match.text in passage.text or passage.match(match.text) is not None
            ]

    def claims(self) -> list[Claim]:
        """Every asserting sentence, with the proposed claims that were kept as its parts."""
        claims: list[Claim] = []
        for number, unit in enumerate(self._units):
            if unit.asserts and unit.problem is not None:
                claims.append(Claim(unit.text, unit.span, problem=unit.problem))
            passage = self._passages.get(number)
            if passage is None:
                continue
            kept = self._kept[number]
            parts = tuple(
                Part(match.text, tuple(map(unit.raw_span, match.spans)))
                for match in kept
                if match.positions is not None
            )
            origin = "extracted" if passage.covered(kept) else "restored"
            cited = tuple(citation.label for citation in unit.citations)
            claim = Claim(unit.text, unit.span, origin=origin, parts=parts, citations=cited)
            claims.append(claim)
        return claims

    def _consider(self, line: str, asserting: list[int], silent: set[str]) -> None:
        claim = clean_line(line)
        # What looks like a list mark may be part of a sentence that was copied whole.
        if self._keep_whole(line, asserting) or self._keep(claim, asserting):
            return
        if line in silent:  # a question or a heading, copied: not a claim, and not an invention
            return
        # Two sentences on one line are two claims.
        parts = [clean_line(span.cut(claim)) for span in sentences(claim)]
        if len(parts) == 1:
            self.dropped += 1
            return
        self.dropped += sum(not self._keep(part, asserting) for part in parts)

    def _keep_whole(self, line: str, asserting: list[int]) -> bool:
        """Keep a line that is a whole sentence."""
        for number in asserting:
            passage = self._passages[number]
            if passage.whole not in self._kept[number] and (
                line == passage.text or passage.match(line) == passage.whole
            ):
                self._kept[number].append(passage.whole)
                return True
        return False

    def _keep(self, claim: str, asserting: list[int]) -> bool:
        """Keep a claim with the sentence that it says most of; in a tie the first without it."""
        best: tuple[bool, float, int] | None = None
        chosen: tuple[int, Match] | None = None
        for number in asserting:
            passage = self._passages[number]
            match = passage.match(claim)
            if match is None and len(claim) < MAX_NAMED:
                match = passage.match(claim, self._antecedents[number])
            if match is None:
                continue
            rank = (match not in self._kept[number], passage.share(match), -number)
            if best is None or rank > best:
                best, chosen = rank, (number, match)
        if chosen is None:
            return False
        number, match = chosen
        if match not in self._kept[number]:
            self._kept[number].append(match)
        return True
