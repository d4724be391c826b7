"""Whether the parts of a split sentence say what the sentence says, by two judges.

    python -m benchmarks.splits draw --data DIR                  draw the sentences anew
    python -m benchmarks.splits questions --data DIR --file FILE  what the judges are asked
    python -m benchmarks.splits judge --file FILE [--verifier large --device cuda --base BASE.gguf]

Two draws, listed in benchmarks/results/claims_splits.json without their texts: 300 sentences of
eleven datasets, and every split sentence of the sets that people decomposed into facts (270; there
are no more).

The verifier is asked whether the sentence entails each part, and, where there are several, whether
the parts together entail the sentence ("but" is read as "and": a contrast is no fact that a part
could state). People, by content words: facts that lie within a part have all its numbers and three
quarters of its other words, or one fact has all of the part; and, where there are several parts,
they have every word of the facts. A split changes the meaning if a judge finds one of the two ways
wanting.

FILE holds texts of the datasets; keep it out of the repository. The results go to
benchmarks/results/claims.json, a section for each verifier.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.claims import RESULTS, write_section
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect.claims.guard.sentence_parts import sentence_parts
from halldetect.protocols import Verifier
from halldetect.reading.sentences import sentences
from halldetect_bench.datasets.decompositions import Gold, load_gold
from halldetect_bench.extractor_quality import content_words
from halldetect_bench.registry import load_dataset

SPLITS = RESULTS.with_name("claims_splits.json")
DATASETS = (
    "qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto", "storysumm",
    "dialsummeval", "wice", "pubmedqa", "bump",
)  # fmt: skip
SPLIT_COUNT = 300
_ENTAILED = 0.5
_MISSING = 0.25
_BUT = re.compile(r"\bbut\b")


def draw(data: Path, count: int = SPLIT_COUNT, seed: int = 0) -> list[dict[str, Any]]:
    """Split sentences of the datasets' responses, drawn at random: dataset, row, sentence.

    data   the folder of the datasets
    count  how many
    seed   of the draw
    """
    places = []
    for name in DATASETS:
        seen: set[str] = set()
        for row in load_dataset(name, data).rows:
            for number, span in enumerate(sentences(row.response)):
                text = span.cut(row.response)
                if text not in seen and sentence_parts(text):
                    seen.add(text)
                    places.append({"dataset": name, "row": row.id, "sentence": number})
    random.Random(seed).shuffle(places)
    return sorted(places[:count], key=lambda item: (item["dataset"], str(item["row"])))


def decomposed(data: Path) -> list[Gold]:
    """Every sentence of the sets with human facts that the rules split, each text once.

    data  the folder of the datasets
    """
    found = {gold.sentence: gold for gold in load_gold(data) if sentence_parts(gold.sentence)}
    return sorted(found.values(), key=lambda gold: gold.id)


def parts_of(sentence: str) -> list[str]:
    """The parts of a sentence, as the detector finds them."""
    return [text for text, _ in sentence_parts(sentence)]


def people_disagree(parts: Sequence[str], sentence: str, facts: Sequence[str]) -> list[str]:
    """The ways in which the facts that people found do not bear the parts out.

    parts     of the sentence
    sentence  that was split
    facts     that people found in it
    """
    here = content_words(sentence)
    known = [words for fact in facts if (words := content_words(fact) & here)]
    split = list(map(content_words, parts))
    ways = []
    if not all(_borne_out(part, known) for part in split):
        ways.append("a_part_not_entailed")
    if len(parts) > 1 and not set().union(*known) <= set().union(*split):
        ways.append("sentence_not_entailed_by_parts")
    return ways


def _borne_out(part: set[str], facts: Sequence[set[str]]) -> bool:
    """Whether facts that say nothing else have the words of a part: all numbers, most others."""
    if any(part <= fact for fact in facts):
        return True
    missing = part - set().union(*(fact for fact in facts if fact <= part))
    numbers = any(char.isdigit() for word in missing for char in word)
    return not numbers and len(missing) <= max(1, len(part) * _MISSING)


def questions(data: Path) -> list[dict[str, Any]]:
    """What the judges are asked: the place, the sentence and its parts, and what people say.

    data  the folder of the datasets
    """
    stored = json.loads(SPLITS.read_text(encoding="utf-8"))
    responses = {
        (name, row.id): row.response
        for name in {item["dataset"] for item in stored["splits"]}
        for row in load_dataset(name, data).rows
    }
    asked = []
    for item in stored["splits"]:
        response = responses[item["dataset"], item["row"]]
        sentence = sentences(response)[item["sentence"]].cut(response)
        asked.append({"draw": "datasets", "place": item, "sentence": sentence, "people": None})
    golds = {gold.id: gold for gold in decomposed(data)}
    for name in stored["decomposed"]:
        gold = golds[name]
        people = people_disagree(parts_of(gold.sentence), gold.sentence, gold.facts)
        asked.append(
            {"draw": "decomposed", "place": name, "sentence": gold.sentence, "people": people}
        )
    return asked


def judge(verifier: Verifier, asked: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many splits change the meaning, by each judge and by both.

    verifier  one of the judges
    asked     the sentences, with what people say where they were asked
    """
    pairs: list[tuple[int, str, tuple[str, str]]] = []
    for number, item in enumerate(asked):
        parts = parts_of(item["sentence"])
        pairs += [(number, "a_part_not_entailed", (item["sentence"], part)) for part in parts]
        if len(parts) > 1:
            whole = " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)
            said = _BUT.sub("and", item["sentence"])
            pairs.append((number, "sentence_not_entailed_by_parts", (whole, said)))
    answers = verifier.judge([pair for _, _, pair in pairs])
    failed: dict[int, set[str]] = {}
    for (number, way, _), answer in zip(pairs, answers, strict=True):
        if answer.entailment <= _ENTAILED:
            failed.setdefault(number, set()).add(way)
    found: dict[str, Any] = {}
    for name in dict.fromkeys(item["draw"] for item in asked):
        numbers = [number for number, item in enumerate(asked) if item["draw"] == name]
        by_verifier = [number for number in numbers if number in failed]
        by_people = [number for number in numbers if asked[number]["people"]]
        both = sorted(set(by_verifier) & set(by_people))
        found[name] = {
            "splits": len(numbers),
            "verifier": _ways([failed[number] for number in by_verifier]),
            "changed_by_verifier": [asked[number]["place"] for number in by_verifier],
        }
        if name == "decomposed":
            found[name] |= {
                "people": _ways([set(asked[number]["people"]) for number in by_people]),
                "changed_by_people": [asked[number]["place"] for number in by_people],
                "changed_by_both": [asked[number]["place"] for number in both],
                "changed_by_both_share": round(len(both) / len(numbers), 4),
            }
    return found


