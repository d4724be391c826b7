"""Build training groups in other languages from parallel texts, questions and NLI sets.

    python -m training.large.languages DATA WORK [--seed N] [--without-unstated]

DATA holds `public/NAME` (the sets of `SETS`), `datasets` and `nli` (what training must not
see). Writes WORK/languages_train.jsonl.xz and languages_dev.jsonl.xz: a tenth of the documents.
A sentence of a parallel text is entailed by the passage in any other language. An edited one is
not: another number, name, month, weekday or country, or a negation (`training/languages.toml`).
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from training.files import read
from training.large import statements
from training.large.data import command, rows, without_leaks, write_groups
from training.large.language_edits import NAME, UNSPACED, WORDS, edited, size
from training.large.sources import LICENCES, Claim, Passage, content
from training.leaks import HeldOut, strings

SETS = (
    "xquad", "ntrex", "indonli", "farstail", "jnli", "jsquad", "klue", "cmrc", "drcd", "arcd",
    "squad_es", "squad_it", "mnli_translated", "assin", "inferes",
)  # fmt: skip
NLI = {
    "indonli": ("id", 3600), "farstail": ("fa", 3200), "jnli": ("ja", 3200), "klue": ("ko", 3000),
    "assin": ("pt", 3000), "inferes": ("es", 4000),
}  # fmt: skip
QUESTIONS = {
    "jsquad": ("ja", 700), "cmrc": ("zh", 500), "drcd": ("zh", 400), "squad_es": ("es", 700),
    "squad_it": ("it", 700), "arcd": ("ar", 465),
}  # fmt: skip
TRANSLATED = ("nl", "pl", "cs", "sv", "da", "fi", "hu", "no")
MOST = {True: 900, False: 350}  # characters of an unspaced passage, else words
CODES = {
    "e": "E", "n": "N", "c": "C", "ent": "E", "neu": "N", "cnt": "C", "entailment": "E",
    "neutral": "N", "contradiction": "C", "contradictory": "C", "Entailment": "E",
    "Paraphrase": "E", "None": "notE",
}  # fmt: skip
_ENDS = re.compile(r"(?<=[。！？])(?=\S)|(?<=[.!?।؟])[\"”»“)]?\s+(?=\S)")


def pair(at: Sequence[int], first: Sequence[str], second: Sequence[str], english: Sequence[str],
         languages: tuple[str, str], rng: random.Random, sign: str) -> Passage | None:  # fmt: skip
    """Return sentences `at` of a document in the first language with claims in the second."""
    one, two = languages
    space = "" if one in {"zh", "ja"} else " "
    text = space.join(first[place] for place in at)
    if size(text, one) > MOST[one in UNSPACED]:
        return None
    passage = Passage(text, sign)
    mine = "\n".join(second[place] for place in at)
    pool = sorted({name for line in english for name in NAME.findall(line)})
    held = content(" ".join(english[place] for place in at))
    good = [place for place in at if size(second[place], two) >= (10 if two in UNSPACED else 5)]
    copied = first is second
    for place in rng.sample(good, min(len(good), 4)):
        claim = edited(second[place], first[place], english[place], mine, pool, two, rng)
        if claim and rng.random() < 0.75:
            passage.claims.append(claim)
        elif rng.random() < (0.5 if copied else 1):
            passage.claims.append(Claim(second[place], "E", "copy" if copied else
                                        "parallel", 0.5 if copied else 1.0))  # fmt: skip
    away = [place for place in range(len(second)) if place not in at
            and len(words := content(english[place])) > 3 and len(words & held) < 0.4 * len(words)
            and size(second[place], two) >= (10 if two in UNSPACED else 5)]  # fmt: skip
    for place in rng.sample(away, min(len(away), rng.randint(1, 2))):
        passage.claims.append(Claim(second[place], "N", "elsewhere", 0.6))
    return passage if passage.claims else None


def named(passage: Passage, one: str, two: str) -> Passage:
    """Return a passage whose claims name the languages of passage and claim."""
    for claim in passage.claims:
        claim.kind = f"{claim.kind}_{one}_{two}"
    return passage


def news(folder: Path, rng: random.Random) -> Iterator[Passage]:
    """Yield windows of NTREX's documents with claims in the same or another language."""
    names = (folder / "DOCUMENT_IDS.tsv").read_text(encoding="utf-8").split()
    texts = {name: [line.strip() for line in (folder / f"newstest2019-{name}.txt").read_text(
        encoding="utf-8").split("\n")[: len(names)]] for words in WORDS.values()
        for name in words["ntrex"]}  # fmt: skip
    for document in dict.fromkeys(names):
        lines = [at for at, name in enumerate(names) if name == document]
        parts = {name: [text[at] for at in lines] for name, text in texts.items()}
        english = parts["src.eng"]
        for language, words in WORDS.items():
            start = -rng.randint(0, 5)
            while language != "en" and start < len(lines) - 3:
                length = rng.randint(4, 12)
                at = range(max(start, 0), min(max(start, 0) + length, len(lines)))
                start = at.stop
                other = rng.choice([name for name in WORDS if name not in {language, "en"}])
                mine = rng.choice(words["ntrex"])
                twin = rng.choice([name for name in words["ntrex"] if name != mine] or [mine])
                modes = [
                    ("en", language),
                    (language, "en"),
                    (language, other),
                    (language, language),
                ]
                for one, two in rng.sample(modes, words["modes"]):
                    sides = [mine if side == language else rng.choice(WORDS[side]["ntrex"])
                             for side in (one, two)]  # fmt: skip
                    sides[1] = twin if one == two else sides[1]
                    made = pair(at, parts[sides[0]], parts[sides[1]], english, (one, two), rng,
                                "lang_ntrex")  # fmt: skip
                    if made:
                        made.title = document
                        yield named(made, one, two)


