"""The sets training may use, read into passages with claims.

`sets.toml` names every set with its licence; sets whose name ends in `.unstated`, and the NLI sets
in `UNSTATED_PAIRS`, state no licence and can be left out.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences
from halldetect.reading.sources import read_source
from training.files import read
from training.large import statements
from training.leaks import tokens
from training.perturbation import lexicon

FORMS = Path(__file__).parents[1] / "data" / "forms.jsonl.xz"
LABELS = {"entailment": "E", "neutral": "N", "contradiction": "C", "not_entailment": "notE"}
_SETS = tomllib.loads((Path(__file__).parents[1] / "sets.toml").read_text(encoding="utf-8"))
# NLI sets with the used share of their rows, and their licence.
PAIR_FILES: dict[str, tuple[float, str]] = _SETS["pairs"]
UNSTATED_PAIRS = frozenset(name for name, (_, terms) in PAIR_FILES.items() if terms[:4] == "none")
LICENCES: dict[str, str] = _SETS["licences"]
# MRPC's own terms are not clear, and paraphrase is not entailment.
LEFT_OUT = frozenset({"mrpc"})
# PolicyQA's questions are loose; a text of bamboo_hallu is false in one unknown place.
WEIGHTS = {
    "mpe": 0.5, "factcheckbench_stance": 0.7, "policyqa": 0.6, "strategyqa": 0.6,
    "covidfact_scifact": 0.7, "summhay": 0.8, "conjnli": 0.7, "citation_integrity": 0.6,
    "snli_part": 0.7, "climate_fever": 0.8, "bamboo_hallu": 0.5,
}  # fmt: skip


@dataclass(slots=True)
class Claim:
    """A claim about a passage: label E, N, C or notE, its origin and its weight."""

    text: str
    label: str
    kind: str
    weight: float = 1.0


@dataclass(slots=True)
class Passage:
    """A passage and the claims about it; passages of one `title` belong to one document."""

    text: str
    source: str
    claims: list[Claim] = field(default_factory=list)
    title: str = ""


@lru_cache(maxsize=4096)
def split(text: str) -> tuple[str, ...]:
    """Return the sentences of a text; none crosses the end of a line."""
    return tuple(span.cut(text) for span in sentences(text))


def readable(text: str) -> str:
    """Return a source as the package shows it to a verifier."""
    return read_source(text).readable(Span(0, len(text)))


_LRB = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}


def tidy(text: str) -> str:
    """Return a text without codes for brackets, footnote marks and runs of spaces."""
    for code, mark in _LRB.items():
        text = text.replace(code, mark)
    text = re.sub(r"\[(?:\d+|citation needed)\]", "", text)
    return re.sub(r"[ \t]+", " ", text).strip()


def grouped(rows: Iterable[tuple[str, str, Claim]], source: str) -> list[Passage]:
    """Return the claims grouped by passage, in order of first appearance."""
    found: dict[str, Passage] = {}
    for text, title, claim in rows:
        found.setdefault(text, Passage(text, source, [], title)).claims.append(claim)
    return list(found.values())


def pairs(shared: Path, name: str, rng: random.Random) -> list[Passage]:
    """Yield the labelled pairs of an NLI file."""
    share, _ = PAIR_FILES[name]
    short = name.split(".")[0]
    weight = WEIGHTS.get(short, 1.0)

    def rows() -> Iterator[tuple[str, str, Claim]]:
        for row in read(shared / "nli" / f"{name}.jsonl.xz"):
            if rng.random() >= share:
                continue
            premise, claim = tidy(row["premise"]), tidy(row["hypothesis"])
            if len(premise) < 8 or len(claim.split()) < 2:
                continue
            yield premise, "", Claim(claim, LABELS[row["label"]], "nli", weight)

    return grouped(rows(), short)


def grounding(shared: Path, *, unstated: bool, rng: random.Random) -> Iterator[list[Passage]]:
    """Yield the passages of the sets of `grounding/`; `unstated`: also those without a licence."""
    for path in sorted((shared / "grounding").glob("*.jsonl.xz")):
        name, terms = path.name.split(".")[:2]
        if name in LEFT_OUT:
            continue
        if terms == "unstated" and not unstated:
            continue
        rows = list(read(path))
        if rows[0].get("hypothesis"):
            yield _labelled(name, rows)
        elif rows[0].get("summary"):
            yield _summaries(name, rows)
        else:
            yield _questions(name, rows, rng)


def _labelled(name: str, rows: list[dict[str, Any]]) -> list[Passage]:
    weight = WEIGHTS.get(name, 1.0)

    def claims() -> Iterator[tuple[str, str, Claim]]:
        for row in rows:
            # A remark in brackets on the truth of the claim gives the label away.
            if "drop1" in row["source"] or "(Note" in row["hypothesis"]:
                continue
            if (
                name == "realsumm_scu"
                and len(set(row["votes"].split("/"))) > 1
                and not row["votes"].startswith("0/")
            ):
                continue
            label = LABELS[row["label"]]
            premise = re.sub(r"\s+\n", "\n", tidy(row["premise"]))
            yield premise, "", Claim(tidy(row["hypothesis"]), label, "labelled", weight)

    return grouped(claims(), name)


def content(text: str) -> set[str]:
    """Return the stems of a text's content words."""
    return {word[:6] for word in tokens(text) if word not in _STOP}


