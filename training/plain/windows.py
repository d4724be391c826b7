"""Claims with their windows in a small file: every text is stored once, as tokens.

    python -m training.plain.windows WORK FILE.jsonl.xz OUT.npz [--processes N]

FILE holds groups: `documents` (or a `premise`) with `pairs` of `training.plain.corpus`, or with
`claims` as `training.base.bags choose` writes them. The windows are those that the detector judges.
Twins, the right and the wrong sentence of a pair, follow each other.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from training.base.bags import CODES, LIMIT, Bags, Group, _Windows, in_parts
from training.base.encoder import TOKENIZER
from training.files import read
from training.large.pack import parts_of
from training.plain.pairs import KINDS

CHUNK = 200
NO_KIND = 255
NAMES = (*KINDS, "written")


@dataclass
class Corpus:
    """Claims with windows, some of them twins.

    `kinds` has the place of each claim's kind in `NAMES` (`NO_KIND` without a twin), `certain`
    whether its label needs no teacher. The wrong twin follows the right one.
    """

    bags: Bags
    kinds: np.ndarray
    certain: np.ndarray
    groups: np.ndarray  # per claim, the number of its source

    @staticmethod
    def joined(parts: Iterable[Corpus]) -> Corpus:
        """Return several files as one."""
        parts = list(parts)
        bags = [part.bags for part in parts]

        def one(name: str) -> np.ndarray:
            return np.concatenate([getattr(item, name) for item in bags])

        shifts = np.cumsum([0, *(part.groups.max(initial=-1) + 1 for part in parts)])
        return Corpus(
            Bags(
                one("ids"), _starts(np.concatenate([item.lengths for item in bags])),
                _starts(np.concatenate([np.diff(item.first) for item in bags])),
                one("scales"), one("whole"), one("labels"), np.asarray(""),
            ),
            np.concatenate([part.kinds for part in parts]),
            np.concatenate([part.certain for part in parts]),
            np.concatenate([part.groups + shift
                            for part, shift in zip(parts, shifts, strict=False)]),
        )  # fmt: skip


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


class Stored:
    """A file of `encode`: texts as tokens, and the windows of each claim."""

    def __init__(self, path: Path) -> None:
        """Read the file; nothing is put together yet."""
        with np.load(path) as found:
            self._data = {name: found[name] for name in found.files}
        self.kinds, self.certain = self._data["kinds"], self._data["certain"]
        self.groups = self._data["groups"]
        self._first = _starts(self._data["sizes"])

    def corpus(self, claims: np.ndarray | None = None) -> Corpus:
        """Return some claims, or all, with every pair of window and claim put together."""
        data = self._data
        claims = np.arange(len(self.kinds)) if claims is None else claims
        begin, *between, end = data["frame"].tolist()
        first, middle, last = (np.array(part, np.uint16) for part in ([begin], between, [end]))
        ids, offsets = data["ids"], data["offsets"]
        pieces: list[np.ndarray] = []
        lengths: list[int] = []
        for claim in claims.tolist():
            said = data["claims"][claim]
            tail = ids[offsets[said] : offsets[said + 1]][:200]
            room = LIMIT - len(tail) - len(middle) - 2
            for window in data["windows"][self._first[claim] : self._first[claim + 1]].tolist():
                text = ids[offsets[window] : min(offsets[window] + room, offsets[window + 1])]
                pieces += (first, text, middle, tail, last)
                lengths.append(len(text) + len(middle) + len(tail) + 2)
        sizes = data["sizes"][claims]
        rows = _places(self._first, claims)
        bags = Bags(
            np.concatenate(pieces), _starts(np.array(lengths)), _starts(sizes),
            data["scales"][rows], data["whole"][rows], data["labels"][claims], np.asarray(""),
        )  # fmt: skip
        return Corpus(bags, self.kinds[claims], self.certain[claims], self.groups[claims])


def _places(first: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the places of all members of the chosen runs."""
    sizes = np.diff(first)[chosen]
    ends = np.cumsum(sizes)
    places: np.ndarray = np.repeat(first[chosen] - ends + sizes, sizes) + np.arange(ends[-1])
    return places


