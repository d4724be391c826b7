"""Groups from passages: edited claims, joined passages, omitted sentences."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from training.large import edits
from training.large.sources import Claim, Passage, content, split
from training.leaks import tokens

CAPTIONS = frozenset({"snli_part", "mpe", "counterfactual_nli", "scone"})
TABLES = frozenset({"tabfact", "logicnlg", "infotabs", "scitab", "fetaqa", "tatqa", "nli4ct"})
# Sets of running text good enough to use its sentences as claims.
PROSE = frozenset(
    "squad11_train squad_dev squadshifts defacto factcg_cg2c cnndm_sample summhay pubmedqa boolq "
    "covidqa conflictqa fairytaleqa multirc cochrane_simplification factscore nq_oracle checkcovid "
    "multihop_qa control multispanqa condaqa evidence_inference halueval_qa_part doc2dial_val "
    "convosumm_email bamboo_hallu policyqa".split()
)
SPEAKERS = (
    "Anna", "Ben", "Carla", "David", "Ella", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kim",
    "Leo", "Maya", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tina", "Umar", "Vera", "Will",
    "Speaker 1", "Speaker 2", "Customer", "Agent", "Doctor", "Patient", "Chair", "Interviewer",
)  # fmt: skip


def _edited(passage: Passage, claims: Sequence[Claim], share: float, rng: random.Random,
            ) -> list[Claim]:  # fmt: skip
    """Return false and reworded versions of some true claims."""
    found = []
    for claim in claims:
        if claim.label != "E" or not 4 <= len(claim.text.split()) <= 45:
            continue
        if claim.kind in {"qa_quoted"}:
            continue
        if rng.random() < share:
            for made in edits.false_claims(claim.text, passage.text, 1, rng):
                found.append(Claim(made.text, made.label, made.kind, min(1.0, claim.weight + 0.2)))
        if rng.random() < 0.6 and passage.source not in TABLES:
            denial = edits.denied(claim.text, passage.text, rng)
            if denial:
                found.append(Claim(denial.text, "E", denial.kind, claim.weight))
        if rng.random() < 0.3 * share:
            options = edits.rewrites(claim.text, rng)
            if options:
                made = rng.choice(options)
                found.append(Claim(made.text, "E", made.kind, claim.weight))
    return found


def sentence_claims(passage: Passage, count: int, rng: random.Random) -> list[Claim]:
    """Return claims from a passage's sentences: reworded, falsified, joined, recombined."""
    found: list[Claim] = []
    usable = [sentence for sentence in split(passage.text) if edits.usable(sentence)]
    if not usable:
        return found
    for sentence in rng.sample(usable, min(count, len(usable))):
        options = edits.rewrites(sentence, rng)
        claim = sentence
        if options and rng.random() < 0.85:
            made = rng.choice(options)
            claim = made.text
            found.append(Claim(made.text, "E", made.kind))
        elif rng.random() < 0.6:
            found.append(Claim(sentence, "E", "sentence"))
        for made in edits.false_claims(claim, passage.text, rng.choice((1, 1, 2)), rng):
            found.append(Claim(made.text, made.label, made.kind))
    if len(usable) >= 3:
        for _ in range(4):
            first, second = rng.sample(usable, 2)
            mixed = edits.recombined(first, second, passage.text, rng)
            if mixed:
                found.append(Claim(mixed.text, "notE", mixed.kind))
                break
        first, second = rng.sample(usable, 2)
        if len(first.split()) + len(second.split()) <= 50 and rng.random() < 0.5:
            text = edits.joined(first, second, passage.text)
            found.append(Claim(text, "E", "joined"))
            false = edits.false_claims(text, passage.text, 1, rng)
            found += [Claim(m.text, m.label, m.kind) for m in false if rng.random() < 0.7]
    return found


def passage_groups(passages: Sequence[Passage], rng: random.Random) -> list[Passage]:
    """Return every passage with its own claims, edits of them, and claims from its sentences."""
    made = []
    by_title: defaultdict[tuple[str, str], list[Passage]] = defaultdict(list)
    for passage in passages:
        if passage.title:
            by_title[passage.source, passage.title].append(passage)
    for passage in passages:
        claims = list(passage.claims)
        if len(claims) > 24:
            claims = rng.sample(claims, 24)
        share = 0.3 if passage.source in {"conflictqa", "tabfact", "logicnlg"} else 0.6
        claims += _edited(passage, claims, share, rng)
        if passage.source in PROSE:
            size = len(passage.text.split())
            claims += sentence_claims(passage, 1 if size < 90 else 2 if size < 200 else 4, rng)
        claims += elsewhere(passage, by_title[passage.source, passage.title], rng)
        text = passage.text
        if passage.source in {"tabfact", "logicnlg", "fetaqa"} and rng.random() < 0.35:
            text = as_markdown(text) or text
        if claims:
            made.append(Passage(text, passage.source, claims, passage.title))
    return made


def elsewhere(passage: Passage, others: Sequence[Passage], rng: random.Random) -> list[Claim]:
    """Return true claims of the document's other passages that this one does not decide."""
    if not passage.title or len(others) < 2:
        return []
    here = content(passage.text)
    found = []
    for _ in range(2):
        other = rng.choice(others)
        true = [claim for claim in other.claims if claim.label == "E"]
        if other is passage or not true:
            continue
        claim = rng.choice(true)
        topic = content(passage.title.replace("_", " "))
        wanted = content(claim.text) - topic
        if len(wanted) >= 3 and len(wanted & here) / len(wanted) <= 0.5:
            found.append(Claim(claim.text, "N", "elsewhere"))
    return found


