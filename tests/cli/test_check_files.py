"""halldetect check-files, and the action and the hook that run it, on a sample repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from halldetect.cli import build_parser, main
from tests.support.fakes import use_overlap_verifier
from tests.support.paths import ROOT

SOURCE = "The mill was built in 1790. Today it is a museum."
GOOD, WRONG = "Today it is a museum.", "# The mill\n\nThe mill was built in 1850."
RULES = '[[answers]]\nfiles = "answers/**/*.md"\nsources = ["manual/{name}.txt", "prices.md"]\n'
# The program with everything real but the weights.
PROGRAM = """#!{python}
import sys
sys.path[:0] = {path}
import halldetect.models.verifiers as verifiers
from halldetect.cli import main
from tests.support.fakes import OverlapVerifier
verifiers.load_verifier = lambda spec, **_: OverlapVerifier()
sys.exit(main())
"""


def git(*arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    done = subprocess.run(["git", *identity, *arguments], capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two answers with their sources, one commit old."""
    use_overlap_verifier(monkeypatch)
    folder = tmp_path / "repository"
    for name, text in {
        ".halldetect.toml": RULES,
        "prices.md": "A ticket costs four euros.",
        "manual/mill.txt": SOURCE,
        "manual/inn.txt": "The inn has nine rooms.",
        "answers/mill.md": GOOD,
        "answers/deep/inn.md": "The inn has nine rooms.",
        "notes.md": "Not an answer.",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    return folder


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """The status, and the answers that were checked with their verdicts."""
    status = main(["check-files", *arguments])
    lines = capsys.readouterr().out.splitlines()
    return status, [re.split(r" \(|\.\s", line)[0] for line in lines if line.startswith("answers/")]


def test_all_answers_or_those_that_changed(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = ["answers/deep/inn.md: faithful", "answers/mill.md: faithful"]
    assert checked(capsys) == (0, both)
    assert checked(capsys, "answers/mill.md") == (0, both[1:])
    assert checked(capsys, "manual/inn.txt", "notes.md") == (0, both[:1])  # its source changed
    assert checked(capsys, "prices.md") == (0, both)
    assert checked(capsys, "notes.md") == (0, [])
    assert checked(capsys, "missing.md") == (2, [])
    assert checked(capsys, "--since", "HEAD") == (0, [])
    (repository / "answers/mill.md").write_text(WRONG, encoding="utf-8")
    assert checked(capsys, "--since", "HEAD") == (1, ["answers/mill.md: hallucinated"])
    (repository / "answers/inn.md").write_text("", encoding="utf-8")  # not known to git
    assert checked(capsys, "--since", "HEAD")[1][0] == "answers/inn.md: uncheckable"
    git("add", "-A")
    git("commit", "-qm", "second")
    assert checked(capsys, "--since", "HEAD") == (0, [])
    assert checked(capsys, "--since", "HEAD~1")[0] == 1


def test_what_was_not_checked_is_no_success(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "answers/mill.md").write_text("", encoding="utf-8")
    assert checked(capsys)[0] == 3


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (None, "it has tables such as [[answers]]"),
        ("answers = 1", "must have tables"),
        ("[[answers]]\nfiles = 'a'", "must have tables"),
        ("[[answers]]\nfiles = 'a'\nsources = [1]", "must have tables"),
        ("[[answers]]\nfiles = '/a'\nsources = 'b'", "cannot use the pattern"),
        ("[[answers]]\nfiles = 'answers/*.md'\nsources = 'none/{name}.md'", "'none/mill.md'"),
        ("[[", "is not TOML"),
    ],
)
def test_rules_that_make_no_sense(
    rules: str | None, message: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / ".halldetect.toml"
    file.unlink()
    if rules is not None:
        file.write_text(rules, encoding="utf-8")
    assert main(["check-files"]) == 2
    assert message in capsys.readouterr().err


def test_a_commit_that_is_not_there(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-files", "--since", "nowhere"]) == 2
    assert "--since: fatal" in capsys.readouterr().err


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Where a shell finds `halldetect`."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "halldetect"
    path = [str(ROOT / "src"), str(ROOT)]
    program.write_text(PROGRAM.format(python=sys.executable, path=path), encoding="utf-8")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


def test_the_action_marks_the_lines_of_changed_answers(
    repository: Path, environment: dict[str, str]
) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][-1]
    assert step["env"].keys() == {name.upper() for name in action["inputs"]}
    before = git("rev-parse", "HEAD")
    (repository / "answers/mill.md").write_text(WRONG, encoding="utf-8")
    git("commit", "-qam", "second")
    values = {"SINCE": before, "RULES": ".halldetect.toml", "SARIF": "log.sarif", "OPTIONS": ""}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    run = subprocess.run(command, env=environment | values, capture_output=True, text=True)
    assert run.returncode == 1, run.stderr
    verdict, note = run.stdout.splitlines()
    assert verdict.startswith("answers/mill.md: hallucinated")
    assert note.startswith("::error file=answers/mill.md,line=3,endLine=3,col=1,endColumn=28,")
    (result,) = json.loads((repository / "log.sarif").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (
        "answers/mill.md",
        3,
    )
    more = {"SINCE": "all", "OPTIONS": "--threshold 0.9999"}  # everything is checked
    run = subprocess.run(command, env=environment | values | more, capture_output=True, text=True)
    assert "answers/deep/inn.md: faithful" in run.stdout, run.stderr
    assert "the threshold 1.00" in run.stdout
    program = Path(environment["PATH"].partition(":")[0], "halldetect")
    program.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    asked = {}
    for since in ("all", "0" * 40, before):
        more = {"SINCE": since, "OPTIONS": "--threshold 0.9999"}
        run = subprocess.run(
            command, env=environment | values | more, capture_output=True, text=True
        )
        asked[since] = run.stdout
    assert asked["0" * 40] == asked["all"] != asked[before]
    assert before in asked[before]


def test_the_hook_refuses_a_changed_answer(
    repository: Path, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    entry = shlex.split(hook["entry"])
    assert callable(build_parser().parse_args([*entry[1:], "a.md"]).run)
    (repository / "answers/mill.md").write_text(WRONG, encoding="utf-8")
    command = [*entry, "answers/mill.md", "notes.md"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 1, run.stderr
    assert "contradicted: “The mill was built in 1850.”" in run.stdout
    assert main([*entry[1:], "notes.md"]) == 0
    assert "contradicted" not in capsys.readouterr().out
