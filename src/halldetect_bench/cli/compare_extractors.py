"""halldetect bench extract"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from halldetect.cli.progress import ProgressDisplay, RowsDisplay
from halldetect.cli.text_io import print_result, write_file
from halldetect.errors import ConfigurationError, InputError
from halldetect.text.sentences import read_document

WORDS = 60
EXTRACT = """\
Hold extractors to sentences that people took apart (FActScore, ROSE, Factcheck-GPT and
PropSegmEnt, under decomposition/ in the data folder; the part nothing is trained on), and measure
how long they take for a response of 60 words.
"""


def add(actions: Any) -> None:
    parser = actions.add_parser(
        "extract", help="compare extractors", description=EXTRACT, allow_abbrev=False
    )
    option = parser.add_argument
    option("--extractor", default="", metavar="NAME,...", help="as for `check`")
    option(
        "--answers",
        type=Path,
        metavar="FILE",
        help="also judge the claims in a JSONL file of text, claims, tokens_in, tokens_out",
    )
    option("--data", type=Path, metavar="DIR", help="where the datasets are; or HALLDETECT_DATA")
    option("-o", "--out", type=Path, metavar="FILE", help="add the figures to this JSON file")
    option("--limit", type=int, metavar="N", help="so many sentences: all")
    option("--responses", type=int, default=10, metavar="N", help="so many to be timed: 10")
    option("--verifier", metavar="NAME", help="as for `check`; none: figures by words only")
    option("--no-guard", action="store_true", help="judge what the extractor proposes")
    option("--seed", type=int, default=0, metavar="N", help="of the sample: 0")
    option("--threads", type=int, metavar="N", help="default: as many as there are cores")
    option("--quiet", action="store_true", help="no notices and no progress on standard error")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from halldetect.claims.extraction import extract_claims
    from halldetect.claims.extractors import load_extractor
    from halldetect.verification.verifiers.load import load_verifier
    from halldetect_bench.datasets.decompositions import load_gold
    from halldetect_bench.extractor_quality import Answers, figures, judge, responses, sample

    data = arguments.data or os.environ.get("HALLDETECT_DATA")
    if not data:
        raise ConfigurationError("name the folder of the datasets: --data, or HALLDETECT_DATA")
    names = list(dict.fromkeys(filter(None, map(str.strip, arguments.extractor.split(",")))))
    if not names and arguments.answers is None:
        raise ConfigurationError("name what to compare: --extractor, or --answers")
    golds = load_gold(Path(data))
    rows = sample(golds, arguments.limit, arguments.seed)
    texts = responses(golds, WORDS, arguments.responses, arguments.seed)
    if not rows:
        raise InputError("there is no held-out sentence in this folder")
    with ProgressDisplay(quiet=arguments.quiet) as screen:
        verifier = None
        if arguments.verifier != "none":
            verifier = load_verifier(arguments.verifier, threads=arguments.threads)
        found: dict[str, Any] = {}
        for name in [*names, *([str(arguments.answers.stem)] if arguments.answers else [])]:
            replayed = Answers(arguments.answers) if name not in names else None
            chosen = [gold for gold in rows if replayed is None or gold.sentence in replayed.known]
            extractor = replayed or load_extractor(
                name, threads=arguments.threads, notice=screen.notice
            )
            shown = RowsDisplay(screen, f"extract, {name}")
            judged = []
            if not chosen:
                raise InputError(f"{str(arguments.answers)!r} answers none of these sentences")
            for number, gold in enumerate(chosen, 1):
                judged.append(judge(gold, extractor, verifier, guard=not arguments.no_guard))
                shown.advance(number, len(chosen))
            screen.clear()
            timed, worked = [], []
            for text in texts if replayed is None else ():
                began, used = time.perf_counter(), time.process_time()
                extract_claims(read_document(text), extractor)
                timed.append(time.perf_counter() - began)
                worked.append(time.process_time() - used)
            found[name] = {"all": figures(judged), "extractor": extractor.description}
            for source in sorted({gold.source for gold in chosen}):
                part = [j for j, gold in zip(judged, chosen, strict=True) if gold.source == source]
                found[name][source] = figures(part)
            if timed:
                found[name]["seconds_for_60_words"] = _spread(timed)
                found[name]["processor_seconds_for_60_words"] = _spread(worked)
            if arguments.no_guard:
                found[f"{name}, no guard"] = found.pop(name)
                name += ", no guard"
            print_result(_line(name, found[name]))
    if arguments.out:
        _add_to(arguments.out, found, verifier.description if verifier else None)
    return 0


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
    """The figures of other extractors in the file stay."""
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
