"""The lines of each part of a checkout, and of each function in src."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

SERVE = "src/halldetect_serve"
# Every module on the path of a check; what is not here is asked for by name.
CORE = """detector calls pipeline models conclusion config scoring inputs errors protocols
    machine files reading facts verification large faults report""".split()


def files(root: Path, *folders: str, suffix: str = ".py") -> list[Path]:
    """Return the files in some folders of a checkout; a folder may also be a file."""
    found = []
    for folder in folders:
        path = root / folder
        inside = path.rglob(f"*{suffix}") if path.is_dir() else [path]
        found += [one for one in inside if one.is_file() and "__pycache__" not in one.parts]
    return sorted(found)


def lines(paths: Iterable[Path]) -> int:
    """Return the number of lines of files."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def sizes(root: Path) -> dict[str, int]:
    """Return lines and files of every part that has a ceiling."""
    product = files(root, "src/halldetect")
    core = [f"src/halldetect/{name}{end}" for name in CORE for end in ("", ".py")]
    found = {
        "halldetect": lines(product),
        "core": lines(files(root, *core)),
        "halldetect_serve": lines(files(root, SERVE)),
        "halldetect_serve JavaScript": lines(
            files(root, SERVE, "src/halldetect/render", suffix=".js")
        ),
        "halldetect_bench": lines(files(root, "src/halldetect_bench")),
        "training and benchmarks": lines(files(root, "training", "benchmarks")),
        "tests": lines(files(root, "tests")),
        "files in src": len(files(root, "src", suffix="")),
        "Python files in src": len(files(root, "src")),
        "modules in the package root": len(list((root / "src/halldetect").glob("*.py"))),
    }
    for package in sorted({path.relative_to(root).parts[2] for path in product}):
        if not package.endswith(".py"):
            found[f"halldetect.{package}"] = lines(files(root, f"src/halldetect/{package}"))
    return found


def functions(root: Path) -> dict[str, int]:
    """Return the length of every function in src, by file and name."""
    found = {}
    for path in files(root, "src"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                found[f"{path.relative_to(root)}:{node.lineno} {node.name}"] = length
    return found
