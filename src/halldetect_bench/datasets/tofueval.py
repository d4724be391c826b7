"""TofuEval: topic-focused summaries of MediaSum and MeetingBank dialogues (1,777 summaries).

The release holds no dialogues. Give the folder with them as `transcripts/` beside the annotation
files or in HALLDETECT_TRANSCRIPTS; any of these is read, MediaSum and MeetingBank alike:

- `{mediasum,meetingbank}_{dev,test}_doc.csv` as TofuEval's own recipe writes them
  (`doc_id` or `meeting_id`, `source`);
- `news_dialogue.json`, the MediaSum release (large: the CSV files need less memory);
- `<document id>.txt`.

A summary is all rows of one (document, topic, model), in sentence order; it is hallucinated when
any sentence is labelled "no". The publishers forbid training on it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect, join
from halldetect_bench.datasets.readers import folder, locate, read_csv, read_json

HINT = "the TofuEval release, github.com/amazon-science/tofueval, factual_consistency/"
VARIABLE = "HALLDETECT_TRANSCRIPTS"
CORPORA = ("mediasum", "meetingbank")
SPLITS = ("dev", "test")


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    transcripts = read_transcripts(transcripts_folder(path))
    parts = [(corpus, split) for corpus in CORPORA for split in SPLITS]
    return join(_load(path, corpus, split, transcripts) for corpus, split in parts)


def loader(corpus: str) -> Callable[[Path], Loaded]:
    """A loader of one corpus only.

    corpus: one of CORPORA.
    """

    def load_corpus(path: Path) -> Loaded:
        transcripts = read_transcripts(transcripts_folder(path))
        return join(_load(path, corpus, split, transcripts) for split in SPLITS)

    return load_corpus


def transcripts_folder(path: Path) -> Path:
    """The folder with the dialogues.

    path: the folder of the release.
    """
    named = os.environ.get(VARIABLE)
    place = Path(named) if named else folder(path) / "transcripts"
    if not place.is_dir():
        raise InputError(
            f"TofuEval comes without its dialogues and {place} is not a folder: put the MediaSum "
            f"and MeetingBank transcripts there as <document id>.txt or *_doc.csv, or set "
            f"{VARIABLE}"
        )
    return place


def read_transcripts(place: Path) -> dict[str, str]:
    """The dialogues by document id.

    place: the folder with the dialogues.
    """
    texts = {file.stem: file.read_text(encoding="utf-8") for file in sorted(place.glob("*.txt"))}
    for file in sorted(place.glob("*_doc.csv")):
        for record in read_csv(file):
            key = record.get("doc_id") or record.get("meeting_id")
            if key and record.get("source"):
                texts[key] = record["source"]
    if (place / "news_dialogue.json").is_file():
        for dialogue in read_json(place / "news_dialogue.json"):
            turns = zip(dialogue["speaker"], dialogue["utt"], strict=False)
            texts.setdefault(dialogue["id"], "\n".join(f"{who}: {said}" for who, said in turns))
    return texts


def _load(path: Path, corpus: str, split: str, transcripts: dict[str, str]) -> Loaded:
    annotations = locate(folder(path), f"{corpus}_factual_eval_{split}.csv", hint=HINT)
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for record in read_csv(annotations):
        keys = (record.get("doc_id", ""), record.get("topic", ""), record.get("model_name", ""))
        groups[keys].append(record)

    def rows(_: int, group: tuple[tuple[str, str, str], list[dict[str, str]]]) -> Iterable[Row]:
        (document, topic, model), records = group
        if document not in transcripts:
            raise Unusable(f"no transcript of {document}")
        ordered = sorted(records, key=lambda record: int(record["sent_idx"]))
        sentences = tuple((item["summ_sent"], item["sent_label"] == "no") for item in ordered)
        types = {kind.strip() for item in ordered for kind in item["type"].split(",")} - {""}
        yield Row(
            dataset=f"tofueval-{corpus}",
            id=f"{document}/{topic}/{model}",
            source=transcripts[document],
            response=" ".join(text for text, _ in sentences),
            hallucinated=any(wrong for _, wrong in sentences),
            sentences=sentences,
            kind="+".join(sorted(types)).lower() or None,
            document=document,
        )

    return collect(groups.items(), rows)
