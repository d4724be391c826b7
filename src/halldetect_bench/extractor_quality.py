"""The quality of an extractor's claims, compared with the facts that people found.

    coverage     share of the gold facts that some claim states
    fidelity     share of the claims that state nothing beyond the sentence
    atomicity    gold facts per claim, over the claims that state any (1 is best)
    standalone   share of the claims that can be read alone: with a verb, and without a pronoun
                 or conjunction at the start
    guard        share of the sentences in which the guard dropped or restored something

"States" is measured twice. By words: the claim has every content word of the fact that the sentence
has (a whole sentence states all its facts). By the verifier: the claim entails the fact, and for
fidelity the sentence entails the claim. Processor seconds are summed over all threads.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.claims import Claim
from halldetect.claims.extraction import Draft, extract_claims
from halldetect.errors import InputError
from halldetect.protocols import Extractor, Verifier
from halldetect.reading.response import read_response
from halldetect.reading.words import (
    COORDINATORS,
    FUNCTION_WORDS,
    RELATIVES,
    SUBJECTS,
    is_finite_verb,
    words,
)
from halldetect_bench.datasets.decompositions import Gold

SAMPLES = 1000
_ENTAILED = 0.5
_DANGLING = SUBJECTS | RELATIVES | COORDINATORS | {"his", "her", "their", "its", "this", "these"}


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """The counts of one sentence and one extractor."""

    facts: int
    claims: int
    covered: int
    faithful: int
    said: int
    saying: int
    standalone: int
    guarded: bool
    tokens_in: int
    tokens_out: int
    seconds: float
    processor_seconds: float
    covered_by_verifier: int | None = None
    faithful_by_verifier: int | None = None
    texts: tuple[str, ...] = field(default=(), compare=False)


def sample(golds: Iterable[Gold], count: int | None, seed: int) -> list[Gold]:
    """A sample of held-out sentences, with as many of each source as possible.

    golds: all sentences. count: how many; None for all. seed: of the sample.
    """
    by_source: dict[str, list[Gold]] = {}
    for gold in golds:
        if gold.held_out:
            by_source.setdefault(gold.source, []).append(gold)
    for rows in by_source.values():
        random.Random(seed).shuffle(rows)
    found: list[Gold] = []
    queues = [list(reversed(rows)) for rows in by_source.values()]
    while any(queues) and (count is None or len(found) < count):
        for queue in queues:
            if queue and (count is None or len(found) < count):
                found.append(queue.pop())
    return found


def responses(golds: Iterable[Gold], length: int, count: int, seed: int) -> list[str]:
    """Texts of neighbouring sentences of one held-out document.

    golds: all sentences. length: about how many words a text has. count: how many texts.
    seed: of the sample.
    """
    texts: dict[str, list[str]] = {}
    for gold in golds:
        if gold.held_out and gold.source != "propsegment":
            texts.setdefault(gold.id.rpartition("/")[0], []).append(gold.sentence)
    found = []
    for sentences in texts.values():
        text = ""
        for sentence in sentences:
            if len(text.split()) >= length:
                break
            text = f"{text} {sentence}".strip()
        if length <= len(text.split()) <= 1.5 * length:
            found.append(text)
    random.Random(seed).shuffle(found)
    return found[:count]


class RecordedAnswers:
    """An extractor that replays answers from a file, made for example on a larger machine."""

    def __init__(self, path: Path) -> None:
        """path: a JSONL file of text, claims, tokens_in and tokens_out."""
        try:
            with path.open(encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
            self.known = {
                row["text"]: Draft(tuple(row["claims"]), 1, row["tokens_in"], row["tokens_out"])
                for row in rows
            }
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{str(path)!r} is no file of answers: {error}") from error

    @property
    def description(self) -> dict[str, Any]:
        """The name, and how many answers there are."""
        return {"name": "answers made elsewhere", "answers": len(self.known)}

    def draft(self, block: str, limit: int) -> Draft:
        """The recorded claims of a block; none where it is unknown.

        block: a sentence. limit: not used.
        """
        return self.known.get(block, Draft(()))


def judge(
    gold: Gold, extractor: Extractor, verifier: Verifier | None, *, guard: bool = True
) -> SentenceCounts:
    """Run one sentence through the extractor and the guard, and count.

    gold: the sentence with its facts. extractor: makes the claims. verifier: for the figures by
    the verifier, if wanted. guard: whether the guard checks the claims.
    """
    began, worked = time.perf_counter(), time.process_time()
    made = extract_claims(read_response(gold.sentence), extractor, guard=guard)
    seconds, processor_seconds = time.perf_counter() - began, time.process_time() - worked
    claims = [text for claim in made.claims for text in finest_texts(claim)]
    here = content_words(gold.sentence)
    contents = [content_words(claim) for claim in claims]
    facts = [content_words(fact) & here for fact in gold.facts]
    says = [[bool(fact) and fact <= content for fact in facts] for content in contents]
    covered_too = faithful_too = None
    if verifier is not None:
        covered_too, faithful_too = _verified(gold, claims, verifier)
    return SentenceCounts(
        facts=len(facts),
        claims=len(claims),
        covered=sum(any(row[at] for row in says) for at in range(len(facts))),
        faithful=sum(content <= here for content in contents),
        said=sum(sum(row) for row in says),
        saying=sum(any(row) for row in says),
        standalone=sum(map(stands_alone, claims)),
        guarded=bool(made.dropped or made.restored),
        tokens_in=made.tokens_in,
        tokens_out=made.tokens_out,
        seconds=seconds,
        processor_seconds=processor_seconds,
        covered_by_verifier=covered_too,
        faithful_by_verifier=faithful_too,
        texts=tuple(claims),
    )


def finest_texts(claim: Claim) -> list[str]:
    """The parts of a claim, and the claim itself unless its parts say all of it.

    claim: with its parts, as the guard kept them.
    """
    said = set().union(*(content_words(part.text) for part in claim.parts))
    whole = [] if claim.parts and content_words(claim.text) <= said else [claim.text]
    return [*(part.text for part in claim.parts), *whole]


def _verified(gold: Gold, claims: Sequence[str], verifier: Verifier) -> tuple[int, int]:
    pairs = [(claim, fact) for fact in gold.facts for claim in claims]
    pairs += [(gold.sentence, claim) for claim in claims]
    entailed = [found.entailment > _ENTAILED for found in verifier.judge(pairs)]
    width = len(claims)
    covered = sum(any(entailed[at * width : (at + 1) * width]) for at in range(len(gold.facts)))
    return covered, sum(entailed[len(gold.facts) * width :])


def content_words(text: str) -> set[str]:
    """The words of a text without everyday words and without endings.

    text: any text.
    """
    return {_stem(word.norm) for word in words(text) if word.norm not in FUNCTION_WORDS | {"'s"}}


def _stem(norm: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if norm.isalpha() and norm.endswith(ending) and len(norm) - len(ending) >= 4:
            return norm[: -len(ending)]
    return norm


def stands_alone(claim: str) -> bool:
    """Whether a claim can be read alone.

    claim: its text.
    """
    norms = [word.norm for word in words(claim)]
    return bool(norms) and norms[0] not in _DANGLING and any(map(is_finite_verb, norms))


Ratio = tuple[Callable[[SentenceCounts], float | None], Callable[[SentenceCounts], float]]
FIGURES: dict[str, Ratio] = {
    "coverage": (lambda j: j.covered, lambda j: j.facts),
    "coverage_by_verifier": (lambda j: j.covered_by_verifier, lambda j: j.facts),
    "fidelity": (lambda j: j.faithful, lambda j: j.claims),
    "fidelity_by_verifier": (lambda j: j.faithful_by_verifier, lambda j: j.claims),
    "atomicity": (lambda j: j.said, lambda j: j.saying),
    "standalone": (lambda j: j.standalone, lambda j: j.claims),
    "claims_per_sentence": (lambda j: j.claims, lambda j: 1.0),
    "guard_interventions": (lambda j: j.guarded, lambda j: 1.0),
    "tokens_in_per_sentence": (lambda j: j.tokens_in, lambda j: 1.0),
    "tokens_out_per_sentence": (lambda j: j.tokens_out, lambda j: 1.0),
    "seconds_per_sentence": (lambda j: j.seconds, lambda j: 1.0),
    "processor_seconds_per_sentence": (lambda j: j.processor_seconds, lambda j: 1.0),
}


def figures(judged: Sequence[SentenceCounts], seed: int = 0) -> dict[str, Any]:
    """Every figure as [value, low, high], with 95 % bootstrap intervals over sentences.

    judged: the counts of each sentence. seed: of the draws.
    """
    draws = np.random.default_rng(seed).integers(0, len(judged), (SAMPLES, len(judged)))
    found: dict[str, Any] = {"sentences": len(judged)}
    for name, (top, bottom) in FIGURES.items():
        tops = [top(item) for item in judged]
        if any(value is None for value in tops):
            continue
        above = np.array(tops, dtype=float)
        below = np.array([bottom(item) for item in judged], dtype=float)
        if not below.sum():
            continue
        drawn = above[draws].sum(1) / np.maximum(below[draws].sum(1), 1e-9)
        low, high = np.percentile(drawn, [2.5, 97.5])
        found[name] = [round(float(v), 4) for v in (above.sum() / below.sum(), low, high)]
    return found
