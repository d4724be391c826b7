"""What the code was when a file of results was measured, and if it has changed in substance since.

    python -m benchmarks.code_state COMMAND FILE ...    # note files that COMMAND wrote just now

`results/measured.toml` has for each file or folder of results its digest, the command and commit,
and for each group of modules that it depends on (`groups.toml`) a digest of their code, without
comments and docstrings. The commands of benchmarks/ note what they write.
`unchanged.toml` lists digests between which the reports stayed the same, or whose new rows were
accepted. A file is older than the code if no such path leads from its digests to those of today.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
RESULTS = Path(__file__).parent / "results"
MEASURED = RESULTS / "measured.toml"
UNCHANGED = Path(__file__).parent / "unchanged.toml"
HEAD = """\
# The code that the files of this folder were measured with: digests by group of modules
# (benchmarks/code_state.py). The commands of benchmarks/ write this file. `assumed`: the digests
# of code are not of the measurement but of the day on which the list was made.
"""

_LISTS = tomllib.loads((Path(__file__).parent / "groups.toml").read_text("utf-8"))
# The modules of each group, and the groups by the beginning of the name of a file of results.
GROUPS: dict[str, list[str]] = _LISTS["modules"]
DEPENDS: dict[str, list[str]] = _LISTS["results"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a group's code that leaves its stored figures valid, and why."""

    group: str
    before: str
    after: str
    reason: str


def group_of(module: Path) -> str | None:
    """Return the group of a module of src; None if no group has it."""
    name = module.relative_to(SRC).with_suffix("").as_posix() + "/"
    every = [(path, group) for group, paths in GROUPS.items() for path in paths]
    fitting = [(len(path), group) for path, group in every if name.startswith(f"{path}/")]
    return max(fitting)[1] if fitting else None


def substance(node: ast.AST) -> Iterator[str]:
    """Yield what counts of a syntax tree: no comments, docstrings, places or empty fields."""
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if value is None or value == []:
            continue
        yield f".{name}"
        for at, one in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(one, ast.AST):
                yield repr(one)
            elif not (name == "body" and at == 0 and _is_text(one)):
                yield from substance(one)


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@cache
def digests() -> dict[str, str]:
    """Return the digest of every group's code today."""
    totals = {group: hashlib.sha256() for group in GROUPS if group != "none"}
    for module in sorted(SRC.rglob("*.py")):
        if total := totals.get(group_of(module) or "none"):
            text = " ".join(substance(ast.parse(module.read_text("utf-8"))))
            total.update(f"{module.relative_to(SRC).as_posix()}\n{text}\n".encode())
    return {group: total.hexdigest()[:12] for group, total in totals.items()}


def groups_of(name: str) -> list[str]:
    """Return the groups that a file or folder of results depends on."""
    return DEPENDS[max((one for one in DEPENDS if name.startswith(one)), key=len)]


def measured() -> dict[str, dict[str, Any]]:
    """Return the stored entries by file or folder of results."""
    return tomllib.loads(MEASURED.read_text("utf-8")) if MEASURED.exists() else {}


def content(name: str) -> str:
    """Return the digest of a file of results, or of the predictions in a folder."""
    path = RESULTS / name
    files = sorted(path.rglob("*.xz")) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()[:12]


def record(path: Path, command: str = "") -> None:
    """Note the command, commit and code of results that were written just now.

    Other places than the folder of results are left alone.
    """
    if not path.resolve().is_relative_to(RESULTS):
        return
    name = path.resolve().relative_to(RESULTS).as_posix()
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    module = getattr(spec, "name", "?").removesuffix(".__main__")
    run = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    write(measured() | {name: {
        "command": command or measured().get(name, {}).get("command", f"python -m {module}"),
        "commit": commit.strip(),
        "file": content(name),
        "code": {group: digests()[group] for group in groups_of(name)},
    }})  # fmt: skip


def write(entries: dict[str, dict[str, Any]]) -> None:
    """Write the entries of all results."""
    lines = [HEAD]
    for name, one in sorted(entries.items()):
        code = ", ".join(f'{group} = "{digest}"' for group, digest in one["code"].items())
        fields = {key: json.dumps(value) for key, value in one.items() if key != "code"}
        fields["code"] = f"{{ {code} }}" if code else "{}"
        lines += [f'["{name}"]', *(f"{key} = {text}" for key, text in fields.items()), ""]
    MEASURED.write_text("\n".join(lines), encoding="utf-8")


@cache
def changes() -> tuple[Change, ...]:
    """Return the changes of code that leave stored figures valid."""
    found = tomllib.loads(UNCHANGED.read_text("utf-8")).get("entry", [])
    return tuple(
        Change(one["group"], one["from"], one["to"], one.get("shown") or one["accepted"])
        for one in found
    )


def add_entry(group: str, before: str, after: str, *, shown: str = "", accepted: str = "") -> None:
    """Append a change after which the stored figures of a group still hold.

    Say how that was `shown`, or why changed rows are `accepted`.
    """
    if group not in digests() or bool(shown) == bool(accepted):
        raise ValueError("name a group, and say either how it was shown or why it is accepted")
    reason = {"shown": shown} if shown else {"accepted": accepted}
    fields = {"group": group, "from": before, "to": after, **reason}
    text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in fields.items())
    with UNCHANGED.open("a", encoding="utf-8") as file:
        file.write(f"\n[[entry]]\n{text}\n")
    changes.cache_clear()


def leads(group: str, before: str, after: str, known: Sequence[Change] | None = None) -> bool:
    """Return True if changes lead from one digest of a group to another."""
    reached, pending = {before}, [before]
    while pending:
        here = pending.pop()
        for one in changes() if known is None else known:
            if (one.group, one.before) == (group, here) and one.after not in reached:
                reached.add(one.after)
                pending.append(one.after)
    return after in reached


def older(name: str) -> list[str]:
    """Return the groups whose code has changed since a file of results was measured."""
    code, today = measured()[name]["code"], digests()
    return [
        group for group in groups_of(name)
        if not leads(group, code.get(group, ""), today[group])
    ]  # fmt: skip


def pending() -> set[tuple[str, str, str]]:
    """Return group, digest before and digest today of every change that no entry explains."""
    return {
        (group, one["code"].get(group, ""), digests()[group])
        for name, one in measured().items() for group in older(name)
    }  # fmt: skip


if __name__ == "__main__":
    for argument in sys.argv[2:]:
        record(Path(argument), sys.argv[1])
