"""The figures of `benchmarks.peers` as Markdown: the page of comparison and the README's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.readers import read_json
from halldetect_bench.report import NONE, interval, number, table
from halldetect_bench.stats.answers import gain
from halldetect_bench.stats.resampling import Figure

# A set, a detector or a figure, as in the file of results.
Entry = Mapping[str, Any]
VERIFIERS = ("base", "large")
DATASETS = {"qags-cnndm": "QAGS", "pubmedqa": "PubMedQA"}
EARLIER = "earlier weights"
OURS = "HallDetect"  # the paper's name of its method


def read_peers(path: Path) -> Entry:
    """Return the content of a file of `benchmarks.peers`."""
    found: Entry = read_json(path)
    if not isinstance(found, dict) or not {"sets", "peers", "paper"} <= found.keys():
        raise InputError(f"{path} is not a file of `python -m benchmarks.peers`")
    return found


def readme_table(found: Entry) -> str:
    """Return the sets that the README shows: ours, and two peers each."""
    rows = []
    for one in found["sets"]:
        if "readme" in one:
            ours = [_now(one, name) for name in VERIFIERS]
            # A peer may have further figures on other rows.
            known = {peer["peer"]: peer for peer in reversed(one["peers"])}
            title = f"{one['title']}, {ours[0]['rows']:,} rows"
            shown = [
                f"{name}: {known[name]['value']:.3f} ({_limits(known[name], 'rows', 'note')})"
                for name in one["readme"]
            ]
            cells = [f"{entry['value']:.3f}{_mark(entry)}" for entry in ours]
            rows.append([title, one["metric"], *cells, *shown])
    titles = ["", "metric", "`base`", "`large`", "a peer (its rows)", "another peer (its rows)"]
    return table(titles, rows)


def page(found: Entry) -> str:
    """Return the tables of all sets, what is lost, and the paper's table."""
    paired = [one for one in found["sets"] if any("less" in peer for peer in one["peers"])]
    rest = [one for one in found["sets"] if one not in paired and one["peers"]]
    digests = "; ".join(f"{name} {digest[:8]}" for name, digest in found["peers"].items())
    parts = [
        "## Where we lose",
        "Detectors with a higher figure than ours, on the same rows or others.",
        "\n".join(_losses(found["sets"])),
        "## On the same rows",
        "Computed by `python -m benchmarks.peers` from outputs that other projects publish (clones "
        f"with these digests: {digests}). Differences are paired, with 95 % intervals over "
        "documents. Bold: beyond chance.",
        *(part for one in paired for part in _paired_set(one)),
        "## Beside published figures",
        "We did not compute the figures of others; their rows and source are in brackets. Our F1 "
        "comes from counts, so it has no interval.",
        table(
            ["set and label rule", "metric", *VERIFIERS, "published by others", "caveat"],
            [_published_set(one) for one in rest],
        ),
        "## The paper's table",
        *_paper(found["paper"]),
    ]
    return "\n\n".join(parts)


def _now(one: Entry, name: str) -> Entry:
    """Return our figure on the weights in the package, or else on earlier ones."""
    found = [entry for entry in one["ours"] if entry["method"] == name]
    return min(found, key=lambda entry: entry["earlier"], default={"value": None, "earlier": False})


def _limits(peer: Entry, *keys: str) -> str:
    return ", ".join(filter(None, (peer.get(key) for key in keys)))


def _mark(entry: Entry) -> str:
    return f", {EARLIER}" if entry["earlier"] else ""


def _some(entry: Entry, rows: int | None) -> str:
    return f", {entry['rows']:,} rows" if rows and entry["rows"] != rows else ""


def _shown(entry: Entry) -> str:
    return interval(Figure(entry["value"], entry.get("low"), entry.get("high")))


def _less(entry: Entry) -> str:
    text = gain(Figure(entry["value"], entry["low"], entry["high"]))
    return f"**{text}**" if entry["low"] > 0 or entry["high"] < 0 else text