def aligned(one: str, two: str) -> tuple[list[str], list[str]]:
    """Return the sentences of two parallel paragraphs, or nothing if their counts differ."""
    first, second = ([part.strip() for part in _ENDS.split(text) if part.strip()]
                     for text in (one, two))  # fmt: skip
    return (first, second) if len(first) == len(second) > 1 else ([], [])


def answers(question: dict[str, Any]) -> list[str]:
    """Return the distinct right answers."""
    found = (re.sub(r"\s+", " ", item["text"]).strip(" .,;。，、،") for item in question["answers"])
    return [text for text in dict.fromkeys(found) if text]


def kind_of(text: str) -> str:
    """Return a rough kind of an answer, so that a wrong one looks like a right one."""
    return f"{bool(re.search(r'[0-9]', text))}{min(len(text) // 12, 3)}"


def asked(paragraph: dict[str, Any], language: str, rng: random.Random, most: int = 4
          ) -> Iterator[Claim]:  # fmt: skip
    """Yield questions with right answers and with wrong ones from the same paragraph."""
    right = {item["question"]: answers(item) for item in paragraph["qas"]}
    for question in rng.sample(sorted(right), min(most, len(right))):
        text = question.strip(" -")
        wrong = [answer for name, given in right.items() if name != question for answer in given
                 if given and right[question] and kind_of(answer) == kind_of(right[question][0])
                 and not any(answer in one or one in answer for one in right[question])
                 and answer not in text]  # fmt: skip
        for given, label in ((right[question][:1], "E"), (sorted(set(wrong)), "notE")):
            if not given or rng.random() < (0.45 if label == "E" else 0.2):
                continue
            answer = rng.choice(given)
            made = language == "en" and statements.statement(text, answer, paragraph["context"])
            frame = rng.choice(WORDS[language]["quoted"])
            yield Claim(made or frame.format(q=text, a=answer), label, "qa", 0.8)


def padded(text: str, others: Sequence[str], language: str, rng: random.Random) -> str:
    """Return a passage, half of the time next to another one."""
    other = rng.choice(others)
    room = MOST[language in UNSPACED] - size(text, language)
    if other == text or rng.random() < 0.5 or size(other, language) > room:
        return text
    return "\n\n".join(rng.sample([text, other], 2))


def parallel_questions(folder: Path, rng: random.Random) -> Iterator[Passage]:
    """Yield XQuAD's paragraphs with statements, questions and sentences in two languages."""
    # Some paragraphs begin with a byte order mark.
    data = {file.suffixes[0][1:]: json.loads(file.read_text().replace("\\ufeff", ""))["data"]
            for file in sorted(folder.glob("xquad.*.json"))}  # fmt: skip
    for language in sorted(set(data) - {"en"}):
        for number, articles in enumerate(zip(data["en"], data[language], strict=True)):
            sides = [article["paragraphs"] for article in articles]
            texts = [[one["context"] for one in side] for side in sides]
            for english, other in zip(*sides, strict=True):
                pairs = [("en", language), (language, "en"), (language, language)]
                for one, two in rng.sample(pairs, 3 if WORDS[language]["modes"] > 1 else 1):
                    source, told = (english if side == "en" else other for side in (one, two))
                    text = padded(source["context"], texts[one != "en"], one, rng)
                    made = Passage(
                        text, "lang_xquad", list(asked(told, two, rng, 3)), f"xquad{number}"
                    )
                    first, base = aligned(source["context"], english["context"])
                    second, _ = aligned(told["context"], english["context"])
                    if first and second:
                        stray = rng.randrange(len(texts[0]))
                        more = aligned(texts[0][stray], texts[two != "en"][stray])
                        if texts[one != "en"][stray] in text:
                            more = ([], [])
                        at = range(len(first))
                        second, base = second + more[1], base + more[0]
                        first = second if one == two else first
                        drawn = pair(at, first, second, base, (one, two), rng, "")
                        made.claims += drawn.claims if drawn else []
                    if made.claims:
                        yield named(made, one, two)


def questions(folder: Path, name: str, rng: random.Random) -> Iterator[Passage]:
    """Yield paragraphs of one language with questions and answers in it."""
    language, most = QUESTIONS[name]
    found = []
    for file in sorted(folder.iterdir()):
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        # JSQuAD separates titles from texts by a token.
        for article in json.loads(raw.replace(b" [SEP] ", b"\\n"))["data"]:
            texts = [one["context"] for one in article["paragraphs"]]
            for one in article["paragraphs"]:
                if size(one["context"], language) <= MOST[language in UNSPACED]:
                    text = padded(one["context"], texts, language, rng)
                    claims = list(asked(one, language, rng))
                    title = article.get("title") or one["context"]
                    found.append(named(Passage(text, "lang_qa", claims, title), language, language))
    found = [passage for passage in found if passage.claims]
    yield from rng.sample(found, min(most, len(found)))


