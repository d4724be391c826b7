"""FalseSum: generated summaries of CNN/DM articles, half of them inconsistent (8,684 pairs).

The release holds character ranges into CNN/DM `.story` files; put the files in `stories/` beside
it (in subfolders if you like) or name their folder in HALLDETECT_STORIES. The source is the story
without its highlights, which are where the consistent summaries come from. Label "0" is
hallucinated.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect
from halldetect_bench.datasets.readers import folder, locate, read_jsonl

HINT = "the FalseSum release, github.com/joshbambrick/Falsesum"
VARIABLE = "HALLDETECT_STORIES"
HIGHLIGHT = "@highlight"


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    pairs = read_jsonl(locate(folder(path), "generated_pairs.dev.jsonl", hint=HINT))
    stories = {file.name: file for file in stories_folder(path).rglob("*.story")}

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        name = Path(record["context_path"]).name
        if name not in stories:
            raise Unusable(f"no story {name}")
        story = stories[name].read_text(encoding="utf-8")
        summary = "".join(_cut(story, start, end) for start, end in record["summary"])
        yield Row(
            dataset="falsesum",
            id=str(position),
            source=story.partition(HIGHLIGHT)[0].strip(),
            response=" ".join(summary.split()),
            hallucinated=str(record["label"]) == "0",
            document=name.removesuffix(".story"),
        )

    return collect(pairs, rows)


def stories_folder(path: Path) -> Path:
    """The folder with the CNN/DM stories.

    path: the folder of the release.
    """
    named = os.environ.get(VARIABLE)
    place = Path(named) if named else folder(path) / "stories"
    if not place.is_dir():
        raise InputError(
            f"FalseSum comes without its articles and {place} is not a folder: put the CNN/DM "
            f".story files there (cs.nyu.edu/~kcho/DMQA), or set {VARIABLE}"
        )
    return place


def _cut(story: str, start: int, end: int) -> str:
    if not 0 <= start <= end <= len(story):
        raise Unusable(f"range {start}-{end} is outside the story: another edition of the file?")
    return story[start:end]