def as_markdown(text: str) -> str | None:
    """Return a table of `header: value; header: value` rows as a Markdown table, or None."""
    title, *body = text.split("\n")
    table = [[cell.partition(": ") for cell in line.split("; ")] for line in body]
    if len(table) < 2:
        return None
    headers = [cell[0] for cell in table[0]]
    if any([cell[0] for cell in row] != headers for row in table) or len(headers) < 2:
        return None
    lines = [title, "", "| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
    lines += ["| " + " | ".join(cell[2] for cell in row) + " |" for row in table]
    return "\n".join(lines)


def joined_passages(passages: Sequence[Passage], rng: random.Random) -> list[Passage]:
    """Return longer documents of passages of one title or similar ones, with all their claims."""
    buckets: defaultdict[tuple[str, str], list[Passage]] = defaultdict(list)
    for passage in passages:
        if passage.source in PROSE and len(passage.text.split()) < 300:
            buckets[passage.source, passage.title].append(passage)
    made = []
    for (source, title), members in buckets.items():
        if not title:
            rng.shuffle(members)
            members = members[: len(members) // 2]
        start = 0
        while start < len(members):
            size = rng.choice((2, 3, 4, 5, 6, 8))
            part = members[start : start + size]
            start += size
            while len(part) > 2 and sum(len(p.text.split()) for p in part) > 1000:
                part.pop()
            if len(part) < 2:
                continue
            text = rng.choice(("\n", "\n\n", "\n")).join(p.text for p in part)
            claims = [claim for p in part for claim in p.claims if claim.kind != "qa_unanswerable"]
            if not claims:
                continue
            claims = rng.sample(claims, min(len(claims), 11))
            whole = Passage(text, source, claims, title)
            whole.claims = claims + _edited(whole, claims, 0.5, rng)
            if rng.random() < 0.5:
                whole.claims += sentence_claims(whole, 2, rng)
            whole.claims = rng.sample(whole.claims, min(16, len(whole.claims)))
            made.append(whole)
    return made


def with_holes(passages: Sequence[Passage], rng: random.Random) -> list[Passage]:
    """Return passages without one or two sentences, which the rest does not decide."""
    made = []
    for passage in passages:
        size = len(passage.text.split())
        if (
            passage.source not in PROSE
            or not size >= 60
            or rng.random() > (0.22 if size < 250 else 0.7)
        ):
            continue
        sentences = split(passage.text)
        places = [i for i, sentence in enumerate(sentences) if edits.usable(sentence)]
        if len(sentences) < 4 or len(places) < 3:
            continue
        gone: list[int] = []
        for place in rng.sample(places, min(len(places), 5)):
            wanted = content(sentences[place])
            rest = [content(s) for i, s in enumerate(sentences) if i != place and i not in gone]
            near = max(len(wanted & other) for other in rest)
            # Half of the words, and something specific, must be nowhere else.
            fresh = wanted - set().union(*rest)
            if len(wanted) >= 4 and near <= 0.4 * len(wanted) and len(fresh) >= 3:
                gone.append(place)
            if len(gone) == (1 if size < 250 else 2):
                break
        if not gone:
            continue
        text = " ".join(sentence for i, sentence in enumerate(sentences) if i not in gone)
        whole = Passage(text, passage.source, [], passage.title)
        for place in gone:
            claim = sentences[place]
            options = edits.rewrites(claim, rng)
            if options and rng.random() < 0.5:
                claim = rng.choice(options).text
            whole.claims.append(Claim(claim, "N", "left_out"))
            false = edits.false_claims(claim, passage.text, 1, rng)
            whole.claims += [Claim(m.text, "N", "left_out_edited") for m in false[:1]]
        whole.claims += sentence_claims(whole, 2, rng)
        made.append(whole)
    return made


def short_groups(passages: Sequence[Passage], rng: random.Random) -> list[Passage]:
    """Return short premises alone, or several as one text or dialogue with the claims of all."""
    alone: list[Passage] = []
    loose: list[Passage] = []
    for passage in passages:
        size = len(passage.text.split())
        if (
            passage.source in CAPTIONS
            or passage.source in TABLES
            or size > 120
            or rng.random() < 0.4
        ):
            alone.append(passage)
        else:
            loose.append(passage)
    made = [
        Passage(p.text, p.source, list(p.claims) + (
            _edited(p, p.claims, 0.15, rng) if p.source not in CAPTIONS else []))
        for p in alone
    ]  # fmt: skip
    by_source: defaultdict[str, list[Passage]] = defaultdict(list)
    for passage in loose:
        by_source[passage.source].append(passage)
    for source, members in by_source.items():
        rng.shuffle(members)
        made += _together(source, members, rng)
    return made


def _together(source: str, members: Sequence[Passage], rng: random.Random) -> list[Passage]:
    """Return short premises of one set as longer texts, some as the turns of a dialogue."""
    made = []
    start = 0
    while start < len(members):
        size = rng.choice((2, 3, 4, 6, 8, 10, 14))
        part = list(members[start : start + size])
        start += size
        while len(part) > 1 and sum(len(p.text.split()) for p in part) > 700:
            part.pop()
        lines = [p.text for p in part]
        if rng.random() < 0.25:
            speakers = rng.sample(SPEAKERS, rng.choice((2, 2, 3, 4)))
            text = "\n".join(f"{rng.choice(speakers)}: {line}" for line in lines)
        else:
            text = rng.choice((" ", " ", "\n")).join(lines)
        claims = [claim for p in part for claim in p.claims if not _vague(claim.text)]
        claims = rng.sample(claims, min(32, len(claims)))
        if claims:
            made.append(Passage(text, source, claims))
    return made


def _vague(claim: str) -> bool:
    """Return True if a claim is too short to refer to one of several texts."""
    return len(tokens(claim)) < 4