def entailed(folder: Path, name: str, rng: random.Random) -> Iterator[Passage]:
    """Yield the pairs of an NLI set."""
    found = []
    for file in sorted(folder.iterdir()):
        if file.suffix == ".xml":
            items: Iterable[Any] = ElementTree.parse(file).getroot()
            found += [(item.findtext("t"), item.findtext("h"), item.get("entailment"))
                      for item in items]  # fmt: skip
            continue
        with file.open(encoding="utf-8", newline="") as lines:
            if file.suffix == ".csv":
                first = lines.readline()
                lines.seek(0)
                items = csv.DictReader(lines, delimiter="\t" if "\t" in first else ",")
            else:
                items = list(read(file))
            for item in items:
                row = {key.lower(): value for key, value in item.items()}
                found.append((row.get("premise") or row.get("sentence1"),
                              row.get("hypothesis") or row.get("sentence2"),
                              row.get("gold_label") or row["label"]))  # fmt: skip
    for premise, claim, label in rng.sample(found, min(NLI[name][1], len(found))):
        if label in CODES and premise and claim:
            claims = [Claim(claim.strip(), CODES[label], f"nli_{NLI[name][0]}_{NLI[name][0]}")]
            yield Passage(premise.strip(), "lang_nli", claims, premise)


def translated(folder: Path, rng: random.Random) -> Iterator[Passage]:
    """Yield machine-translated MultiNLI, a side in English at times."""

    def lines(language: str) -> list[list[str]]:
        text = (folder / f"multinli.train.{language}.tsv").read_text(encoding="utf-8")
        return [line.split("\t") for line in text.splitlines()[1:]]

    english = lines("en")
    for language in TRANSLATED:
        other = lines(language)
        for at in rng.sample(range(len(english)), 900):
            if len(other[at]) < 3 or len(english[at]) < 3:
                continue
            names = rng.choice([(language, language), (language, "en"), ("en", language)])
            premise, claim = ((english if name == "en" else other)[at][side]
                              for side, name in enumerate(names))  # fmt: skip
            label = CODES.get(english[at][2].strip())
            if label and other[at][2].strip() == english[at][2].strip():
                made = Claim(_joined(claim), label, f"nli_{names[0]}_{names[1]}", 0.6)
                yield Passage(_joined(premise), "lang_nli", [made], english[at][0])


def _joined(text: str) -> str:
    text = text.replace('""', '"').strip('" ')
    return re.sub(r" (?=[.,;:!?)'’])|(?<=[(]) |(?<=\w['’]) ", "", text)


class Judged:
    """The runs of eight words of MEMERAG, in any script with spaces."""

    def __init__(self, folder: Path) -> None:
        self._runs = {run for file in sorted(folder.glob("*.jsonl")) for record in read(file)
                      for text in strings(record) for run in self._of(text)}  # fmt: skip

    @staticmethod
    def _of(text: str) -> set[int]:
        words = [word.strip(".,;:!?()\"'«»“”„।") for word in text.lower().split()]
        return {hash(tuple(words[at : at + 8])) for at in range(len(words) - 7)}

    def holds(self, text: str) -> bool:
        """Return True if a text shares eight words in a row with MEMERAG."""
        return not self._runs.isdisjoint(self._of(text))


def main() -> None:
    """Build the files."""
    parser = command(__doc__)
    parser.add_argument("--without-unstated", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    public = options.data / "public"
    if missing := [name for name in SETS if not (public / name).is_dir()]:
        parser.error(f"{public} lacks {', '.join(missing)}")
    found = [*news(public / "ntrex", rng), *parallel_questions(public / "xquad", rng)]
    for name in QUESTIONS:
        found += questions(public / name, name, rng)
    stated = [name for name in NLI if not LICENCES[name].startswith("none")]
    for name in stated if options.without_unstated else NLI:
        found += entailed(public / name, name, rng)
    found += translated(public / "mnli_translated", rng)
    judged, dropped = Judged(options.data / "datasets" / "memerag"), Counter[str]()
    for passage in found:
        before = len(passage.claims)
        passage.claims = [] if judged.holds(passage.text) else [
            claim for claim in passage.claims if not judged.holds(claim.text)]  # fmt: skip
        dropped[passage.source] += before - len(passage.claims)
    found = [passage for passage in found if passage.claims]
    found = without_leaks(found, HeldOut.load(options.data), dropped)
    for part, keep in (("dev", True), ("train", False)):
        chosen = [one for one in found
                  if (zlib.crc32((one.title or one.text).encode()) % 10 == 0) is keep]  # fmt: skip
        write_groups(options.work / f"languages_{part}.jsonl.xz", rows(chosen, rng), dropped, rng)


if __name__ == "__main__":
    main()