_STOP = frozenset(
    "a an the of in on at to for from by with and or but as is are was were be been being has have "
    "had do does did it its he she they them his her their this that these those which who whom "
    "will would can could may might said says also not no than then there when while after before "
    "into over under about i we you".split()
)


def supported_looking(sentence: str, premise: str, least: float = 0.5) -> bool:
    """Return True if a summary's sentence adds no number, no name and few words to its passage.

    The passage must have the share `least` of its words.
    """
    text = premise.lower()
    for number in re.findall(r"\d[\d,.]*\d|\d", sentence):
        if number not in premise:
            return False
    for name in re.findall(r"(?<=[a-z,] )[A-Z][a-z]{2,}", sentence):
        if name.lower() not in text:
            return False
    wanted = content(sentence)
    return bool(wanted) and len(wanted & content(premise)) / len(wanted) >= least


def _summaries(name: str, rows: list[dict[str, Any]]) -> list[Passage]:
    least = {"onestop_aligned": 0.5, "sumpubmed_conclusions": 0.75, "swipe": 0.7,
             "legal_plain_english": 0.55, "scitldr": 0.6}.get(name, 0.6)  # fmt: skip

    def claims() -> Iterator[tuple[str, str, Claim]]:
        for row in rows:
            premise = re.sub(r"\s+\n", "\n", tidy(row["premise"]))
            summary = tidy(row["summary"])
            summary = re.sub(r" \.(?=\n|$)", ".", summary)
            for sentence in split(summary):
                if len(sentence.split()) >= 4 and supported_looking(sentence, premise, least):
                    yield premise, "", Claim(sentence, "E", "summary", 0.5)

    return grouped(claims(), name)


def _answer_type(answer: str) -> str:
    if re.search(r"\b(?:1\d|20)\d\d\b", answer) or {*answer.split()} & {*lexicon.MONTHS}:
        return "date"
    if re.search(r"\d", answer) or answer.lower().split()[0] in lexicon.NUMBER_WORDS:
        return "number"
    capitals = [word for word in answer.split() if word[:1].isupper()]
    if capitals and len(answer.split()) <= 5:
        return "name"
    return "phrase" if len(answer.split()) <= 6 else "long"


def _apart(answer: str, rights: set[str]) -> bool:
    """Return True if an answer is unrelated to all right answers."""
    mine = content(answer) or {answer.lower()}
    return all(
        answer.lower() not in right.lower()
        and right.lower() not in answer.lower()
        and not mine & content(right)
        for right in rights
    )


