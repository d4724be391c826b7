"""Claims in the voice of a language model: openers, merged sentences, named documents."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from training.large.edits import inner
from training.large.sources import Claim
from training.words import words

_OPENERS, _JOINERS, _NAMES = (words(f"voice_{name}") for name in ("openers", "joiners", "names"))
_ENDS = (".json", ".md", ".txt", ".pdf", ".html", "", "", "")
_SPOKEN = re.compile(r"[?]|^(?:Yes|No)\b|\b(?:I|we|We|you|You)\b|^Question:|--|^[a-z]")
LONGEST = 45  # words of a claim that is merged or opened


def dressed(claim: Claim, source: str, share: float, rng: random.Random) -> Claim:
    """Return the claim, with this probability after an opener; its label does not change."""
    fixed = claim.kind in {"qa_quoted", "answer"} or len(claim.text.split()) > LONGEST
    if rng.random() >= share or fixed or _SPOKEN.search(claim.text):
        return claim
    text = rng.choice(_OPENERS).format(inner(claim.text, source))
    return replace(claim, text=text, kind=f"{claim.kind}_opened")


def merged_label(labels: Sequence[str]) -> str:
    """Return the label of a sentence that makes several claims."""
    return next((label for label in ("C", "notE", "N") if label in labels), "E")


def merged(
    claims: Sequence[Claim], count: int, rng: random.Random, source: str = ""
) -> list[Claim]:
    """Return sentences that make two or three of the claims at once, about half of them true."""
    usable = [claim for claim in claims
              if not _SPOKEN.search(claim.text) and 4 <= len(claim.text.split()) <= 30]  # fmt: skip
    true = [claim for claim in usable if claim.label == "E"]
    found = []
    for _ in range(count if len(true) > 1 and len(usable) > 2 else 0):
        parts = rng.sample(true, min(len(true), rng.choice((2, 2, 2, 3))))
        if rng.random() < 0.5:
            other = rng.choice(usable)
            if other in parts:
                continue
            parts[rng.randrange(len(parts))] = other
        text = parts[0].text.rstrip(" .")
        for part in parts[1:]:
            text += rng.choice(_JOINERS) + inner(part.text.rstrip(" ."), source)
        label = merged_label([part.label for part in parts])
        weight = min(part.weight for part in parts)
        found.append(Claim(text + ".", label, "merged", weight))
    return found


def named(texts: Sequence[str], rng: random.Random) -> str:
    """Return several documents as one source, each after a line with its name."""
    style = rng.choice(("Document {}", "passage {}", "", "", ""))
    names = [
        style.format(at) or rng.choice(_NAMES) + rng.choice(("", "-2", "_2024", f"_{at}"))
        + rng.choice(_ENDS) for at in range(1, len(texts) + 1)
    ]  # fmt: skip
    return "\n\n".join(f"{name}\n{text}" for name, text in zip(names, texts, strict=True))
