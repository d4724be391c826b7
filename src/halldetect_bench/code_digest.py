"""A digest of the code that can change a score; every file of predictions records it.

Comments, docstrings and blank lines are left out. The rest is hashed as text, so that every version
of Python gives the same digest.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import halldetect
import halldetect_bench

# Parts of the detector that cannot change a score. New modules count until they are listed here.
_NO_SCORE = frozenset(
    """batch cli config files integrations knowledge machine render repair stream
    __main__""".split()
)
_BENCH = frozenset({"methods", "models"})
# A place in a text: line from 1, column in characters.
Place = tuple[int, int]


@cache
def code_digest() -> str:
    """Return the digest of the installed modules that can change a score."""
    detector, bench = (Path(str(one.__file__)).parent for one in (halldetect, halldetect_bench))
    return digest_of_modules(
        [
            *(path for path in sorted(detector.iterdir()) if path.stem not in _NO_SCORE),
            *(path for path in sorted(bench.iterdir()) if path.stem in _BENCH),
        ]
    )


def digest_of_modules(roots: list[Path]) -> str:
    """Return a digest of the code in Python modules and folders; other files are left out."""
    total = hashlib.sha256()
    for root in roots:
        for file in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            if file.suffix == ".py":
                inside = file.relative_to(root.parent).as_posix()
                total.update(f"{inside}\n{_code(file.read_text(encoding='utf-8'))}\n".encode())
    return total.hexdigest()[:16]


def _code(text: str) -> str:
    """Return a module without comments, docstrings and blank lines."""
    lines = text.splitlines()
    for (first, start), (last, end) in sorted([*_comments(text), *_docstrings(text)], reverse=True):
        kept = lines[first - 1][:start] + lines[last - 1][end:]
        lines[first - 1 : last] = [kept, *[""] * (last - first)]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _comments(text: str) -> Iterator[tuple[Place, Place]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.end


def _docstrings(text: str) -> Iterator[tuple[Place, Place]]:
    lines = text.splitlines()

    def place(line: int, octets: int) -> Place:
        return line, len(lines[line - 1].encode()[:octets].decode())

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value
            if isinstance(value.value, str):
                end = place(value.end_lineno or value.lineno, value.end_col_offset or 0)
                yield place(value.lineno, value.col_offset), end