def claims_of(group: Group) -> list[tuple[str, int, int, bool]]:
    """Return text, label, kind and certainty of the claims of a group."""
    if "claims" in group:
        claims = map(parts_of, group["claims"])
        return [(text, CODES[label or None], NO_KIND, True) for text, label, _ in claims]
    found = []
    for pair in group["pairs"]:
        kind, sure = NAMES.index(pair["kind"]), bool(pair["certain"])
        found.append((pair["right"], CODES["E"], kind, sure))
        found.append((pair["wrong"], CODES["notE"], kind, sure))
    return found


def encode_groups(folder: Path, part: list[Group]) -> dict[str, np.ndarray]:
    """Return the texts of some groups as tokens, and which of them belong together."""
    from tokenizers import Tokenizer

    from halldetect.reading.sources import read_source
    from halldetect.verification.judging import verify
    from halldetect.verification.windows import Task

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    @lru_cache(maxsize=8192)
    def plain(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    verifier: Any = _Windows(plain)
    pieces: list[np.ndarray] = []
    rows: dict[str, list[Any]] = {name: [] for name in (
        "claims", "sizes", "windows", "scales", "whole", "labels", "kinds", "certain", "groups",
    )}  # fmt: skip
    for number, group in enumerate(part):
        places: dict[str, int] = {}

        def place(text: str, places: dict[str, int] = places) -> int:
            if text not in places:
                places[text] = len(pieces)
                pieces.append(np.asarray(plain(text)[:LIMIT], np.uint16))
            return places[text]

        documents = tuple(map(read_source, group.get("documents") or [group["premise"]]))
        claims = claims_of(group)
        (judged,) = verify(verifier, [Task(tuple(text for text, *_ in claims), documents)])
        whole = 0.98 * len(documents[0].text.strip()) if len(documents) == 1 else 1e9
        for (text, label, kind, sure), found in zip(claims, judged, strict=True):
            rows["claims"].append(place(text))
            rows["sizes"].append(len(found.windows))
            for window in found.windows:
                rows["windows"].append(place(window.text))
                rows["scales"].append(1 if window.page else 2)
                rows["whole"].append(len(window.span) >= whole)
            for name, value in zip(("labels", "kinds", "certain", "groups"),
                                   (label, kind, sure, number), strict=True):  # fmt: skip
                rows[name].append(value)
    types = {"scales": np.uint8, "whole": bool, "kinds": np.uint8, "certain": bool,
             "labels": np.int64}  # fmt: skip
    made = {name: np.asarray(value, types.get(name, np.int32)) for name, value in rows.items()}
    made["ids"] = np.concatenate(pieces)
    made["lengths"] = np.fromiter(map(len, pieces), np.int64, len(pieces))
    made["frame"] = np.asarray(tokenizer.encode("", "").ids, np.uint16)
    return made


def encode(work: Path, groups: Iterable[Group], out: Path, processes: int) -> dict[str, int]:
    """Write the groups and return the number of claims, pairs and stored tokens."""
    with ProcessPoolExecutor(processes) as pool:
        parts = in_parts(groups, CHUNK)
        jobs = [pool.submit(encode_groups, work / TOKENIZER, part) for part in parts]
        found = [job.result() for job in jobs]
    texts = np.cumsum([0, *(len(one["lengths"]) for one in found)])
    sources = np.cumsum([0, *(one["groups"].max(initial=-1) + 1 for one in found)])
    for one, text, source in zip(found, texts[:-1], sources[:-1], strict=True):
        one["claims"] += np.int32(text)
        one["windows"] += np.int32(text)
        one["groups"] += np.int32(source)
    joined = {name: np.concatenate([one[name] for one in found]) for name in found[0]}
    joined["frame"] = found[0]["frame"]
    joined["offsets"] = _starts(joined.pop("lengths"))
    partial = out.with_name(f"partial.{out.name}")
    np.savez(partial, **joined)  # type: ignore[arg-type]
    partial.rename(out)
    return {"claims": len(joined["labels"]), "pairs": len(joined["windows"]),
            "stored": len(joined["ids"])}  # fmt: skip


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("groups", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--processes", type=int, default=12)
    options = parser.parse_args()
    about = encode(options.work, read(options.groups), options.out, options.processes)
    print(json.dumps(about | {"bytes": options.out.stat().st_size}), flush=True)


if __name__ == "__main__":
    main()
