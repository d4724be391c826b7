"""The options of every command that runs a check, and the detector they stand for."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from halldetect.cli.screen import Screen
from halldetect.config import MAX_RESPONSE, MAX_SOURCE
from halldetect.errors import ConfigurationError, InputError
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


def add_output_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to show")
    add = group.add_argument
    add("--json", action="store_true", help="the report as JSON on standard output")
    add("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")
    add("--html", type=Path, metavar="FILE", help="write the report as one HTML file")
    add("--quiet", action="store_true", help="no notices and no progress on standard error")


def detector_for(arguments: argparse.Namespace, screen: Screen) -> Detector:
    from halldetect.detector import Detector

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
            notice=screen.notice,
            progress=screen.progress,
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
        notice=screen.notice,
        progress=screen.progress,
    )


def check_writable(path: Path | None) -> None:
    """Find out before the long work that its result could not be written."""
    if path is None:
        return
    try:
        if path.is_dir():
            why = "it is a directory"
        elif not path.parent.is_dir():
            why = f"there is no folder {str(path.parent)!r}"
        elif not os.access(path if path.exists() else path.parent, os.W_OK):
            why = "permission denied"
        else:
            return
    except OSError as error:  # a name that no file can have
        why = str(error.strerror)
    raise InputError(f"cannot write {str(path)!r}: {why}")


def write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _scales(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of whole numbers such as 1,2,4"
        ) from None