def _questions(name: str, rows: list[dict[str, Any]], rng: random.Random) -> list[Passage]:
    by_text: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_text.setdefault(row["premise"], []).append(row)
    most = {"qamr": 10, "policyqa": 6, "molweni": 12}.get(name, 99)
    weight = WEIGHTS.get(name, 1.0)
    found = []
    for text, asked in by_text.items():
        premise = re.sub(r"\s+\n", "\n", tidy(text))
        passage = Passage(premise, name, [], asked[0].get("title") or "")
        answers = [str(row["answer"]) for row in asked if row.get("answer")]
        chosen = asked if len(asked) <= most else rng.sample(asked, most)
        for row in chosen:
            # The model answers with one token and cannot calculate.
            if row.get("answer_type") in {"arithmetic", "count"}:
                continue
            for claim in _from_question(name, row, premise, answers, rng):
                claim.weight *= weight
                passage.claims.append(claim)
        if passage.claims:
            found.append(passage)
    return found


def _from_question(
    name: str, row: dict[str, Any], premise: str, others: list[str], rng: random.Random
) -> Iterator[Claim]:
    question = str(row["question"])
    answer = str(row.get("answer") or "").strip()
    if name == "doc2dial_val":
        if len(answer.split()) >= 6 and "?" not in answer:
            yield Claim(answer, "E", "answer")
        return
    spoken = answer.lower().strip(". ")
    if spoken in {"yes", "no"} or (
        row.get("unanswerable") and not row.get("wrong_answers") and name == "condaqa"
    ):
        yield from _polar(question, spoken, premise, bool(row.get("unanswerable")), rng)
        return
    if row.get("unanswerable"):
        for wrong in list(row.get("wrong_answers") or ())[:2]:
            text = statements.statement(question, str(wrong), premise)
            if text:
                yield Claim(text, "notE", "qa_unanswerable", 0.6)
        return
    rights = {str(item) for item in (row.get("answers") or [answer]) if item}
    if answer:
        text = statements.statement(question, answer, premise)
        if text:
            yield Claim(text, "E", "qa_right")
        elif name in {"fairytaleqa", "multirc"} and _clause_like(answer):
            yield Claim(statements.capital(answer.rstrip(". ")) + ".", "E", "answer", 0.7)
        elif rng.random() < 0.2 and _quotable(name, question, answer):
            yield Claim(statements.quoted(question, answer, rng), "E", "qa_quoted")
    wrongs = [str(item) for item in row.get("wrong_answers") or () if len(str(item)) > 2]
    wrongs = [item for item in wrongs if not re.fullmatch(r"(?:ok)+\W*", item, re.I)]
    for wrong in wrongs[:3]:
        if len(wrong.split()) > 5 and wrong.endswith(".") and name == "halueval_qa_part":
            yield Claim(wrong, "notE", "qa_wrong")
            continue
        if name.startswith("squad") and not _apart(wrong, rights):
            continue
        text = statements.statement(question, wrong, premise)
        if text:
            yield Claim(text, "notE", "qa_wrong")
        elif rng.random() < 0.25 and _quotable(name, question, wrong):
            yield Claim(statements.quoted(question, wrong, rng), "notE", "qa_quoted")
    if answer and not wrongs and rng.random() < 0.7:
        kind = _answer_type(answer)
        candidates = [
            other
            for other in dict.fromkeys(others)
            if _answer_type(other) == kind and _apart(other, rights)
        ]
        if not candidates and kind in {"number", "date"}:
            return
        if candidates:
            other = rng.choice(candidates)
            text = statements.statement(question, other, premise)
            if text is None and _quotable(name, question, other) and rng.random() < 0.3:
                yield Claim(statements.quoted(question, other, rng), "notE", "qa_quoted")
            if text and not content(other) <= content(question):
                yield Claim(text, "notE", "qa_other")


def _quotable(name: str, question: str, answer: str) -> bool:
    """Return True if a question without a statement may be quoted with its answer."""
    asks = re.match(r"(?:who|what|when|where|which|why|how|whose)\b", question, re.I)
    return bool(asks) and len(answer.split()) <= 12 and name != "policyqa"


