"""How good an extractor's claims are, against the facts that people found in the same sentences.

    coverage     share of the gold facts that some claim says
    fidelity     share of the claims that say nothing the sentence does not
    atomicity    gold facts that a claim says, on average over the claims that say any (1 is best)
    standalone   share of the claims that can be read alone: a verb, no pronoun or joint first
    guard        share of the sentences in which the guard dropped or restored something

"Says" is read twice. By words: the claim has every telling word of the fact that the sentence has
(a sentence as a whole says all its facts). By the verifier: it calls the claim entailing the fact,
and for fidelity the sentence entailing the claim. Processor seconds are those of all threads of the
process: with one thread they are the seconds it takes on a machine that does nothing else.
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

from halldetect.claims.extraction import Draft, extract_claims
from halldetect.errors import InputError
from halldetect.protocols import Extractor, Verifier
from halldetect.text.sentences import read_document
from halldetect.text.words import COORDINATORS, EVERYDAY, RELATIVES, SUBJECTS, finite, words
from halldetect_bench.datasets.decompositions import Gold

SAMPLES = 1000
_ENTAILED = 0.5
_DANGLING = SUBJECTS | RELATIVES | COORDINATORS | {"his", "her", "their", "its", "this", "these"}


@dataclass(frozen=True, slots=True)
class Judged:
    """One sentence through one extractor: counts that figures are made of."""

    facts: int
    claims: int
    covered: int
    faithful: int
    said: int
    saying: int
    standalone: int
    touched: bool
    tokens_in: int
    tokens_out: int
    seconds: float
    processor_seconds: float
    covered_by_verifier: int | None = None
    faithful_by_verifier: int | None = None
    texts: tuple[str, ...] = field(default=(), compare=False)


def sample(golds: Iterable[Gold], count: int | None, seed: int) -> list[Gold]:
    """Held-out sentences, as many of each source as there are to be had up to `count` in all."""
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
    """Texts of about so many words, of neighbouring sentences of one held-out document."""
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


class Answers:
    """An extractor that repeats what a model answered elsewhere, such as on a larger machine."""

    def __init__(self, path: Path) -> None:
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
        return {"name": "answers made elsewhere", "answers": len(self.known)}

    def draft(self, block: str, limit: int) -> Draft:
        return self.known.get(block, Draft(()))


def judge(
    gold: Gold, extractor: Extractor, verifier: Verifier | None, *, guard: bool = True
) -> Judged:
    """Run one sentence through the extractor and the guard, and count."""
    began, worked = time.perf_counter(), time.process_time()
    made = extract_claims(read_document(gold.sentence), extractor, guard=guard)
    seconds, processor_seconds = time.perf_counter() - began, time.process_time() - worked
    claims = [claim.text for claim in made.claims]
    here = telling(gold.sentence)
    contents = [telling(claim) for claim in claims]
    facts = [telling(fact) & here for fact in gold.facts]
    says = [[bool(fact) and fact <= content for fact in facts] for content in contents]
    covered_too = faithful_too = None
    if verifier is not None:
        covered_too, faithful_too = _verified(gold, claims, verifier)
    return Judged(
        facts=len(facts),
        claims=len(claims),
        covered=sum(any(row[at] for row in says) for at in range(len(facts))),
        faithful=sum(content <= here for content in contents),
        said=sum(sum(row) for row in says),
        saying=sum(any(row) for row in says),
        standalone=sum(map(stands_alone, claims)),
        touched=bool(made.dropped or made.restored),
        tokens_in=made.tokens_in,
        tokens_out=made.tokens_out,
        seconds=seconds,
        processor_seconds=processor_seconds,
        covered_by_verifier=covered_too,
        faithful_by_verifier=faithful_too,
        texts=tuple(claims),
    )


def _verified(gold: Gold, claims: Sequence[str], verifier: Verifier) -> tuple[int, int]:
    pairs = [(claim, fact) for fact in gold.facts for claim in claims]
    pairs += [(gold.sentence, claim) for claim in claims]
    entailed = [found.entailment > _ENTAILED for found in verifier.judge(pairs)]
    width = len(claims)
    covered = sum(any(entailed[at * width : (at + 1) * width]) for at in range(len(gold.facts)))
    return covered, sum(entailed[len(gold.facts) * width :])


def telling(text: str) -> set[str]:
    """The words that carry what a text says, without their endings."""
    return {_stem(word.norm) for word in words(text) if word.norm not in EVERYDAY | {"'s"}}


def _stem(norm: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if norm.isalpha() and norm.endswith(ending) and len(norm) - len(ending) >= 4:
            return norm[: -len(ending)]
    return norm


def stands_alone(claim: str) -> bool:
    norms = [word.norm for word in words(claim)]
    return bool(norms) and norms[0] not in _DANGLING and any(map(finite, norms))


Ratio = tuple[Callable[[Judged], float | None], Callable[[Judged], float]]
FIGURES: dict[str, Ratio] = {
    "coverage": (lambda j: j.covered, lambda j: j.facts),
    "coverage_by_verifier": (lambda j: j.covered_by_verifier, lambda j: j.facts),
    "fidelity": (lambda j: j.faithful, lambda j: j.claims),
    "fidelity_by_verifier": (lambda j: j.faithful_by_verifier, lambda j: j.claims),
    "atomicity": (lambda j: j.said, lambda j: j.saying),
    "standalone": (lambda j: j.standalone, lambda j: j.claims),
    "claims_per_sentence": (lambda j: j.claims, lambda j: 1.0),
    "guard_interventions": (lambda j: j.touched, lambda j: 1.0),
    "tokens_in_per_sentence": (lambda j: j.tokens_in, lambda j: 1.0),
    "tokens_out_per_sentence": (lambda j: j.tokens_out, lambda j: 1.0),
    "seconds_per_sentence": (lambda j: j.seconds, lambda j: 1.0),
    "processor_seconds_per_sentence": (lambda j: j.processor_seconds, lambda j: 1.0),
}


def figures(judged: Sequence[Judged], seed: int = 0) -> dict[str, Any]:
    """Every figure as [value, low, high]: sentences drawn with replacement, 95 % of the draws."""
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
