"""The commands and outputs of the README and the pages: they run, and print what is shown."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import httpx
import pytest

import halldetect
from tests.support.doc_examples import (
    Example,
    all_examples,
    normalised,
    prepare,
    run_python,
    run_shell,
)
from tests.support.fakes import use_overlap_verifier
from tests.support.paths import ROOT
from tests.support.running import serving

# Commands that do not run in these tests, by their beginning, and why.
NOT_RUN = {
    "pip install": "installs the package: .ci/run runs the line of the README",
    "pytest": "runs these tests",
    "docker ": "needs Docker: tests/test_deploy.py reads the files",
    "kubectl ": "needs a cluster: tests/test_deploy.py reads the files",
    'echo "POSTGRES_PASSWORD': "belongs to Docker Compose",
    "curl ": "sent by test_request_is_answered",
    "halldetect serve": "does not end: test_service_starts",
    "halldetect batch 's3://": "needs an account and a cluster",
    "halldetect batch answers.jsonl results.jsonl --engine ray": "tests/batch/test_ray.py",
    "halldetect bench run --dataset jsonl:mine.jsonl --method halldetect,minicheck": "needs a hub",
    "halldetect bench run --dataset jsonl:labelled.jsonl --method halldetect,minicheck": (
        "needs a hub: tests/bench/methods/test_peers.py and tests/verification/test_peers.py"
    ),
    "halldetect bench reproduce": "takes minutes: tests/bench/test_reproduction.py",
    "halldetect bench report benchmarks/results/bench": "tests/docs/test_results.py",
}
REAL = ("halldetect bench run", "halldetect demo")
SHELL, PYTHON = all_examples("sh"), all_examples("python")
SERVE = [line for example in SHELL for line in example.lines if line.startswith("halldetect serve")]


def runs(example: Example) -> bool:
    return any(not line.startswith(tuple(NOT_RUN)) for line in example.lines)


def is_slow(example: Example) -> bool:
    return any(line.startswith(REAL) for line in example.lines) and runs(example)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that an example names as input."""
    folder = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        use_overlap_verifier(patch)
        prepare(folder)
    return folder


@pytest.fixture
def here(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder as the current one."""
    folder = tmp_path / "here"
    shutil.copytree(prepared, folder)
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    return folder


def check(example: Example, folder: Path) -> None:
    """Run a shell example; compare its output and look for the files that it names."""
    printed = run_shell(example, tuple(NOT_RUN))
    if example.output is not None:
        assert normalised(printed) == normalised(example.output)
    for line in example.lines:
        for name in re.findall(r"(?:--html|--output|--sarif|--report|-o) (\S+)", line):
            assert line.startswith(tuple(NOT_RUN)) or (folder / name).exists(), line


@pytest.mark.parametrize("example", [e for e in SHELL if runs(e) and not is_slow(e)], ids=str)
def test_commands_run(example: Example, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)
    check(example, here)


@pytest.mark.slow
@pytest.mark.parametrize("example", [e for e in SHELL if is_slow(e)], ids=str)
def test_slow_commands_run(example: Example, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "demo" not in example.code:
        use_overlap_verifier(monkeypatch)
    check(example, here)


@pytest.mark.slow
@pytest.mark.parametrize("example", [e for e in PYTHON if e.output is not None], ids=str)
@pytest.mark.usefixtures("here")
def test_python_prints_what_is_shown(example: Example) -> None:
    assert normalised(run_python(example)) == normalised(example.output or "")


@pytest.mark.slow
@pytest.mark.parametrize("line", SERVE)
def test_service_starts(line: str, here: Path) -> None:
    arguments = shlex.split(line, comments=True)[2:]
    with serving(*arguments, environment={"HALLDETECT_HOME": str(here)}) as service:
        assert service.get("/healthz").status_code == 200


def test_request_is_answered(service: object) -> None:
    (line,) = [line for example in SHELL for line in example.lines if line.startswith("curl")]
    address, kind, body = re.fullmatch(r"curl (\S+) -H '(.+?)'\s+-d '(.+)'", line).groups()  # type: ignore[union-attr]
    url = address.replace("http://127.0.0.1:8000", service.url)  # type: ignore[attr-defined]
    headers = dict([kind.split(": ")])
    assert httpx.post(url, headers=headers, content=body, timeout=60).status_code == 200


def test_every_reason_is_needed() -> None:
    lines = [line for example in SHELL for line in example.lines]
    unused = [start for start in NOT_RUN if not any(line.startswith(start) for line in lines)]
    assert unused == []


def test_every_shell_block_is_found() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    blocks = [
        language
        for page in pages
        for language in re.findall(r"^```(\w*)\n(?:.*\n)*?```", page.read_text("utf-8"), re.M)
    ]
    assert blocks.count("sh") == len(SHELL)
    assert blocks.count("python") == len(PYTHON)
    assert not {"bash", "console", "shell"} & set(blocks)


def test_failure_of_a_test_reads_as_shown() -> None:
    page = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\nAssertionError: (.*?)```", page, re.DOTALL)
    report = halldetect.check("The ticket costs four euros.", "The ticket costs six euros.")
    assert normalised(str(report)) == normalised(shown.strip())
