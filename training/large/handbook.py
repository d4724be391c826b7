"""Build groups in other languages from a free handbook that exists in many of them.

    python -m training.large.handbook DATA WORK --pages FOLDER [--seed N]

FOLDER holds a folder of pages per language (`en-US`, `de-DE` and so on), as the package
debian-handbook (GPL-2+ or CC-BY-SA-3.0) installs them. Sentences are aligned where page, paragraph
and sentence counts agree with the English ones; what is not translated is left out. Writes
WORK/handbook_train.jsonl.xz; the claims are made as those of `training.large.languages`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from training.large.data import command, rows, without_leaks, write_groups
from training.large.language_edits import WORDS
from training.large.languages import aligned, named, pair
from training.large.sources import Passage
from training.leaks import HeldOut

SOURCE, ENGLISH = "lang_handbook", "en-US"
_PARAGRAPH = re.compile(r'<div class="para">(.*?)</div>', re.DOTALL)
_BREAK = re.compile(r"<(?:ul|ol|dl|pre|table|div)\b.*", re.DOTALL)
Lines = dict[tuple[int, int], str]  # by paragraph and sentence


def paragraphs(page: Path) -> list[str]:
    """Return the paragraphs of a page without their marks."""
    found = _PARAGRAPH.findall(page.read_text(encoding="utf-8"))
    plain = (re.sub(r"<[^>]+>", "", _BREAK.sub("", part)) for part in found)
    return [" ".join(unescape(part).split()) for part in plain]


def translated(english: list[str], other: list[str]) -> tuple[Lines, Lines]:
    """Return the aligned sentences of a page, English and other, by paragraph and sentence."""
    mine: Lines = {}
    theirs: Lines = {}
    if len(english) != len(other):
        return mine, theirs
    for number, (one, two) in enumerate(zip(english, other, strict=True)):
        if one != two:
            for at, (first, second) in enumerate(zip(*aligned(one, two), strict=True)):
                mine[number, at], theirs[number, at] = first, second
    return mine, theirs


def passages(folder: Path, rng: random.Random) -> Iterator[Passage]:
    """Yield runs of sentences with claims in the same or another language."""
    names = {path.name[:2]: path.name for path in folder.iterdir() if path.name[:2] in WORDS}
    for page in sorted((folder / ENGLISH).glob("*.html")):
        english = paragraphs(page)
        lines = {}
        for language, name in sorted(names.items()):
            if language != "en" and (folder / name / page.name).exists():
                found = translated(english, paragraphs(folder / name / page.name))
                if len(found[0]) > 3:
                    lines[language] = found
        for language, (base, mine) in lines.items():
            others = [name for name, (keys, _) in lines.items() if len(keys.keys() & base) > 3]
            start = 0
            places = list(base)
            while start < len(places):
                chosen = places[start : start + rng.randint(3, 14)]
                start += len(chosen)
                other = rng.choice(others)
                modes = [("en", language), (language, "en"), (language, other), (language,) * 2]
                one, two = rng.choice(modes)
                texts = {"en": base, language: mine} | {other: lines[other][1]}
                shared = [key for key in base if key in texts[one] and key in texts[two]]
                at = [number for number, key in enumerate(shared) if key in chosen]
                if len(at) > 1:
                    sides = {name: [texts[name][key] for key in shared] for name in {one, two}}
                    plain = [base[key] for key in shared]
                    made = pair(at, sides[one], sides[two], plain, (one, two), rng, SOURCE)
                    if made:
                        made.title = page.name
                        yield named(made, one, two)


def main() -> None:
    """Write the groups."""
    parser = command(__doc__)
    parser.add_argument("--pages", type=Path, required=True)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    dropped = Counter[str]()
    made = list(passages(options.pages, rng))
    lines = rows(without_leaks(made, HeldOut.load(options.data), dropped), rng)
    write_groups(options.work / "handbook_train.jsonl.xz", lines, dropped, rng)


if __name__ == "__main__":
    main()
