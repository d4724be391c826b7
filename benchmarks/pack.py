"""Pack results for the repository: small, and without any text of the datasets.

    python -m benchmarks.pack DIR OUT [--data DATA]

`halldetect_bench.packed` has the format; `halldetect bench report` reads it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from halldetect.errors import InputError
from halldetect_bench.methods.method import documents
from halldetect_bench.packed import pack
from halldetect_bench.predictions import Results, latency_folders, read_all, row_digest
from halldetect_bench.registry import load_dataset


def pack_folder(folder: Path, out: Path, data: Path | None = None) -> Iterator[Path]:
    """Pack every file of a folder of results, and of its latency folders.

    folder: where `bench run` wrote. out: where to write.
    data: the folder of the datasets; with it, the files say how long each source is.
    Yields the files that were written.
    """
    results = read_all(folder)
    yield from pack(results, out, words=None if data is None else source_words(results, data))
    for inner in latency_folders(folder):
        yield from pack(read_all(inner), out / inner.name, timed=True)


def source_words(results: Sequence[Results], data: Path) -> dict[tuple[str, str], int]:
    """The number of words of every source, by dataset and id of the row.

    results: name the datasets and the digests of their rows. data: the folder of the datasets.
    """
    found = {}
    for name in sorted({one.header.dataset for one in results}):
        digests = {
            item.id: item.row
            for one in results
            if one.header.dataset == name
            for item in one.predictions
        }
        for row in load_dataset(name, data).rows:
            if row.id in digests:
                if digests[row.id] != row_digest(row):
                    raise InputError(f"{name}: row {row.id} is not the one that was evaluated")
                found[name, row.id] = sum(len(text.split()) for text in documents(row))
    return found


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, metavar="DIR", help="a folder of results")
    parser.add_argument("out", type=Path, metavar="OUT", help="where to write them")
    parser.add_argument("--data", type=Path, help="the datasets, to count words of sources")
    options = parser.parse_args()
    for path in pack_folder(options.results, options.out, options.data):
        print(path)


if __name__ == "__main__":
    main()
