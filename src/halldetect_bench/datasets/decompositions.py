"""Sentences with the facts that people found in them, the reference for extractors.

Four published sets, in their publishers' formats, under `decomposition/`. They are split by
document: a tenth is held out, the rest may be used for training (PropSegmEnt may not and is held
out completely).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import InputError
from halldetect.reading.sentences import sentences
from halldetect.reading.words import FUNCTION_WORDS, words
from halldetect_bench.datasets.readers import read_json, read_jsonl

FOLDER = "decomposition"
_HELD_OUT_OF = 10
_FOOTNOTE = re.compile(r"\s*\[\d+\]")
# Where a set gives the facts of a whole response, a fact belongs to the sentence that shares the
# most words with it, if that is at least this share of the fact.
_MIN_SHARED = 0.6


@dataclass(frozen=True, slots=True)
class Gold:
    """A sentence and its facts; `source` names the set."""

    id: str
    source: str
    document: str
    sentence: str
    facts: tuple[str, ...]

    @property
    def held_out(self) -> bool:
        """Whether nothing may be trained on it."""
        return self.source == "propsegment" or in_held_out_part(self.document)


def in_held_out_part(document: str) -> bool:
    """Whether a document is in the tenth that nothing is trained on.

    document: its name.
    """
    digest = hashlib.sha256(document.casefold().encode()).digest()
    return digest[0] % _HELD_OUT_OF == 0


def load_gold(data: Path) -> list[Gold]:
    """Every sentence with at least one fact, of all four sets.

    data: the folder that holds the datasets' folders.
    """
    folder = data / FOLDER
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}; --data names the one above it")
    readers = (_factscore, _rose, _factcheck, _propsegment)
    return [gold for reader in readers for gold in reader(folder) if gold.facts]


def _factscore(folder: Path) -> Iterator[Gold]:
    for name in ("ChatGPT", "InstructGPT", "PerplexityAI"):
        for row in read_jsonl(folder / "factscore" / f"{name}.jsonl"):
            for number, part in enumerate(row["annotations"] or ()):
                facts = tuple(fact["text"] for fact in part.get("human-atomic-facts") or ())
                key = f"factscore/{name}/{row['topic']}/{number}"
                yield Gold(key, "factscore", row["topic"], _clean(part["text"]), facts)


def _rose(folder: Path) -> Iterator[Gold]:
    for row in read_json(folder / "rose" / "acu-cnndm-test.json"):
        key = f"rose/{row['id']}"
        yield from _assigned(key, "rose", key, row["reference"], row["acu"])


def _factcheck(folder: Path) -> Iterator[Gold]:
    seen = set()
    for number, row in enumerate(read_jsonl(folder / "factcheckgpt/factcheck-GPT-benchmark.jsonl")):
        seen.add(row["prompt"])
        for part, found in row["sentences"].items():
            key = f"factcheckgpt/{number}/{part}"
            text = _clean(found["text"])
            yield Gold(key, "factcheckgpt", row["prompt"], text, tuple(found["claims"] or ()))
    for number, row in enumerate(read_jsonl(folder / "factcheckgpt" / "Factbench.jsonl")):
        # HaluEval's rows carry no claims; the benchmark's own rows were read above.
        if row["claims"] and row["response"] and row["prompt"] not in seen:
            key = f"factbench/{number}"
            yield from _assigned(key, "factcheckgpt", row["prompt"], row["response"], row["claims"])


def _propsegment(folder: Path) -> Iterator[Gold]:
    for part in ("dev", "test"):
        clusters = read_json(folder / "propsegment" / f"document_clusters.{part}.json")
        documents = {item["document_id"]: item for row in clusters for item in row["documents"]}
        for row in read_json(folder / "propsegment" / f"propositions.{part}.json"):
            place = row["sentence_id"]
            document = documents.get(place["document_id"])
            found = [item for item in row["segmentation_responses"] if item.get("propositions")]
            if document is None or not found:
                continue  # the publishers left out documents they may not pass on
            sentence = document["sentences"][place.get("sentence_index", 0)]
            tokens = [token["text"] for token in sentence["tokens"]]
            found.sort(key=lambda item: not item.get("is_reference_response"))
            facts = tuple(
                " ".join(tokens[at] for at in item["token_indices"] if at < len(tokens))
                for item in found[0]["propositions"]
            )
            key = f"propsegment/{place['document_id']}/{place.get('sentence_index', 0)}"
            text = _clean(sentence["sentence_text"])
            yield Gold(key, "propsegment", place["document_id"], text, facts)


def _assigned(key: str, source: str, document: str, text: str, facts: list[str]) -> Iterator[Gold]:
    text = _clean(text)
    parts = [span.cut(text) for span in sentences(text)]
    contents = [_content_words(part) for part in parts]
    found: list[list[str]] = [[] for _ in parts]
    for fact in facts:
        wanted = _content_words(fact)
        shares = [len(wanted & here) for here in contents]
        best = max(range(len(parts)), key=lambda at: shares[at], default=None)
        if best is not None and wanted and shares[best] >= _MIN_SHARED * len(wanted):
            found[best].append(fact)
    for number, part in enumerate(parts):
        yield Gold(f"{key}/{number}", source, document, part, tuple(found[number]))


def _content_words(text: str) -> set[str]:
    return {word.norm for word in words(text)} - FUNCTION_WORDS


def _clean(text: str) -> str:
    return " ".join(_FOOTNOTE.sub("", text).split())
