"""The size and shape of one or two checkouts.

    python -m benchmarks.shape BEFORE AFTER --json benchmarks/results/shape.json

Lines are lines of files. Listed words are those of a string that is split, or of a list, tuple or
set of five or more words. `benchmarks.circles` defines circles.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.circles import circles, imports

SERVE = ("src/halldetect_serve", "src/halldetect/serve", "src/halldetect/client")
# The last four are packages that the others replaced.
CORE = """detector pipeline config scoring inputs errors protocols reading facts verification large
    explanation report models pair_state claims text windows""".split()
REGEX = "re.compile re.findall re.finditer re.fullmatch re.match re.search re.split re.sub".split()
LISTED, LONG = 5, 50


def files(root: Path, *folders: str, suffix: str = ".py", but: tuple[str, ...] = ()) -> list[Path]:
    """Return the files in some folders of a checkout; a folder may also be a file."""
    found = []
    for folder in folders:
        path = root / folder
        inside = path.rglob(f"*{suffix}") if path.is_dir() else [path]
        found += [one for one in inside if one.is_file() and "__pycache__" not in one.parts]
    return sorted(one for one in found if not any(one.is_relative_to(root / part) for part in but))


def lines(paths: Iterable[Path]) -> int:
    """Return the number of lines of files."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def sizes(root: Path) -> dict[str, int]:
    """Return lines and files of every part that has a ceiling."""
    product = files(root, "src/halldetect", but=SERVE)
    pages = (*SERVE, "src/halldetect/render")
    core = [f"src/halldetect/{name}{end}" for name in CORE for end in ("", ".py")]
    found = {
        "halldetect": lines(product),
        "core": lines(files(root, *core)),
        "halldetect_serve": lines(files(root, *SERVE)),
        "halldetect_serve JavaScript": lines(files(root, *pages, suffix=".js")),
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
    for path, node in nodes(root):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            found[f"{path.relative_to(root)}:{node.lineno} {node.name}"] = length
    return found


def nodes(root: Path) -> Iterator[tuple[Path, ast.AST]]:
    """Return every syntax node of src with its file."""
    for path in files(root, "src"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            yield path, node


def is_regex(node: ast.AST) -> bool:
    """Return True for a call such as re.compile(...)."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and ast.unparse(called) in REGEX


def listed_words(node: ast.AST) -> int:
    """Return the number of words in a split string or in a literal collection."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        value = node.func.value
        if node.func.attr == "split" and isinstance(value, ast.Constant):
            return len(str(value.value).split())
    texts = [item.value for item in getattr(node, "elts", []) if isinstance(item, ast.Constant)]
    words = [text for text in texts if isinstance(text, str) and text.isalpha() and text.islower()]
    return len(words) if len(words) >= LISTED else 0


def seconds(root: Path, *arguments: str) -> float:
    """Return the shortest of five runs of Python on a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command, times = [sys.executable, *arguments], []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return round(min(times), 3)


def shape(root: Path) -> dict[str, float]:
    """Return everything that the table shows."""
    tree = list(nodes(root))
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    empty = seconds(root, "-c", "pass")
    return {
        **sizes(root),
        f"functions over {LONG} lines": sum(size > LONG for size in functions(root).values()),
        "longest module": max(lines([path]) for path in files(root, "src")),
        "regexes": sum(is_regex(node) for _, node in tree),
        "listed words": sum(listed_words(node) for _, node in tree),
        "extras": len(project["optional-dependencies"]),
        "import circles": len(circles(imports(root))),
        "import halldetect, s": round(seconds(root, "-c", "import halldetect") - empty, 3),
        "halldetect --help, s": seconds(root, "-m", "halldetect", "--help"),
    }


def main() -> None:
    """Print the table of one or two checkouts."""
    parser = argparse.ArgumentParser(description="Print the size and shape of checkouts.")
    parser.add_argument("checkouts", nargs="+", type=Path, help="one or two folders")
    parser.add_argument("--json", type=Path, help="write the numbers")
    options = parser.parse_args()
    found = [shape(root.resolve()) for root in options.checkouts]
    for label in dict.fromkeys(label for one in found for label in one):
        print(f"{label:32}" + "".join(f"{one.get(label, '-'):>10}" for one in found))
    if options.json:
        named = dict(zip(("before", "after"), found, strict=False))
        options.json.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
