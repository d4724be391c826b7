"""Pairs made by rule: what the verifier really meets, from text that training may use.

Every maker yields labelled pairs. Windows run from one sentence to a whole article and most of
them say nothing about the claim; contradictions are one word away from the truth.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from halldetect_bench.perturbation.perturb import KINDS, perturb
from training.base.corpus import Document, HeldOut, Pair, read, split, words

SIZES = (1, 1, 2, 3, 4, 6, 8, 12, 99)
SPEAKERS = (
    "Anna", "Ben", "Carla", "David", "Ella", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kim",
    "Leo", "Maya", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tina", "Umar", "Vera", "Will",
    "Speaker 1", "Speaker 2", "Customer", "Agent", "Doctor", "Patient", "Chair", "Interviewer",
)  # fmt: skip
STOP = frozenset(
    "a an the of in on at to for from by with and or but as is are was were be been being has have "
    "had do does did it its he she they them his her their this that these those which who whom "
    "will would can could may might said says also not no than then there when while after before "
    "into over under about i we you".split()
)
OPENERS = frozenset("The A An He She It They His Her Their Its This These In On At We".split())
MAX_WORDS = 330  # about what fits beside a claim in 512 tokens


def content(text: str) -> set[str]:
    """The content words of a text by their first six letters."""
    return {word[:6] for word in words(text) if word not in STOP}


def overlap(claim: str, window: str) -> float:
    """The share of a claim's content words that a window has. The shipped weights were trained with
    this measure, so it is not that of `halldetect.text.overlap`.
    """
    wanted = content(claim)
    return len(wanted & content(window)) / max(len(wanted), 1)


def window_around(sentences: Sequence[str], index: int, rng: random.Random) -> str:
    """A window of random size that holds the sentence at `index`."""
    size = min(rng.choice(SIZES), len(sentences))
    start = rng.randint(max(0, index - size + 1), min(index, len(sentences) - size))
    stop = start + size
    while stop - start > 1 and _length(sentences[start:stop]) > MAX_WORDS:
        if index - start > stop - 1 - index:
            start += 1
        else:
            stop -= 1
    return " ".join(sentences[start:stop])


def window_without(
    sentences: Sequence[str], index: int, claim: str, rng: random.Random
) -> str | None:
    """A window that does not hold the sentence: half the time the most similar one there is."""
    sides = [part for part in (sentences[:index], sentences[index + 1 :]) if part]
    candidates = []
    for _ in range(6 if rng.random() < 0.5 else 1):
        if not sides:
            return None
        side = rng.choice(sides)
        candidates.append(window_around(side, rng.randrange(len(side)), rng))
    # With the very sentence taken out of its surroundings, only the missing fact is missing.
    if len(sentences) > 2 and rng.random() < 0.3:
        size = rng.choice((1, 2, 3))
        near = [*sentences[max(0, index - size) : index], *sentences[index + 1 : index + 1 + size]]
        candidates.append(" ".join(near))
    best = max(candidates, key=lambda window: overlap(claim, window))
    return best if overlap(claim, best) < 0.6 else None


def _length(sentences: Sequence[str]) -> int:
    return sum(len(sentence.split()) for sentence in sentences)


def shorten(sentence: str, rng: random.Random) -> str:
    """A truth-preserving cut: brackets, a non-restrictive clause or a fronted phrase go."""
    cuts = []
    bare = re.sub(r"\s*\([^()]*\)", "", sentence)
    if bare != sentence:
        cuts.append(bare)
    match = re.match(
        r"^((?:In|On|At|After|During|Since|By|For|Before|Following) [^,]{3,40}), (\w.*)$", sentence
    )
    if match:
        rest = match.group(2)
        cuts.append(rest[0].upper() + rest[1:])
    match = re.match(r"^(.*?), (?:who|which|where) [^,.]*[,.](.*)$", sentence)
    if match and len(match.group(1).split()) >= 2:
        tail = match.group(2).strip()
        cuts.append(match.group(1) + (" " + tail if tail else "."))
    match = re.match(r"^(.{25,}?), (?:and|but) ((?:he|she|it|they|the|The)\b.{15,})$", sentence)
    if match:
        cuts.append(match.group(1) + ".")
        cuts.append(match.group(2)[0].upper() + match.group(2)[1:])
    cuts = [cut for cut in cuts if len(cut.split()) >= 4]
    return rng.choice(cuts) if cuts else sentence


def usable(sentence: str) -> bool:
    """Whether a sentence can be a claim."""
    return 6 <= len(sentence.split()) <= 45 and sentence[-1:] in ".!\"'”’)" and "?" not in sentence


def _claims_on_windows(
    claim: str, label: str, sentences: Sequence[str], index: int, source: str, rng: random.Random
) -> Iterator[Pair]:
    yield Pair(window_around(sentences, index, rng), claim, label, source)
    window = window_without(sentences, index, claim, rng)
    if window and rng.random() < (0.9 if label == "entailment" else 0.6):
        yield Pair(window, claim, "neutral", source)


def fused(first: str, second: str) -> str:
    """Two sentences as one, the way a summary packs them."""
    opener = second.split(maxsplit=1)[0]
    if opener in OPENERS:
        second = second[0].lower() + second[1:]
    return f"{first.rstrip(' .')}, and {second}"


def spread(
    sentences: Sequence[str], index: int, places: Sequence[int], rng: random.Random
) -> Iterator[Pair]:
    """A claim that needs two sentences: both in the window support it, one alone does not."""
    others = [i for i in places if i != index and abs(i - index) <= 6]
    if not others:
        return
    low, high = sorted((index, rng.choice(others)))
    claim = fused(shorten(sentences[low], rng), shorten(sentences[high], rng))
    if len(claim.split()) > 60:
        return
    before, after = rng.choice((0, 0, 1, 3)), rng.choice((0, 0, 1, 3))
    whole = " ".join(sentences[max(0, low - before) : high + 1 + after])
    if len(whole.split()) > MAX_WORDS:
        return
    yield Pair(whole, claim, "entailment", "rule_spread")
    kept = rng.choice((low, high))
    part = sentences[: max(high, 1)] if kept == low else sentences[low + 1 :]
    place = kept if kept == low else kept - low - 1
    yield Pair(window_around(part, place, rng), claim, "not_entailment", "rule_spread")


def from_documents(documents: Sequence[Document], per: int, rng: random.Random) -> Iterator[Pair]:
    """Sentences of a document as claims: kept, cut, or made false by one word."""
    for document in documents:
        places = [i for i, s in enumerate(document.sentences) if usable(s)]
        for index in rng.sample(places, min(per, len(places))):
            sentence = document.sentences[index]
            text = " ".join(document.sentences)
            claim = sentence if rng.random() < 0.2 else shorten(sentence, rng)
            if claim != sentence or rng.random() < 0.5:
                yield from _claims_on_windows(
                    claim, "entailment", document.sentences, index, "rule_support", rng
                )
            if rng.random() < 0.5:
                yield from spread(document.sentences, index, places, rng)
            made = 0
            for kind in rng.sample(KINDS, len(KINDS)):
                false = perturb(claim, text, kind, rng)
                # A changed sentence may by chance be true elsewhere in the document.
                if false is None or false in text:
                    continue
                label = "contradiction"
                if kind in {"modality", "attribution", "quantifier", "entity", "role", "detail"}:
                    label = "not_entailment"
                yield from _claims_on_windows(
                    false, label, document.sentences, index, f"rule_{kind}", rng
                )
                made += 1
                if made == 2:
                    break


def from_atomic_facts(shared: Path, held_out: HeldOut, rng: random.Random) -> Iterator[Pair]:
    """Human decompositions: a sentence entails its own facts, other sentences mostly do not."""
    folder = shared / "datasets/decomposition"
    for name in ("ChatGPT", "InstructGPT", "PerplexityAI"):
        for row in read(folder / f"factscore/{name}.jsonl"):
            parts = [part for part in row["annotations"] or () if part.get("human-atomic-facts")]
            texts = [re.sub(r"\[\d+\]", "", part["text"]) for part in parts]
            topic = content(row["topic"])
            for index, part in enumerate(parts):
                for fact in part["human-atomic-facts"]:
                    claim = fact["text"]
                    if len(claim.split()) < 3:
                        continue
                    yield from _facts(claim, topic, texts, index, "factscore", rng)
    for row in read(folder / "rose/acu-cnndm-test.json"):
        reference = row["reference"].strip()
        if held_out.holds(reference):
            continue
        for claim in row["acu"]:
            yield Pair(reference, claim, "entailment", "rose")
            false = perturb(claim, reference, rng.choice(KINDS), rng)
            if false and rng.random() < 0.5:
                yield Pair(reference, false, "not_entailment", "rose_perturbed")


def _facts(
    claim: str, topic: set[str], texts: list[str], index: int, source: str, rng: random.Random
) -> Iterator[Pair]:
    yield Pair(window_around(texts, index, rng), claim, "entailment", source)
    false = perturb(claim, " ".join(texts), rng.choice(KINDS), rng)
    if false and rng.random() < 0.6:
        yield Pair(window_around(texts, index, rng), false, "not_entailment", f"{source}_perturbed")
    others = [t for i, t in enumerate(texts) if i != index]
    if others and rng.random() < 0.4:
        window = " ".join(rng.sample(others, min(len(others), rng.choice((1, 1, 2, 4)))))
        fresh = content(claim) - topic
        if fresh and len(fresh & content(window)) / len(fresh) < 0.35:
            yield Pair(window, claim, "neutral", f"{source}_elsewhere")


def from_summaries(shared: Path, held_out: HeldOut, rng: random.Random) -> Iterator[Pair]:
    """Human-judged summaries: DeFacto's training part and BUMP's first task."""
    datasets = shared / "datasets"
    for name in ("train", "val"):
        for row in read(datasets / f"defacto/{name}.jsonl"):
            article = row["article"]
            if held_out.holds(article):
                continue
            sentences = split(article)
            corrected = (row["feedback"] or {}).get("summary") or ""
            whole = " ".join(sentences)
            fits = len(whole.split()) <= MAX_WORDS + 30
            if row["has_error"]:
                for _ in range(4):
                    index = rng.randrange(len(sentences))
                    window = window_around(sentences, index, rng)
                    yield Pair(window, row["candidate"], "not_entailment", "defacto_error")
                if fits:
                    yield Pair(whole, row["candidate"], "not_entailment", "defacto_error")
            good = corrected if row["has_error"] else row["candidate"]
            if good and fits and len(good.split()) >= 4:
                yield Pair(whole, good, "entailment", "defacto_faithful")
                yield Pair(whole, good, "entailment", "defacto_faithful")
    seen: set[tuple[str, str]] = set()
    for row in read(datasets / "bump/task1_dataset.json"):
        if held_out.holds(row["article"]):
            continue
        article = split(row["article"])
        original, edited = split(row["reference_summary"]), split(row["edited_summary"])
        for sentence in edited:
            if sentence not in original and len(original) == len(edited):
                for _ in range(5):
                    window = window_around(article, rng.randrange(len(article)), rng)
                    yield Pair(window, sentence, "not_entailment", "bump_edited")
        for sentence in original:
            shares = [overlap(sentence, line) for line in article]
            best = shares.index(max(shares))
            if (row["article"], sentence) not in seen and shares[best] > 0.6:
                seen.add((row["article"], sentence))
                low, high = max(0, best - 4), best + 5
                window = " ".join(article[low:high])
                yield Pair(window, sentence, "entailment", "bump_reference")


def padded(pairs: Sequence[Pair], count: int, rng: random.Random) -> Iterator[Pair]:
    """A labelled pair whose premise stands among other premises, as text or as dialogue turns."""
    premises = [pair.premise for pair in pairs if len(pair.premise.split()) < 60]
    for pair in rng.sample(pairs, min(count, len(pairs))):
        extra = rng.choice((1, 2, 3, 5, 8, 12))
        room = MAX_WORDS - len(pair.premise.split())
        others = []
        for other in rng.sample(premises, extra):
            room -= len(other.split())
            if room > 0 and other != pair.premise:
                others.append(other)
        place = rng.randint(0, len(others))
        parts = [*others[:place], pair.premise, *others[place:]]
        if rng.random() < 0.25:
            names = rng.sample(SPEAKERS, rng.choice((2, 2, 3, 4)))
            parts = [f"{rng.choice(names)}: {part}" for part in parts]
            premise = "\n".join(parts)
        else:
            premise = " ".join(parts)
        yield Pair(premise, pair.hypothesis, pair.label, f"padded_{pair.source}")


def spoken(pairs: Sequence[Pair], count: int, rng: random.Random) -> Iterator[Pair]:
    """Who said what in a dialogue: the right speaker entails, another one does not."""
    premises = [p.premise.strip() for p in pairs if 4 <= len(p.premise.split()) < 30]
    for _ in range(count):
        names = rng.sample(SPEAKERS, rng.choice((2, 2, 3, 4)))
        turns = [(rng.choice(names), text) for text in rng.sample(premises, rng.choice((2, 4, 8)))]
        premise = "\n".join(f"{name}: {text}" for name, text in turns)
        name, text = rng.choice(turns)
        verb = rng.choice(("says", "said", "mentions", "tells the others"))
        clause = text.rstrip(". ")
        clause = clause[0].lower() + clause[1:] if not clause.startswith(("I ", "I'")) else clause
        if rng.random() < 0.5:
            yield Pair(premise, f"{name} {verb} that {clause}.", "entailment", "dialogue_speaker")
        else:
            wrong = rng.choice([other for other in names if other != name])
            if (wrong, text) not in turns:
                claim = f"{wrong} {verb} that {clause}."
                yield Pair(premise, claim, "not_entailment", "dialogue_speaker")


def elsewhere(pairs: Sequence[Pair], count: int, rng: random.Random) -> Iterator[Pair]:
    """A hypothesis against other premises: half random, half the nearest by shared rare words."""
    index: defaultdict[str, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        for word in content(pair.premise):
            index[word].append(number)
    for pair in rng.sample(pairs, min(count, len(pairs))):
        other = pairs[rng.randrange(len(pairs))]
        rare = sorted(
            (word for word in content(pair.hypothesis) if len(index[word]) > 1),
            key=lambda word: (len(index[word]), word),
        )
        if rare and rng.random() < 0.5:
            other = pairs[rng.choice(index[rare[0]])]
        if other.premise == pair.premise or overlap(pair.hypothesis, other.premise) > 0.5:
            continue
        yield Pair(other.premise, pair.hypothesis, "neutral", f"elsewhere_{pair.source}")
