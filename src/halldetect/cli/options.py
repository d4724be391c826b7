"""The options of every command that runs a check, and the detector they stand for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from halldetect.cli.progress import ProgressDisplay
from halldetect.config import MAX_RESPONSE, MAX_SOURCE
from halldetect.errors import ConfigurationError
from halldetect.scoring import SCORINGS
from halldetect.windows.scales import GRANULARITIES

if TYPE_CHECKING:
    from halldetect.detector import Detector


def add_detector_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how to check")
    add = group.add_argument
    add(
        "--extractor",
        default="auto",
        metavar="NAME",
        help="auto (default), sentences, a model name, a .gguf file, or openai:MODEL",
    )
    add(
        "--verifier",
        metavar="NAME",
        help="a model name, a folder or hf:NAME; default: the one in the package",
    )
    add("--scoring", choices=SCORINGS, help="default: calibrated")
    add("--threshold", type=float, metavar="T", help="hallucinated at this score or above: 0.5")
    add(
        "--granularities",
        type=_scales,
        default=GRANULARITIES,
        metavar="M,M,...",
        help="into how many groups the source is cut: 1,2,4,8,16",
    )
    add("--exact", action="store_true", help="judge every pair of claim and window, needed or not")
    add("--no-guard", action="store_true", help="take the claims of the extractor as they are")
    add(
        "--paper",
        action="store_true",
        help="the paper's method: no guard, long windows cut off, FED, threshold 0.5",
    )
    add("--seed", type=int, default=0, metavar="N", help="of the extractor: 0")
    add("--threads", type=int, metavar="N", help="default: as many as there are cores")
    add(
        "--max-source",
        type=int,
        default=MAX_SOURCE,
        metavar="N",
        help=f"refuse a source of more characters: {MAX_SOURCE}",
    )
    add(
        "--max-response",
        type=int,
        default=MAX_RESPONSE,
        metavar="N",
        help=f"refuse a response of more characters: {MAX_RESPONSE}",
    )


def detector_for(
    arguments: argparse.Namespace,
    display: ProgressDisplay,
    phases: tuple[str, ...] = ("fetch", "extract", "verify"),
) -> Detector:
    """The detector that the options stand for.

    Args:
        arguments: the parsed command line.
        display: shows notices and progress.
        phases: which phases of a check to show.
    """
    from halldetect.detector import Detector

    def progress(phase: str, done: int, total: int) -> None:
        if phase in phases:
            display.phase(phase, done, total)

    if arguments.paper:
        for name in ("scoring", "threshold"):
            if getattr(arguments, name) is not None:
                raise ConfigurationError(f"--paper fixes --{name}: leave one of the two out")
        return Detector.paper(
            arguments.extractor,
            arguments.verifier,
            granularities=arguments.granularities,
            seed=arguments.seed,
            threads=arguments.threads,
            max_source=arguments.max_source,
            max_response=arguments.max_response,
            notice=display.notice,
            progress=progress,
        )
    return Detector(
        arguments.extractor,
        arguments.verifier,
        scoring=arguments.scoring or "calibrated",
        threshold=0.5 if arguments.threshold is None else arguments.threshold,
        granularities=arguments.granularities,
        guard=not arguments.no_guard,
        exact=arguments.exact,
        seed=arguments.seed,
        threads=arguments.threads,
        max_source=arguments.max_source,
        max_response=arguments.max_response,
        notice=display.notice,
        progress=progress,
    )


def _scales(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of whole numbers such as 1,2,4"
        ) from None
