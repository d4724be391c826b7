"""Count phrases that plain technical English does without, and docstrings without a verb.

python -m tests.support.language           print rates per 1,000 words, and each phrase's count
python -m tests.support.language FILE ...  list every place in some files
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import ROOT

# Each stands for a habit: the word order of another language, or a program that acts like a person.
PHRASES = {
    "is no X": r"(?<!there )\b(?:is|are|was|were) (?-i:no|none)\b(?! longer| (?:more|later) than)",
    "so many": r"\bso (?:many|much)\b",
    "is told": r"\b(?:is|are|be|was|were) told\b",
    "leans on": r"\blean(?:s|ed|ing)? on\b",
    "anew": r"\banew\b",
    "by itself": r"\b(?:by|of) (?:itself|themselves)\b",
    "goes on": r"\b(?:go|goes|went|going) on\b",
    "given up": r"\b(?:give|gives|given|gave|giving) up\b",
    "that there is": r"\bthat there (?:is|are|was)\b",
    "where there is": r"\b(?:where|if) there (?:is|are) (?:one|none|any|some)\b",
    "to be had": r"\b(?:to|can|cannot|could) be had\b",
    "any more": r"\bany ?more\b",
    "whose share": r"\bwhose share\b",
    "is meant": r"\b(?:is|are|was|were) meant\b",
    "as it stands": r"\bas (?:it|they) stands?\b",
    "stands in": r"\bst(?:ands?|ood) (?:in|at|behind|before|beside|next|around|alone|there)\b",
    "how far": r"\bhow far\b",
    "taken for": r"\b(?:take|takes|taken|took) for\b",
    "what is": r"(?:^|[.:;(] )(?:What|Whether|That which|Who)\b(?![^.]*\?)",
}
NOT_VERBS = frozenset(
    """a all an and any as at both by each either every for from how if in its it no nothing
    of on one only same so some such that the their there these this those to two what when where
    whether which who whose why with without""".split()
)
_CODE = re.compile(r"(?s:```.*?```)|`[^`\n]*`|^\|.*$|https?://\S+", re.MULTILINE)
_COMMENT = re.compile(r"(?:^ *|  )# (.*)$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Return every docstring of a module with what it documents."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield node, text
        pending += getattr(node, "body", [])  # statements only: expressions hold no docstrings


def prose(path: Path) -> str:
    """Return the comments and docstrings of a module, or a page of the docs without code."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return _CODE.sub(" ", text)
    found = [_CODE.sub(" ", doc) for _, doc in docstrings(ast.parse(text))]
    return "\n".join([*found, *_COMMENT.findall(text)])


def count(text: str) -> Counter[str]:
    """Return how often each phrase is in a text."""
    flat = re.sub(r"[ \t]*\n[ \t]*", " ", text)
    found = Counter[str]()
    for name, pattern in PHRASES.items():
        flags = re.MULTILINE if name == "what is" else re.IGNORECASE
        found[name] = len(re.findall(pattern, text if name == "what is" else flat, flags))
    return found


def rate(paths: list[Path]) -> tuple[float, Counter[str]]:
    """Return phrases per 1,000 words of some files, and the count of each."""
    texts = [prose(path) for path in paths]
    total = sum(map(count, texts), Counter[str]())
    words = sum(len(_WORD.findall(text)) for text in texts)
    return 1000 * total.total() / max(1, words), total


def starts(path: Path) -> Iterator[str]:
    """Return the functions of a module whose docstring does not begin with a verb."""
    for node, text in docstrings(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, Function):
            first = _WORD.match(text)
            is_property = any("property" in ast.unparse(item) for item in node.decorator_list)
            if not is_property and (first is None or first[0].lower() in NOT_VERBS):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {text.splitlines()[0]}"


def areas() -> dict[str, list[Path]]:
    """Return the files of each area that has a ceiling."""
    return {
        "src": sorted((ROOT / "src").rglob("*.py")),
        "docs": [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))],
    }


def main() -> None:
    """Print rates, or every place in the files given."""
    if sys.argv[1:]:
        for path in (Path(name).resolve() for name in sys.argv[1:]):
            lines = prose(path).splitlines()
            for line in (line for line in lines if count(line).total()):
                print(f"{path.name}: {line.strip()}")
            if path.suffix == ".py":
                print(*starts(path), sep="\n")
        return
    for area, paths in areas().items():
        found, total = rate(paths)
        print(f"{area}: {found:.2f} per 1,000 words; {dict(total.most_common())}")
    print(f"docstrings without a verb: {sum(len(list(starts(p))) for p in areas()['src'])}")


if __name__ == "__main__":
    main()