def _clause_like(answer: str) -> bool:
    return (
        len(answer.split()) >= 4
        and not answer.startswith("Because")
        and bool(
            re.match(
                r"(?:he|she|they|it|the|his|her|their|[A-Z]\w+)\b.* (?:was|were|is|are|had|has|"
                r"would|could|will|\w+ed|told|went|took|gave|made|saw|said|got|came)\b",
                answer,
            )
        )
    )


def _polar(
    question: str, answer: str, premise: str, unanswerable: bool, rng: random.Random
) -> Iterator[Claim]:
    made = statements.yes_no(question, premise)
    if made is None:
        if answer and rng.random() < 0.3:
            said = rng.choice(["yes", "no"])
            label = "E" if said == answer else "C"
            yield Claim(statements.quoted(question, said, rng), label, "qa_quoted")
        return
    yes, no = made
    if unanswerable:
        yield Claim(rng.choice([yes, no]), "N", "qa_unknown")
        return
    if rng.random() < 0.9:
        yield Claim(yes, "E" if answer == "yes" else "C", "qa_yes")
    if rng.random() < 0.7:
        yield Claim(no, "E" if answer == "no" else "C", "qa_no")


def summaries_judged(shared: Path) -> list[Passage]:
    """Return DeFacto's train and validation parts: judged candidates and human corrections."""

    def claims() -> Iterator[tuple[str, str, Claim]]:
        for part in ("train", "val"):
            for row in read(shared / f"datasets/defacto/{part}.jsonl"):
                article = tidy(row["article"])
                corrected = tidy((row["feedback"] or {}).get("summary") or "")
                if row["has_error"]:
                    yield article, "", Claim(tidy(row["candidate"]), "notE", "judged", 1.5)
                    if len(corrected.split()) >= 4:
                        yield article, "", Claim(corrected, "E", "corrected", 1.5)
                else:
                    yield article, "", Claim(tidy(row["candidate"]), "E", "judged", 1.5)

    return grouped(claims(), "defacto")


def decompositions(shared: Path, rng: random.Random) -> Iterator[list[Passage]]:
    """Yield human and checked decompositions: a text entails its own atomic facts."""
    folder = shared / "datasets/decomposition"
    found = []
    for name in ("ChatGPT", "InstructGPT", "PerplexityAI"):
        for row in read(folder / f"factscore/{name}.jsonl"):
            text = tidy(row["output"])
            passage = Passage(text, "factscore", [], row["topic"])
            for part in row["annotations"] or ():
                for fact in part.get("human-atomic-facts") or ():
                    if len(fact["text"].split()) >= 4:
                        passage.claims.append(Claim(tidy(fact["text"]), "E", "atomic"))
            if len(passage.claims) > 14:
                passage.claims = rng.sample(passage.claims, 14)
            if passage.claims:
                found.append(passage)
    yield found
    for path, text, facts in (
        ("rose/acu-cnndm-test.json", "reference", "acu"),
        ("factcheckgpt/Factbench.jsonl", "response", "claims"),
    ):
        yield [
            Passage(
                tidy(row[text]),
                path.split("/")[0],
                [Claim(tidy(fact), "E", "atomic") for fact in row[facts][:12]],
            )
            for row in read(folder / path)
            if row.get(text) and row.get(facts)
        ]


def abstracts(shared: Path) -> list[Passage]:
    """Return PubMedQA's abstracts without their conclusions, as documents."""
    rows = read(shared / "datasets/pubmedqa/ori_pqal.json")
    return [Passage(tidy("\n".join(row["CONTEXTS"])), "pubmedqa") for row in rows]


def forms(path: Path = FORMS) -> list[Passage]:
    """Return structured passages: sheets, tables, price lists, contracts, dialogues.

    They were generated once, with invented names (`git show b0f1378:training/large/forms.py`).
    """
    return [
        Passage(item["premise"], "forms", [Claim(*claim) for claim in item["claims"]])
        for item in read(path)
    ]