def _ways(failed: Sequence[set[str]]) -> dict[str, int]:
    ways = ("a_part_not_entailed", "sentence_not_entailed_by_parts")
    return {way: sum(way in item for item in failed) for way in ways} | {"either": len(failed)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("draw", "questions", "judge"))
    parser.add_argument("--data", type=Path, help="the folder of the datasets")
    parser.add_argument("--file", type=Path, help="the questions, with their texts")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the results file")
    add_verifier_options(parser)
    given = parser.parse_args(arguments)
    if given.what == "draw":
        drawn = draw(given.data)
        names = [gold.id for gold in decomposed(given.data)]
        listed = {"seed": 0, "splits": drawn, "decomposed": names}
        SPLITS.write_text(json.dumps(listed, indent=1) + "\n", "utf-8")
        print(f"{len(drawn)} and {len(names)} splits drawn")
    elif given.what == "questions":
        asked = questions(given.data)
        given.file.parent.mkdir(parents=True, exist_ok=True)
        given.file.write_text(json.dumps(asked, ensure_ascii=False), "utf-8")
        print(f"{len(asked)} sentences")
    else:
        verifier = verifier_of(given)
        asked = json.loads(given.file.read_text("utf-8"))
        found = {"splits": judge(verifier, asked)}
        write_section(given.out, given.verifier, found, verifier)
        print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
