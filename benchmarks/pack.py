"""Pack results for the repository: small, and without any text of the datasets.

    python -m benchmarks.pack DIR OUT [--base HF]

`halldetect_bench.packed` defines the format; `halldetect bench report` reads it. `--base` is the
folder that `training.base.to_hf` made of the packaged weights: its predictions, and
OUT/settings.toml, then name the packaged weights.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from halldetect.models.integrity import WEIGHTS, digest_of, file_digests, joint_digest
from halldetect.verification.verifiers.onnx import OnnxVerifier
from halldetect_bench.packed import pack
from halldetect_bench.predictions import Results, latency_folders, read_all

BASE, LARGE = "base", "large"
SETTINGS = "settings.toml"
# Descriptions of weights, by the digest of the folder in the predictions.
Names = dict[str, dict[str, Any]]


def pack_folder(folder: Path, out: Path, names: Names | None = None) -> Iterator[Path]:
    """Pack every file of a folder of results and of its latency folders; yield the new files."""
    timed = latency_folders(folder)
    if not timed or any(folder.glob("*/*.jsonl*")):  # times may come from another machine
        yield from pack(named(read_all(folder), names or {}), out)
    for inner in timed:
        yield from pack(named(read_all(inner), names or {}), out / inner.name, timed=True)


def named(results: Sequence[Results], names: Names) -> list[Results]:
    """Return the results of a folder with other names for their weights."""

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            changed = names.get(str(value.get("folder_digest")), {})
            return {key: renamed(item) for key, item in (value | changed).items()}
        return [renamed(item) for item in value] if isinstance(value, list) else value

    return [
        replace(one, header=replace(one.header, method=renamed(one.header.method)))
        for one in results
    ]


def write_weights(settings: Path, weights: Path) -> None:
    """Write the digests of the weights into the settings of a report.

    Its lines `base = [...]`, `large = [...]` and the digests under [shipped] are replaced.
    """
    text = settings.read_text(encoding="utf-8")
    for name, file in ((BASE, "model.onnx"), (LARGE, "adapter.lora8")):
        digest = digest_of(weights / name / file)
        text, count = re.subn(
            rf"^{name} = \[.*\]$", f'{name} = ["{digest}"]', text, flags=re.MULTILINE
        )
        if count != 1:
            raise ValueError(f"{settings} has no line for the weights of {name}")
        text = re.sub(rf'^{name} = ".*"$', f'{name} = "{digest}"', text, flags=re.MULTILINE)
    settings.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, metavar="DIR", help="a folder of results")
    parser.add_argument("out", type=Path, metavar="OUT", help="where to write them")
    parser.add_argument("--base", type=Path, help="a folder of `training.base.to_hf`")
    options = parser.parse_args()
    names: Names = {}
    if options.base is not None:
        shipped = OnnxVerifier(WEIGHTS / BASE, name=BASE).description
        names[joint_digest(file_digests(options.base))] = {
            key: value for key, value in shipped.items() if key not in ("kind", "runtime")
        }
        write_weights(options.out / SETTINGS, WEIGHTS)
    for path in pack_folder(options.results, options.out, names):
        print(path)


if __name__ == "__main__":
    main()
