"""The rows of the house: counted in the code and the pages as they are now."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from benchmarks.code_state import ROOT
from benchmarks.scoreboard.rows import Row, number, results, share
from tests.support import circles, shape

LONG = 60  # lines of a function


def house() -> Iterator[Row]:
    """Yield all rows of the house."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    code = "".join(path.read_text("utf-8") for path in shape.files(ROOT, "src"))
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    graph = circles.imports(ROOT)
    found = circles.circles(graph)
    counts = {
        "long-functions": (f"functions over {LONG} lines", sum(
            length > LONG for length in shape.functions(ROOT).values())),
        "regexes": ("regular expressions", len(re.findall(r"\bre\.compile\(", code))),
        "extras": ("extras", len(project["project"]["optional-dependencies"])),
        "circles": ("circles of imports, those inside functions counted", len(found)),
        "in-circles": ("modules in circles", sum(map(len, found))),
        "rooms-in-circles": ("rooms of the package in circles",
                             sum(map(len, circles.circles(rooms(graph))))),
        "arrows-back": ("imports against the layers", len(arrows_back(project, graph))),
        "words": ("words of docs and README", sum(
            len(page.read_text("utf-8").split()) for page in pages)),
    }  # fmt: skip
    for key, (what, value) in counts.items():
        yield number(f"house.{key}", what, "value", value, "", digits=0)


def packages() -> Iterator[Row]:
    """Yield lines of the parts, and the share of their mutants that the tests notice."""
    for name, value in shape.sizes(ROOT).items():
        yield number(f"packages.{name.replace(' ', '-')}.lines", name, "lines or files", value, "",
                     digits=0)  # fmt: skip
    for package, found in results("mutation.json")["packages"].items():
        yield share(f"packages.halldetect.{package}.mutants", f"halldetect.{package}",
                    "mutants noticed", found["noticed"], found["mutants"],
                    "mutation.json")  # fmt: skip


def rooms(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the imports between the rooms of the package, its modules and folders."""

    def room(module: str) -> str:
        return ".".join(module.split(".")[:2])

    found: dict[str, set[str]] = {}
    for module, others in graph.items():
        if module.startswith("halldetect."):
            inside = {room(other) for other in others if other.startswith("halldetect.")}
            found.setdefault(room(module), set()).update(inside - {room(module)})
    return found


def arrows_back(project: dict[str, object], graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the imports of a higher layer, by the layers of the import contracts."""
    contracts = project["tool"]["importlinter"]["contracts"]  # type: ignore[index]
    (layers,) = (one["layers"] for one in contracts if one["type"] == "layers")
    floor = {
        name.strip(): at for at, layer in enumerate(reversed(layers)) for name in layer.split("|")
    }

    def height(module: str) -> int | None:
        fitting = [name for name in floor if f"{module}.".startswith(f"{name}.")]
        return floor[max(fitting, key=len)] if fitting else None

    return [
        (module, other) for module, others in graph.items() for other in others
        if (here := height(module)) is not None and (there := height(other)) is not None
        and there > here
    ]  # fmt: skip
