"""Writes benchmarks/results/weights.toml: which files of results are of earlier weights.

python -m tests.support.result_weights
"""

from __future__ import annotations

import json
import re
import tomllib

from halldetect.machine.integrity import digest_of
from halldetect_bench.stats.selection import read_settings
from tests.support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results"
LIST = RESULTS / "weights.toml"
PACKAGE = ROOT / "src" / "halldetect" / "weights"
SHIPPED = {
    "base": digest_of(PACKAGE / "base" / "model.onnx")[:8],
    "large": digest_of(PACKAGE / "large" / "adapter.lora8")[:8],
}
FOLDERS = ("bench", "rag", "selfcheck", "paper")  # packed; settings.toml names the weights
FILES = sorted(
    path.relative_to(RESULTS).as_posix()
    for path in RESULTS.rglob("*.json")
    if path.relative_to(RESULTS).parts[0] not in FOLDERS
)
HEAD = """\
# Which weights the files of this folder were measured with. Files that name the digests of the
# weights that ship (model.onnx of base, adapter.lora8 of large) need no line. Written by
# `python -m tests.support.result_weights`; only [unnamed] and [none] are written by hand.
# Pages that show a file of earlier weights say so (tests/benchmarks/test_weights.py).
"""
TITLES = {
    "known": "The weights that shipped, the last ones now, by the first digits of their digests.",
    "earlier": 'Files of earlier weights. "?": the file does not say; the package had these.',
    "unnamed": "Files of the weights that ship, although they do not say so.",
    "none": "Files that no weights change, with the reason.",
}


def listed() -> dict[str, dict[str, object]]:
    """Return the stored list."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def aliases() -> dict[str, str]:
    """Return the weights in the package by the digest of the weights before their export."""
    found = {}
    for verifier, file in (("base", "model.onnx"), ("large", "adapter.lora8")):
        for name in ("report", "before"):
            one = json.loads((RESULTS / verifier / f"{name}.json").read_text("utf-8"))
            found[one["adapter"]] = one["weights"][file]
    return found


def digests_in(name: str, known: set[str]) -> set[str]:
    """Return the known weights that a file or folder names."""
    if name in FOLDERS:
        every = read_settings(RESULTS / name).weights.values()
        return {digest[:8] for digests in every for digest in digests}
    text = (RESULTS / name).read_text(encoding="utf-8")
    exported = aliases()
    found = re.findall(r"\b[0-9a-f]{64}\b", text)
    return {exported.get(digest, digest)[:8] for digest in found} & known


def rendered() -> str:
    """Return the list as it should be now."""
    stored = listed()
    parts: dict[str, dict[str, object]] = {
        "known": {
            name: [one for one in stored["known"][name] if one != digest] + [digest]  # type: ignore[attr-defined]
            for name, digest in SHIPPED.items()
        },
        "earlier": {},
        "unnamed": {},
        "none": {name: reason for name, reason in stored["none"].items() if name in FILES},
    }
    known = {digest for digests in parts["known"].values() for digest in digests}  # type: ignore[attr-defined]
    shipped = set(SHIPPED.values())
    for name in (*FOLDERS, *FILES):
        found = digests_in(name, known)
        guess = stored["unnamed"].get(name)
        if found:
            if not found <= shipped:
                parts["earlier"][name] = sorted(found)
        elif guess in shipped:
            parts["unnamed"][name] = guess
        elif guess is not None:
            parts["earlier"][name] = [f"? {guess}"]
        elif name in stored["earlier"]:
            parts["earlier"][name] = stored["earlier"][name]
        elif name not in parts["none"]:
            raise SystemExit(f"{name} does not say which weights it was measured with")
    lines = [HEAD]
    for title, entries in parts.items():
        lines.append(f"# {TITLES[title]}\n[{title}]")
        lines += [f'"{name}" = {str(value) if isinstance(value, list) else repr(value)}'.replace(
            "'", '"') for name, value in entries.items()]  # fmt: skip
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    LIST.write_text(rendered(), encoding="utf-8")
