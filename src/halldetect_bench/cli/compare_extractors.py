"""halldetect bench extract"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.output import print_result, write_file
from halldetect.cli.progress import ProgressDisplay, RowsDisplay
from halldetect.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from halldetect.protocols import Extractor, Verifier
    from halldetect_bench.datasets.decompositions import Gold
    from halldetect_bench.extractor_quality import SentenceCounts

RESPONSE_WORDS = 60
EXTRACT = """\
Compare extractors with the facts that people found in the same sentences (FActScore, ROSE,
Factcheck-GPT and PropSegmEnt, under decomposition/ in the data folder; the held-out part), and
measure their time for a response of 60 words.
"""


def add(actions: Any) -> None:
    """Add the action.

    actions: the subparsers of `bench`.
    """
    parser = actions.add_parser(
        "extract", help="compare extractors", description=EXTRACT, allow_abbrev=False
    )
    option = parser.add_argument
    option("--extractor", default="", metavar="NAME,...", help="as for `check`")
    option(
        "--answers",
        type=Path,
        metavar="FILE",
        help="also evaluate the claims in a JSONL file of text, claims, tokens_in, tokens_out",
    )
    option(
        "--data",
        type=Path,
        metavar="DIR",
        help="the folder of the datasets; default: HALLDETECT_DATA",
    )
    option("-o", "--out", type=Path, metavar="FILE", help="add the figures to this JSON file")
    option("--limit", type=int, metavar="N", help="how many sentences; default: all")
    option("--responses", type=int, default=10, metavar="N", help="how many responses to time: 10")
    option("--verifier", metavar="NAME", help="as for `check`; none: only the figures by words")
    option("--no-guard", action="store_true", help="evaluate the claims without the guard")
    option("--seed", type=int, default=0, metavar="N", help="seed of the sample: 0")
    option("--threads", type=int, metavar="N", help="default: as many as there are cores")
    option("--quiet", action="store_true", help="no notices and no progress on standard error")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare extractors and print or write their figures.

    arguments: of `bench extract`.
    """
    from halldetect.claims.extractors import load_extractor
    from halldetect.verification.verifiers import load_verifier
    from halldetect_bench.datasets.decompositions import load_gold
    from halldetect_bench.extractor_quality import RecordedAnswers, responses, sample
    from halldetect_bench.registry import data_root

    names = list(dict.fromkeys(filter(None, map(str.strip, arguments.extractor.split(",")))))
    if not names and arguments.answers is None:
        raise ConfigurationError("name what to compare: --extractor, or --answers")
    golds = load_gold(data_root(arguments.data))
    rows = sample(golds, arguments.limit, arguments.seed)
    texts = responses(golds, RESPONSE_WORDS, arguments.responses, arguments.seed)
    if not rows:
        raise InputError("there is no held-out sentence in this folder")
    results: dict[str, Any] = {}
    with ProgressDisplay(quiet=arguments.quiet) as display:
        verifier = None
        if arguments.verifier != "none":
            verifier = load_verifier(arguments.verifier, threads=arguments.threads)

        def compare(name: str, extractor: Extractor, rows: Sequence[Gold]) -> None:
            shown = RowsDisplay(display, f"extract, {name}")
            counts = _count(rows, extractor, verifier, arguments, shown)
            display.clear()
            found = _figures(rows, counts, extractor)
            if extractor is not recorded:
                found |= _times(texts, extractor)
            key = f"{name}, no guard" if arguments.no_guard else name
            results[key] = found
            print_result(_line(key, found))

        recorded = RecordedAnswers(arguments.answers) if arguments.answers else None
        for name in names:
            compare(
                name,
                load_extractor(name, threads=arguments.threads, notice=display.notice),
                rows,
            )
        if recorded is not None:
            known = [gold for gold in rows if gold.sentence in recorded.known]
            if not known:
                raise InputError(f"{str(arguments.answers)!r} answers none of these sentences")
            compare(arguments.answers.stem, recorded, known)
    if arguments.out:
        _add_to(arguments.out, results, verifier.description if verifier else None)
    return 0


def _count(
    rows: Sequence[Gold],
    extractor: Extractor,
    verifier: Verifier | None,
    arguments: argparse.Namespace,
    shown: RowsDisplay,
) -> list[SentenceCounts]:
    from halldetect_bench.extractor_quality import judge

    counts = []
    for number, gold in enumerate(rows, 1):
        counts.append(judge(gold, extractor, verifier, guard=not arguments.no_guard))
        shown.advance(number, len(rows))
    return counts


def _figures(
    rows: Sequence[Gold], counts: Sequence[SentenceCounts], extractor: Extractor
) -> dict[str, Any]:
    """The figures of all sentences, and those of each set."""
    from halldetect_bench.extractor_quality import figures

    found: dict[str, Any] = {"all": figures(counts), "extractor": extractor.description}
    for source in sorted({gold.source for gold in rows}):
        part = [one for one, gold in zip(counts, rows, strict=True) if gold.source == source]
        found[source] = figures(part)
    return found


def _times(texts: Sequence[str], extractor: Extractor) -> dict[str, Any]:
    from halldetect.claims.extraction import extract_claims
    from halldetect.reading.response import read_response

    elapsed, processor = [], []
    for text in texts:
        started, used = time.perf_counter(), time.process_time()
        extract_claims(read_response(text), extractor)
        elapsed.append(time.perf_counter() - started)
        processor.append(time.process_time() - used)
    if not elapsed:
        return {}
    return {
        "seconds_for_60_words": _spread(elapsed),
        "processor_seconds_for_60_words": _spread(processor),
    }


def _spread(timed: list[float]) -> dict[str, Any]:
    ordered = sorted(timed)
    return {
        "responses": len(timed),
        "median": round(ordered[len(ordered) // 2], 3),
        "least": round(ordered[0], 3),
        "most": round(ordered[-1], 3),
    }


def _line(name: str, found: dict[str, Any]) -> str:
    parts = [
        f"{key} {value[0]:.3f} ({value[1]:.3f} to {value[2]:.3f})"
        for key, value in found["all"].items()
        if isinstance(value, list)
    ]
    if "seconds_for_60_words" in found:
        seconds = found["seconds_for_60_words"]["median"]
        worked = found["processor_seconds_for_60_words"]["median"]
        parts.append(f"60 words {seconds:.2f} s, {worked:.2f} s of the processor")
    return f"{name}, {found['all']['sentences']} sentences\n  " + "\n  ".join(parts) + "\n"


def _add_to(path: Path, found: dict[str, Any], verifier: Any) -> None:
    """Write the figures; those of other extractors in the file are kept."""
    known: dict[str, Any] = {}
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))["extractors"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{str(path)!r} is no file of extractor figures") from error
    write_file(
        path,
        json.dumps({"verifier": verifier, "extractors": {**known, **found}}, indent=1) + "\n",
    )
