"""The examples of the README and the pages, and the output that is shown below them.

`python -m tests.support.doc_examples` runs the examples again and rewrites their outputs.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from unittest.mock import patch

from halldetect.cli import main
from tests.support.office import docx, paragraph, pdf_page, shown
from tests.support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(
    r"^```(?P<language>sh|python)\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
# Speed and scores depend on the machine and on the weights.
_CHANGING = re.compile(r"\b\d\.\d{2,}\b|\(\d+ in \d+ s, [\d.]+ rows/s\)")
_PROGRESS = re.compile(r"^halldetect: [a-z ]+: \d+%\n", re.MULTILINE)
SOURCE = "The bridge of Kell opened in 1932. It has six lanes."
RIGHT, WRONG = "The bridge of Kell has six lanes.", "A storm sank the ferry Alma in 1971."
BOAT = "The last boat returns at 21:40."
WIDTH = 88


@dataclass(frozen=True, slots=True)
class Example:
    """A block of a page; `output` is None if the page shows none."""

    page: Path
    language: str
    code: str
    output: str | None

    @property
    def lines(self) -> list[str]:
        """The commands of a shell block."""
        whole = self.code.replace("\\\n", " ").replace(" && ", "\n")
        return [line.strip() for line in whole.splitlines() if line.strip()]

    def __str__(self) -> str:
        return f"{self.page.name}: {self.code.strip().splitlines()[0][:60]}"


def examples(page: Path, language: str) -> list[Example]:
    """Return the examples of a page in a language."""
    text = page.read_text(encoding="utf-8")
    return [
        Example(page, language, found["code"], found["output"])
        for found in _BLOCK.finditer(text)
        if found["language"] == language
    ]


def all_examples(language: str) -> list[Example]:
    """Return the examples of all pages in a language."""
    return [example for page in PAGES for example in examples(page, language)]


def normalised(output: str) -> str:
    """Return an output without what depends on the machine."""
    return _CHANGING.sub("#", output)


def run_shell(example: Example, skipped: tuple[str, ...] = ()) -> str:
    """Run the commands of a shell block in the current folder; return what they print."""
    with _captured() as output:
        for line in example.lines:
            if line.startswith(skipped):
                continue
            if line.startswith("halldetect "):
                status = main(shlex.split(line, comments=True)[1:])
                assert status in (0, 1), (line, printed(output))  # 1: a gate holds
            else:
                subprocess.run(line, shell=True, check=True)
    return printed(output)


def run_python(example: Example) -> str:
    """Run a Python block; return what it prints."""
    with _captured() as output:
        exec(compile(example.code, example.page.name, "exec"), {"__name__": "example"})
    return printed(output)


@contextlib.contextmanager
def _captured() -> Iterator[io.TextIOWrapper]:
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with (
        patch.dict(os.environ, {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        yield output


def printed(output: io.TextIOWrapper) -> str:
    """Return what was written to a stream in memory, without progress."""
    text = _PROGRESS.sub("", cast(io.BytesIO, output.buffer).getvalue().decode("utf-8"))
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


def rows(*answers: tuple[str, str]) -> str:
    """Return lines of a batch with pairs of source and response."""
    lines = (
        {"id": f"q{at}", "source": source, "response": response, "model": "m"}
        for at, (source, response) in enumerate(answers, 1)
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


def prepare(folder: Path) -> None:
    """Write every file that an example names as input."""
    right = [(SOURCE, RIGHT), (BOAT, BOAT), (SOURCE, "It has six lanes.")]
    worse = [right[0], (BOAT, "The last boat returns at 22:30."), right[2]]
    labelled = [
        {"source": SOURCE, "response": text, "hallucinated": text == WRONG}
        for text in [RIGHT] * 20 + [WRONG] * 5
    ]
    (rules,) = re.findall(
        r"```toml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.DOTALL
    )
    texts = {
        "article.txt": SOURCE, "manual.md": SOURCE, "summary.txt": RIGHT, "answer.md": RIGHT,
        "answer.txt": RIGHT, "notes.md": SOURCE, "manuals/kell.md": SOURCE, "bridges.txt": SOURCE,
        "pages.jsonl": json.dumps({"id": "a", "text": SOURCE}) + "\n",
        "answers.jsonl": rows(*worse), "before.jsonl": rows(*right), "tokens": "",
        "logs/a.jsonl": rows(right[0]), "answers/kell.md": RIGHT, "manual/kell.md": SOURCE,
        "prices.md": "A ticket costs 4 euros.", ".halldetect.toml": rules,
        "labelled.jsonl": "".join(json.dumps(row) + "\n" for row in labelled),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "contract.pdf").write_bytes(pdf_page(shown(SOURCE)))
    (folder / "summary.docx").write_bytes(docx(paragraph(RIGHT)))
    _prepare_datasets(folder / "DIR")
    for command in (
        "init -q -b main", "add .", "-c user.name=a -c user.email=a@b commit -q -m Start"
    ):  # fmt: skip
        subprocess.run(["git", "-C", str(folder), *command.split()], check=True)
    with contextlib.chdir(folder):
        assert main(["batch", "before.jsonl", "old.jsonl", "--quiet"]) == 0
        assert main(["index", "build", "bridges.txt", "-o", "company.index", "--quiet"]) == 0
    shutil.copy(folder / "old.jsonl", folder / "last-night.jsonl")


def _prepare_datasets(folder: Path) -> None:
    """Write a few rows in the form of two of the datasets."""
    answers = [{"worker_id": 1, "response": "yes"}], [{"worker_id": 1, "response": "no"}]
    qags = [
        {"article": SOURCE, "summary_sentences": [{"sentence": text, "responses": given}]}
        for text, given in ((RIGHT, answers[0]), (WRONG, answers[1]))
    ]
    wice = [
        {"label": label, "claim": text, "evidence": [SOURCE], "meta": {"id": f"dev{at}"}}
        for at, (text, label) in enumerate([(RIGHT, "supported"), (WRONG, "not_supported")])
    ]
    for name, records in (("qags/mturk_cnndm.jsonl", qags), ("wice/claim_dev.jsonl", wice)):
        (folder / name).parent.mkdir(parents=True)
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / name).write_text(text, encoding="utf-8")


def _rewrite() -> None:
    """Run every example that shows an output, and write what it prints now."""
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for example in [*all_examples("sh"), *all_examples("python")]:
            if example.output is None:
                continue
            with contextlib.chdir(name):
                shell = example.language == "sh"
                new = run_shell(example, ("pip ",)) if shell else run_python(example)
            if normalised(new) != normalised(example.output):
                text = example.page.read_text(encoding="utf-8")
                old = f"{example.code}```\n\n```text\n{example.output}"
                assert text.count(old) == 1
                changed = text.replace(old, f"{example.code}```\n\n```text\n{new}")
                example.page.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    _rewrite()
