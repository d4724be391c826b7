"""The locked versions fit to what the package asks for: after a change, run .ci/lock."""

from __future__ import annotations

import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
