"""TofuEval and FalseSum, whose publishers give labels without the source texts.

A user adds the texts: as a folder beside the publishers' files, or anywhere with an environment
variable that names it. The 176 sentences of TofuEval in ClearFacts come with their transcripts.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect, digest
from halldetect_bench.datasets.readers import locate, read_csv, read_json, read_table_file

TOFUEVAL_PARTS = ("mediasum", "meetingbank")
TRANSCRIPTS, STORIES = "HALLDETECT_TRANSCRIPTS", "HALLDETECT_STORIES"
# The names of the two parts in LLM-AggreFact, which ClearFacts corrects.
_IN_CLEARFACTS = {"mediasum": "TofuEval-MediaS", "meetingbank": "TofuEval-MeetB"}
_SPLITS = ("dev", "test")
_HIGHLIGHT = "@highlight"  # precedes each sentence of the reference summary in a story


def load_tofueval(path: Path, part: str = "mediasum") -> Loaded:
    """Load the sentences of TofuEval in ClearFacts, with transcripts (87 and 89 rows).

    They are summary sentences with labels checked again; "NS" is hallucinated.
    """
    hint = "github.com/S1s-Z/FaithLens, ClearFacts' rows of LLM-AggreFact"
    records = read_table_file(locate(path, "aggrefact.jsonl", hint=hint))

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        if record["category"] != _IN_CLEARFACTS[part]:
            return
        hallucinated = {"S": False, "NS": True}[record["label"]]
        source = "\n\n".join(record["reference_documents"])
        yield Row(
            dataset=f"tofueval-{part}",
            id=str(position),
            source=source,
            response=record["statement"],
            hallucinated=hallucinated,
            sentences=((record["statement"], hallucinated),),
            document=digest(source),
        )

    return collect(records, rows)


def load_tofueval_summaries(path: Path, part: str = "mediasum") -> Loaded:
    """Load the release of TofuEval: summaries of dialogues on a topic (1,777 with both parts).

    The release has no transcripts. Put them into `transcripts/` beside its CSV files, or name
    their folder in HALLDETECT_TRANSCRIPTS, in any of these forms:

    - `{mediasum,meetingbank}_{dev,test}_doc.csv` with `doc_id` or `meeting_id`, and `source`;
    - `news_dialogue.json` of the MediaSum release: a list of `id`, `speaker`, `utt`;
    - one text file a document, `<document id>.txt`.

    A summary is all rows of one document, topic and model, in the order of `sent_idx`. It is
    hallucinated if any sentence is labelled "no". The publishers forbid training on it.
    """
    hint = "the TofuEval release, github.com/amazon-science/tofueval, factual_consistency/"
    files = [locate(path, f"{part}_factual_eval_{split}.csv", hint=hint) for split in _SPLITS]
    groups: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for record in (record for file in files for record in read_csv(file)):
        key = tuple(record.get(name, "") for name in ("doc_id", "topic", "model_name"))
        groups[key].append(record)
    transcripts = _transcripts(path)

    def rows(_: int, group: tuple[tuple[str, ...], list[dict[str, str]]]) -> Iterable[Row]:
        (document, topic, model), records = group
        if document not in transcripts:
            raise Unusable(f"no transcript of {document}")
        records = sorted(records, key=lambda record: int(record["sent_idx"]))
        sentences = tuple((item["summ_sent"], item["sent_label"] == "no") for item in records)
        kinds = {kind.strip() for item in records for kind in item["type"].split(",")} - {""}
        yield Row(
            dataset=f"tofueval-summaries-{part}",
            id=f"{document}/{topic}/{model}",
            source=transcripts[document],
            response=" ".join(text for text, _ in sentences),
            hallucinated=any(wrong for _, wrong in sentences),
            sentences=sentences,
            kind="+".join(sorted(kinds)).lower() or None,
            document=document,
        )

    return collect(groups.items(), rows)


def _transcripts(path: Path) -> dict[str, str]:
    """Return the transcripts that the user supplies, by document id."""
    what = "TofuEval comes without its transcripts"
    folder = _supplied(path / "transcripts", TRANSCRIPTS, what, "<document id>.txt or *_doc.csv")
    texts = {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.txt"))}
    for file in sorted(folder.glob("*_doc.csv")):
        for record in read_csv(file):
            key = record.get("doc_id") or record.get("meeting_id")
            if key and record.get("source"):
                texts[key] = record["source"]
    if (folder / "news_dialogue.json").is_file():
        for dialogue in read_json(folder / "news_dialogue.json"):
            turns = zip(dialogue["speaker"], dialogue["utt"], strict=False)
            texts.setdefault(dialogue["id"], "\n".join(f"{who}: {words}" for who, words in turns))
    return texts


def load_falsesum(path: Path) -> Loaded:
    """Load FalseSum: generated summaries of CNN/DM articles, half inconsistent (8,684 pairs).

    The release holds places in CNN/DM `.story` files. Put the files into `stories/` beside it
    (subfolders allowed), or name their folder in HALLDETECT_STORIES. The source is the story
    without its highlights, of which the consistent summaries are made. Label "0" is hallucinated.
    """
    hint = "the FalseSum release, github.com/joshbambrick/Falsesum"
    pairs = read_table_file(locate(path, "generated_pairs.dev.jsonl", hint=hint))
    what = "FalseSum comes without its articles"
    folder = _supplied(path / "stories", STORIES, what, "the CNN/DM .story files")
    stories = {file.name: file for file in folder.rglob("*.story")}

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        name = Path(record["context_path"]).name
        if name not in stories:
            raise Unusable(f"no story {name}")
        story = stories[name].read_text(encoding="utf-8")
        summary = "".join(_cut(story, start, end) for start, end in record["summary"])
        yield Row(
            dataset="falsesum",
            id=str(position),
            source=story.partition(_HIGHLIGHT)[0].strip(),
            response=" ".join(summary.split()),
            hallucinated={"0": True, "1": False}[str(record["label"])],
            document=name.removesuffix(".story"),
        )

    return collect(pairs, rows)


def _cut(story: str, start: int, end: int) -> str:
    if not 0 <= start <= end <= len(story):
        raise Unusable(f"range {start}-{end} is outside the story: another edition of the file?")
    return story[start:end]


def _supplied(beside: Path, variable: str, what: str, form: str) -> Path:
    """Return the folder of texts that the user supplies; raise InputError if it is not there."""
    folder = Path(os.environ.get(variable) or beside).expanduser()
    if not folder.is_dir():
        raise InputError(f"{what}, and {folder} is no folder: put {form} there, or set {variable}")
    return folder
