"""The locked versions fit what the package asks for: after a change, run .ci/lock."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.paths import ROOT

LOCKED_EXTRAS = ("serve", "parquet", "test", "bench", "documents", "llm", "onnx")


def test_locked_versions_match_what_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(line for name in LOCKED_EXTRAS for line in extras[name])]
    lines = (ROOT / ".ci" / "constraints.txt").read_text().splitlines()
    locked: dict[str, list[Requirement]] = {}
    for line in filter(None, lines):
        requirement = Requirement(line)
        locked.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name == "halldetect":
            continue
        assert name in locked, f"{name} is not locked: run .ci/lock"
        for found in locked[name]:
            (version,) = [item.version for item in found.specifier]
            assert version in requirement.specifier, f"{found} is not {requirement}: run .ci/lock"


def test_what_everybody_installs_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in project["dependencies"] + project["optional-dependencies"]["serve"]:
        operators = {item.operator for item in Requirement(line).specifier}
        assert {">=", "<"} <= operators, line


def hashed(name: str) -> dict[str, str]:
    """Return the locked versions of a file with digests; each must have one."""
    text = (ROOT / ".ci" / name).read_text().replace("\\\n", " ")
    found = {}
    for line in filter(None, text.splitlines()):
        pinned, _, digests = line.partition(" --hash=")
        assert re.fullmatch(r"sha256:[0-9a-f]{64}\s*(--hash=sha256:[0-9a-f]{64}\s*)*", digests)
        found[pinned.strip()] = digests
    return found


def test_every_locked_version_has_digests() -> None:
    lines = (ROOT / ".ci" / "constraints.txt").read_text().splitlines()
    assert set(hashed("hashes.txt")) == set(filter(None, lines))


def test_the_action_installs_locked_versions_only() -> None:
    pinned = {line.partition(" ;")[0] for line in hashed("hashes.txt")}
    ours = {line.partition(" ;")[0] for line in hashed("action.txt")}
    assert ours <= pinned
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {Requirement(line).name for line in project["dependencies"]} | {"hatchling"}
    assert asked <= {Requirement(line).name for line in ours}
    action = (ROOT / "action.yml").read_text()
    installs = re.findall(r"pip install (.*)", action)
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "--no-deps --no-build-isolation" in installs[1]


# The oldest versions without a known hole that we could meet, by hand; the comments in
# pyproject.toml name the holes.
SAFE = {
    "fastapi": "0.132", "h11": "0.16", "starlette": "0.49.1", "jinja2": "3.1.6", "torch": "2.6",
    "transformers": "4.53", "pypdf": "7", "filelock": "3.20.3", "weasyprint": "68",
}  # fmt: skip


def test_lower_bounds_are_safe() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    seen = set()
    for line in [*project["dependencies"], *(line for extra in extras for line in extra)]:
        requirement = Requirement(line)
        if requirement.name in SAFE:
            seen.add(requirement.name)
            (least,) = [i.version for i in requirement.specifier if i.operator == ">="]
            assert Version(least) >= Version(SAFE[requirement.name]), line
    assert seen == set(SAFE)
