"""Circles of imports between the modules of a checkout.

A circle is a group of modules that import each other: at the top of the file, for type checking, or
inside functions.
"""

from __future__ import annotations

import ast
from pathlib import Path

# What may hold an import.
BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)


def python_modules(root: Path) -> dict[str, Path]:
    """Return the modules of src, training and benchmarks by their names."""
    paths = {}
    for folder in ("src", "training", "benchmarks"):
        for path in sorted((root / folder).rglob("*.py")):
            parts = (
                path.relative_to(root / "src" if folder == "src" else root).with_suffix("").parts
            )
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def imports(root: Path, *, lazy: bool = True) -> dict[str, set[str]]:
    """Return the modules that each module imports; without `lazy`, those outside its functions."""
    paths = python_modules(root)
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        pending: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
        targets: set[str] = set()
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= inside & paths.keys()
                targets |= {node.module} if len(inside & paths.keys()) < len(inside) else set()
            elif lazy or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                pending += (one for one in ast.iter_child_nodes(node) if isinstance(one, BLOCKS))
        graph[name] = targets & (paths.keys() - {name})
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or not."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        pending = [start]
        while pending:
            new = graph[pending.pop()] - seen
            seen |= new
            pending += new
        return seen

    reach = {name: reached(name) for name in graph}
    groups = {
        tuple(sorted(other for other in reach[name] if name in reach[other])) for name in graph
    }
    return sorted(list(group) for group in groups if group)
