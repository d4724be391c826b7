"""Answers of language models that people have judged, from sets of several publishers.

    python -m training.large.public DATA WORK [--without-unstated] [--seed N]

Reads the publishers' files from DATA/public/NAME. Writes WORK/public_train.jsonl.xz and public_dev
(a tenth of the sources). `sets.toml` has the licences.
"""

from __future__ import annotations

import ast
import json
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from halldetect.reading.claims import read_claims
from halldetect.reading.response import read_response
from halldetect.reading.sources import read_source
from training.files import read
from training.large.answers import TASKS, ragtruth
from training.large.data import command, rows, unstated_names, without_leaks, write_groups
from training.large.sources import Claim, Passage, grouped, supported_looking
from training.leaks import HeldOut

Mark = tuple[int, int, str]  # start, end and the label of what it covers; "?" is unsure
Rows = Iterator[tuple[str, str, Claim]]  # as `grouped` takes them
LONGEST = 8000  # characters of a source: about 3,000 tokens of a record
KINDS = {0: "C", 1: "N", 2: "?"}  # of spans: contradicts, cannot be checked, misleads
_WITHOUT = frozenset({"id", "img", "logo", "flag", "timestamp", "periods", "standings", "icon"})


def agreed(
    text: str, people: Sequence[Sequence[Mark]], others: Sequence[Sequence[Mark]] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the claims of a response with the labels that its judges agree on.

    A claim that nobody marked is entailed. One that a person, two judges and two fifths of the
    judges marked is not (one mark is enough if there is one judge). Others are left out.
    """
    for claim in read_claims(read_response(text)):
        if claim.span is None or claim.problem is not None:
            continue
        first, last = claim.span.start, claim.span.end
        votes = [{label for start, end, label in marks if start < last and end > first}
                 for marks in (*people, *others)]  # fmt: skip
        kinds = Counter(label for vote in votes for label in vote)
        firm = [bool(vote - {"?"}) for vote in votes]
        if not kinds:
            yield claim.text, "E"
        elif any(firm[: len(people)]) and sum(firm) >= max(min(2, len(votes)), 0.4 * len(votes)):
            label = "notE" if kinds["C"] == kinds["N"] else "C" if kinds["C"] > kinds["N"] else "N"
            yield claim.text, label


def ragtruth_train(folder: Path) -> Rows:
    """Yield RAGTruth's official training questions with the answers of four models."""
    texts = {one["source_id"]: one["source_info"]["passages"] for one in read(folder / "QA.jsonl")}
    for path in sorted(folder.glob("*hallucination.jsonl")):
        for item in read(path):
            if item["split"] != "train" or item["quality"] != "good":
                continue
            marks = [(mark["start"], mark["end"], "C" if "Conflict" in mark["label_type"] else "N")
                     for mark in item["labels"]]  # fmt: skip
            source = texts[item["source_id"]]
            for text, label in agreed(item["response"], [marks]):
                # People overlooked some additions: trust unmarked claims in new words less.
                sure = label != "E" or supported_looking(text, source, 0.5)
                yield source, "", Claim(text, label, "answer", 1.0 if sure else 0.5)


def _plain(value: Any) -> Any:
    """Return a record without the fields that only a program reads."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if key not in _WITHOUT}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _record(value: Any) -> str:
    """Return a record as JSON or, every second, as the package reads it."""
    text = json.dumps(_plain(value), ensure_ascii=False)
    if zlib.crc32(text.encode()) % 2:
        return text
    document = read_source(text)
    return document.readable(type(document.sentences[0])(0, len(text)))


def _judged(paths: Iterator[Path], *keys: str) -> defaultdict[tuple[Any, ...], list[list[Mark]]]:
    """Return the marks of each judge by the fields that name an output."""
    found: defaultdict[tuple[Any, ...], list[list[Mark]]] = defaultdict(list)
    for path in sorted(paths):
        for item in read(path):
            marks = [(mark["start"], mark["start"] + len(mark["text"]), KINDS[mark["type"]])
                     for mark in item["annotations"] if mark["type"] in KINDS]  # fmt: skip
            found[tuple(item[key] for key in keys)].append(marks)
    return found


def d2teval(folder: Path) -> Rows:
    """Yield texts of four models about records of phones and matches, with spans."""
    keys = ("split", "dataset", "setup_id", "example_idx")
    people = _judged(folder.glob("annotations/human/d2t-eval/test/*.jsonl"), *keys)
    others = _judged(folder.glob("annotations/model/d2t-eval/test/*/*.jsonl"), *keys)
    for name in ("d2t-football", "d2t-gsmarena"):
        records = list(map(_record, read(folder / f"inputs/d2t-eval/{name}/test.json")))
        for path in sorted(folder.glob(f"outputs/d2t-eval/*/{name}-*-test.jsonl")):
            for item in read(path):
                key = ("test", name, item["setup_id"].replace(".", "-"), item["example_idx"])
                for text, label in agreed(item["output"], people[key], others[key]):
                    yield records[item["example_idx"]], "", Claim(text, label, "answer")


def quintd(folder: Path) -> Rows:
    """Yield texts of four models about matches, phones and entities, with spans."""
    keys = ("dataset", "model", "table_idx")
    people = _judged(folder.glob("data/quintd-1/annotations/human/*.jsonl"), *keys)
    others = _judged(folder.glob("data/quintd-1/annotations/gpt-4/*.jsonl"), *keys)
    for name in ("ice_hockey", "gsmarena", "wikidata"):
        for path in sorted(folder.glob(f"data/quintd-1/outputs/test/{name}/default/*.json")):
            for place, item in enumerate(json.loads(path.read_text())["generated"]):
                given = item["in"].split("```")[1].strip()
                record = given if name == "wikidata" else _record(ast.literal_eval(given))
                key = (name, path.stem, place)
                for text, label in agreed(item["out"], people[key], others[key]):
                    yield record, "", Claim(text, label, "answer")


def lfqa(folder: Path) -> Rows:
    """Yield long answers whose sentences three people judged by the documents."""
    for path in sorted(folder.glob("annotations/*.json")):
        name = "human" if "whudoc" in path.name else "webgpt"
        documents = {item["question_id"]: "\n\n".join(part["text"] for part in item["docs"])
                     for item in read(folder / "docs" / f"docs-{name}.json")}  # fmt: skip
        for item in read(path):
            answer, marks = "", []
            for part in item["annotations"]:
                start = len(answer)
                answer += part["answer"].strip() + " "
                if (votes := set(part["labels"])) != {"supported"}:
                    label = "notE" if votes == {"not_supported"} else "?"
                    marks.append((start, len(answer) - 1, label))
            for text, label in agreed(answer, [marks]):
                yield documents[item["question_id"]], "", Claim(text, label, "answer")


SETS: tuple[Callable[[Path], Rows], ...] = (ragtruth_train, d2teval, quintd, lfqa)


def balanced(passage: Passage, rng: random.Random) -> Passage:
    """Return a passage with at most four entailed claims more than thrice its other claims."""
    true = [claim for claim in passage.claims if claim.label == "E"]
    others = [claim for claim in passage.claims if claim.label != "E"]
    true = rng.sample(true, min(len(true), 3 * len(others) + 4))
    return Passage(passage.text, passage.source, true + others)


def main() -> None:
    """Write the groups and print the counts."""
    parser = command(__doc__)
    parser.add_argument("--without-unstated", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    held_out = HeldOut.load(options.data)
    for task in (*TASKS, "data2txt"):
        for _, text, _ in ragtruth(options.data, task):
            held_out.add(text)  # its training half is in `answers`
    parts: dict[str, list[dict[str, object]]] = {"train": [], "dev": []}
    dropped = Counter[str]()
    for load in SETS:
        if options.without_unstated and load.__name__ in unstated_names():
            continue
        found = grouped(load(options.data / "public" / load.__name__), load.__name__)
        found = [passage for passage in found if len(passage.text) <= LONGEST]
        for passage in without_leaks(found, held_out, dropped):
            train = zlib.crc32(passage.text.encode()) % 10 > 0
            chosen = balanced(passage, rng) if train else passage
            parts["train" if train else "dev"] += rows([chosen], rng, 48)
    for part, lines in parts.items():
        write_groups(options.work / f"public_{part}.jsonl.xz", lines, dropped, rng)


if __name__ == "__main__":
    main()
