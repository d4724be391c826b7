"""The commands of the README and the pages run as they stand, in a folder with what they name."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from halldetect.cli import main
from tests.docs.test_examples import ALL, blocks
from tests.support.fakes import use_overlap_verifier
from tests.support.office import docx, paragraph, pdf_page, shown
from tests.support.paths import ROOT

SOURCE = "The bridge of Kell opened in 1932. It has six lanes."
(RULES,) = blocks(ROOT / "docs" / "ci.md", "toml")
RIGHT, WRONG = "The bridge of Kell has six lanes.", "A storm sank the ferry Alma in 1971."
# Not run here: servers (tests/serve), datasets that are not in the repository (tests/bench), other
# machines (tests/batch/test_ray.py), and `demo`, which .ci/run runs with the real weights.
ELSEWHERE = ("serve", "demo", "bench run", "bench report", "bench reproduce")
APART = ("--engine ray",)
RUN = [
    case
    for case in ALL
    if not shlex.join(case.values[0]).startswith(ELSEWHERE)
    and not any(part in shlex.join(case.values[0]) for part in APART)
]


def rows(*responses: str) -> str:
    lines = (
        {"id": str(at), "source": SOURCE, "response": response, "model": "m"}
        for at, response in enumerate(responses)
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that an example names as input."""
    folder = tmp_path_factory.mktemp("examples")
    texts = {
        "article.txt": SOURCE, "manual.md": SOURCE, "summary.txt": RIGHT, "answer.md": RIGHT,
        "answers.jsonl": rows(RIGHT, WRONG), "logs/a.jsonl": rows(RIGHT), "tokens": "",
        "answers/kell.md": RIGHT, "manual/kell.md": SOURCE, "prices.md": "A ticket costs 4 euros.",
        ".halldetect.toml": RULES,
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "contract.pdf").write_bytes(pdf_page(shown(SOURCE)))
    (folder / "summary.docx").write_bytes(docx(paragraph(RIGHT)))
    for command in (
        "init -q -b main", "add .", "-c user.name=a -c user.email=a@b commit -q -m Start"
    ):  # fmt: skip
        subprocess.run(["git", "-C", str(folder), *command.split()], check=True)
    with pytest.MonkeyPatch.context() as patch:
        use_overlap_verifier(patch)
        patch.chdir(folder)
        assert main(["batch", "answers.jsonl", "old.jsonl", "--quiet"]) in (0, 1)
    shutil.copy(folder / "old.jsonl", folder / "last-night.jsonl")
    return folder


@pytest.mark.parametrize("arguments", RUN)
def test_command_runs(
    arguments: list[str], prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_overlap_verifier(monkeypatch)
    folder = tmp_path / "here"
    shutil.copytree(prepared, folder)
    if "--baseline" in arguments:
        name = arguments[arguments.index("--baseline") + 1]
        shutil.copy(folder / "old.jsonl", folder / name) if name != "old.jsonl" else None
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    assert main(arguments) in (0, 1)  # 1: something is hallucinated, or a gate holds
    for option in ("--html", "--output", "--sarif", "--report"):
        if option in arguments:
            assert (folder / arguments[arguments.index(option) + 1]).exists()


def test_most_commands_run() -> None:
    assert len(RUN) >= 16
