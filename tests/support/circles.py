"""Circles of imports between the modules of a checkout.

A circle is a group of modules that import each other at the top of the file or for type checking.
Imports inside functions do not count.
"""

from __future__ import annotations

import ast
from pathlib import Path


def imports(root: Path) -> dict[str, set[str]]:
    """Return the modules that each module of src imports outside its functions."""
    paths = {}
    for path in sorted((root / "src").rglob("*.py")):
        parts = path.relative_to(root / "src").with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        pending: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
        found: set[str] = set()
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= inside & paths.keys()
                found |= {node.module} if len(inside & paths.keys()) < len(inside) else set()
            elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                pending += ast.iter_child_nodes(node)
        graph[name] = found & (paths.keys() - {name})
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
