"""Pack results for the repository: small, and without any text of the datasets.

    python -m benchmarks.pack DIR OUT

`halldetect_bench.packed` has the format; `halldetect bench report` reads it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from halldetect_bench.packed import pack
from halldetect_bench.predictions import latency_folders, read_all


def pack_folder(folder: Path, out: Path) -> Iterator[Path]:
    """Pack every file of a folder of results, and of its latency folders.

    folder: where `bench run` wrote. out: where to write.
    Yields the files that were written.
    """
    yield from pack(read_all(folder), out)
    for inner in latency_folders(folder):
        yield from pack(read_all(inner), out / inner.name, timed=True)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, metavar="DIR", help="a folder of results")
    parser.add_argument("out", type=Path, metavar="OUT", help="where to write them")
    options = parser.parse_args()
    for path in pack_folder(options.results, options.out):
        print(path)


if __name__ == "__main__":
    main()