def _paired_set(one: Entry) -> Iterator[str]:
    yield f"### {one['title']}"
    yield (
        f"{one['metric'].capitalize() if one['metric'].islower() else one['metric']}, "
        f"{one['rows']:,} rows, {one['rule']}. {one['note']} Outputs: {one['outputs']}."
    )
    ours = (
        f"`{entry['method']}` {_shown(entry)}{_mark(entry)}{_some(entry, one['rows'])}"
        for entry in sorted(one["ours"], key=lambda entry: entry["earlier"])
        if entry["method"] in VERIFIERS
    )
    yield f"Ours: {'; '.join(ours)}."
    rows = []
    for peer in one["peers"]:
        less = peer.get("less", {})
        name = peer["peer"] + ("" if less else f" (published, {peer['source']})")
        cells = [_less(less[verifier]) if verifier in less else NONE for verifier in VERIFIERS]
        rows.append([name, number(peer["value"]), *cells])
    compared = {entry["method"]: entry["earlier"] for entry in reversed(one["ours"])}
    titles = [
        f"`{name}` minus it{f' ({EARLIER})' if compared.get(name) else ''}" for name in VERIFIERS
    ]
    yield table(["detector", one["metric"], *titles], rows)


def _published_set(one: Entry) -> list[str]:
    ours = [_now(one, name) for name in VERIFIERS]
    count = one.get("rows", ours[0].get("rows"))
    cells = [
        _shown(entry) + _mark(entry) + _some(entry, count) if entry["value"] else NONE
        for entry in ours
    ]
    stated = {"source": one.get("outputs")}
    groups = groupby(one["peers"], lambda peer: _limits(stated | peer, "rows", "source", "note"))
    peers = [
        ", ".join(f"{peer['peer']} {peer['value']:.3f}" for peer in group) + f" ({limits})"
        for limits, group in groups
    ]
    title = f"{one['title']}{f', {count:,} rows' if count else ''}: {one['rule']}"
    return [title, one["metric"], *cells, "; ".join(peers) or NONE, one["note"]]


def _losses(sets: Sequence[Entry]) -> Iterator[str]:
    """Yield a line for each set where a peer has a higher figure than ours."""
    for one in sets:
        said = []
        for name in VERIFIERS:
            ours = _now(one, name)
            if ours["value"] is None:
                continue
            higher = dict.fromkeys(
                peer["peer"] + certain
                for peer in one["peers"]
                if (certain := _certainly(one, peer, name)) or peer["value"] > ours["value"]
            )
            if higher:
                value = f"{ours['value']:.3f}{_mark(ours)}{_some(ours, one.get('rows'))}"
                said.append((f"`{name}` ({value})", "; ".join(higher)))
        # Verifiers below the same peers share a sentence.
        by_peers = groupby(said, lambda entry: entry[1])
        lines = [f"Above {' and '.join(name for name, _ in group)}: {peers}."
                 for peers, group in by_peers]  # fmt: skip
        if lines:
            yield f"- **{one['title']}**, {one['metric']}. {' '.join(lines)}"


def _certainly(one: Entry, peer: Entry, name: str) -> str:
    """Return a remark if a peer is better than ours by more than chance, or an empty text."""
    if peer.get("less", {}).get(name, {}).get("high", 0) >= 0:
        return ""
    compared = next(entry for entry in one["ours"] if entry["method"] == name)
    return f" (beyond chance{f' with {EARLIER}' if compared['earlier'] else ''})"


def _paper(lines: Sequence[Entry]) -> Iterator[str]:
    yield (
        "F1 of the hallucinated class at 0.5: as the paper states it, then ours (rows in "
        "brackets), where its method runs on small language models. `peers.json` also has "
        "the baselines, precision and recall."
    )
    rows = []
    for line in lines:
        name = line["method"] if line["of"] == "published" else f"here: {line['method']}"
        if line["of"] == "report":
            name = f"here: halldetect, verifier {line['method']}, weights in the package"
        if line["of"] in ("paper", "halldetect", "report") or OURS in name:
            rows.append([name, *(_f1(line.get(key)) for key in DATASETS)])
    yield table(["method", *DATASETS.values()], rows)


def _f1(cells: Sequence[float | None] | None) -> str:
    if cells is None:
        return NONE
    return f"{number(cells[0])} ({cells[3]})" if len(cells) > 3 else number(cells[0])
