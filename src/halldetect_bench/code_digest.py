"""A digest of the code that can change a score; every file of predictions records it.

Comments, docstrings and layout are left out: they change no score.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import halldetect
import halldetect_bench

# What lies between the texts of a row and its score. Loading, rendering and serving are not here.
_DETECTOR = (
    "claims",
    "reading",
    "verification",
    "large",
    "inputs",
    "pipeline",
    "pair_state",
    "scoring",
    "report",
)
_BENCH = ("methods", "models")


@cache
def code_digest() -> str:
    """The digest of the modules behind a score, of this installation."""
    roots = [(Path(halldetect.__file__).parent, name) for name in _DETECTOR]
    roots += [(Path(halldetect_bench.__file__).parent, name) for name in _BENCH]
    return digest_of_modules([_module(*root) for root in roots])


def _module(folder: Path, name: str) -> Path:
    package = folder / name
    return package if package.is_dir() else package.with_suffix(".py")


def digest_of_modules(roots: list[Path]) -> str:
    """A digest of what Python modules do.

    roots: modules, and folders that are searched for modules.
    """
    total = hashlib.sha256()
    for root in roots:
        for file in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            inside = file.relative_to(root.parent).as_posix()
            total.update(f"{inside}\n{_meaning(file)}\n".encode())
    return total.hexdigest()[:16]


def _meaning(file: Path) -> str:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            node.body = [part for part in body if not _is_text(part)]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
