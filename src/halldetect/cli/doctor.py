"""halldetect doctor: the installed parts, a test check, and its speed on this machine.

Modules that are slow to import are imported in the functions that need them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from halldetect.cli.output import print_result
from halldetect.cli.parser import add_command

if TYPE_CHECKING:
    from halldetect.detector import Detector
    from halldetect.protocols import Verifier

DESCRIPTION = """\
Check the built-in example with the defaults, and show the verifiers and their speed (measured for
four seconds), the models on this machine and the extras. Nothing is downloaded.
"""
EPILOG = "exit status: 0 if the default check works, else 1, with the reason on standard error"
NOT_WORKING = 1
PACKAGE = "halldetect"
PROBE_SECONDS = 4.0
DEVELOPMENT_EXTRAS = frozenset({"browser", "fuzz", "release", "test", "train"})


def add(commands: Any) -> None:
    """Add the command `doctor` to the parser."""
    help = "examine this installation"
    parser = add_command(commands, "doctor", run_doctor, help, DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--json", action="store_true", help="the findings as JSON")


def run_doctor(arguments: argparse.Namespace) -> int:
    """Examine this installation; return 0 if the default check works, else 1."""
    found = diagnose()
    text = f"{json.dumps(found, ensure_ascii=False, indent=2)}\n"
    print_result(text if arguments.json else _text(found))
    if found["ok"]:
        return 0
    print(f"halldetect: the default check does not work: {found['problem']}", file=sys.stderr)
    return NOT_WORKING


def _text(found: dict[str, Any]) -> str:
    """Return the findings as text."""
    lines = [f"halldetect {found['version']}, Python {found['python']}"]
    lines.append(f"default check: {'works' if found['ok'] else 'does not work'}")
    lines += ["", "verifiers", *(f"  {name}: {text}" for name, text in found["verifiers"].items())]
    if found["tokens_per_second"]:
        lines.append(f"  speed of base: {found['tokens_per_second']:,.0f} tokens per second")
    lines += ["", f"models (cache: {found['cache']})"]
    lines += [f"  {name}: {state}" for name, state in found["models"].items()]
    extras = found["extras"]
    installed = [name for name, missing in extras.items() if not missing]
    lines += ["", f"extras installed: {', '.join(installed) or 'none'}"]
    if others := [name for name, missing in extras.items() if missing]:
        lines.append(f"others, with pip install '{PACKAGE}[NAME]': {', '.join(others)}")
    return "\n".join(lines) + "\n"


def diagnose() -> dict[str, Any]:
    """Examine this installation without downloading or changing anything.

    Returns:
        `ok` and the `problem` of the default check; `verifiers`: the library and the device each
        would use, or the reason why it is not usable; `models`: the state of each; `extras`: the
        unmet requirements of each; `tokens_per_second` of the default verifier.
    """
    import platform

    from halldetect import models
    from halldetect._version import __version__
    from halldetect.detector import Detector
    from halldetect.verification.presets import DEFAULT, LARGE

    detector = Detector(notice=lambda line: None)
    problem = check_problem(detector)
    return {
        "ok": problem is None,
        "version": __version__,
        "python": f"{platform.python_version()} on {platform.platform(terse=True)}",
        "problem": problem,
        "verifiers": {DEFAULT: _attempt(_plan_base), LARGE: _attempt(_plan_large)},
        "tokens_per_second": None if problem else speed(detector.verifier, PROBE_SECONDS),
        "cache": str(models.home()),
        "models": _models(),
        "extras": extras(),
    }


def check_problem(detector: Detector) -> str | None:
    """Return why a detector cannot check the built-in example properly; None if it can."""
    from halldetect.cli import demo
    from halldetect.errors import described

    try:
        found = demo.deviations(detector.check(demo.SOURCE, demo.RESPONSE, question=demo.QUESTION))
    except Exception as error:  # a damaged library raises anything
        return described(error)
    return f"the built-in example is judged wrongly: {'; '.join(found)}" if found else None


def speed(verifier: Verifier, seconds: float) -> float:
    """Judge pairs of the built-in example for some seconds; return tokens per second."""
    from halldetect.cli import demo

    pairs = [(demo.SOURCE, expected.sentence) for expected in demo.EXPECTED]
    lengths = [sum(verifier.count_tokens(pair)) for pair in pairs]
    verifier.judge(pairs[:1])  # the first run prepares buffers
    judged = tokens = 0
    begin = time.perf_counter()
    while not judged or time.perf_counter() - begin < seconds:
        verifier.judge([pairs[judged % len(pairs)]])
        tokens += lengths[judged % len(pairs)]
        judged += 1
    return round(tokens / (time.perf_counter() - begin), 1)


def extras() -> dict[str, list[str]]:
    """Return the optional parts of the package with their unmet requirements."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        offered = distribution(PACKAGE).metadata.get_all("Provides-Extra") or []
    except PackageNotFoundError:
        return {}
    names = sorted(set(offered) - DEVELOPMENT_EXTRAS)
    return {name: list(dict.fromkeys(_missing(PACKAGE, name))) for name in names}


def _missing(package: str, extra: str) -> Iterator[str]:
    """Yield the unmet requirements of an extra, and of extras that it refers to."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement

    for requirement in map(Requirement, distribution(package).requires or ()):
        marker = requirement.marker
        if (
            marker is None
            or not marker.evaluate({"extra": extra})
            or marker.evaluate({"extra": ""})
        ):
            continue
        try:
            version = distribution(requirement.name).version
        except PackageNotFoundError:
            yield f"{requirement.name}{requirement.specifier}"
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            yield f"{requirement.name}{requirement.specifier} (found {version})"
        for nested in requirement.extras - {extra}:
            yield from _missing(requirement.name, nested)


def _models() -> dict[str, str]:
    """Return the state of the weights in the package, then of the models of the cache."""
    from halldetect import models
    from halldetect.errors import ModelError

    states = {}
    for name in models.shipped_names():
        try:
            models.require_shipped(name)
            states[name] = "in the package, verified"
        except ModelError as error:
            states[name] = str(error)
    try:
        return states | {item.entry.name: str(item.state) for item in models.status()}
    except OSError as error:
        return states | {entry.name: f"unknown: {error.strerror}" for entry in models.entries()}


def _attempt(plan: Callable[[], str]) -> str:
    from halldetect.errors import described

    try:
        return plan()
    except Exception as error:  # PyTorch without its libraries raises OSError, for example
        return f"not usable: {described(error)}"


def _plan_base() -> str:
    from halldetect.verification.verifiers.onnx import physical_cores, runtime

    return f"onnxruntime {runtime().__version__} on cpu, {physical_cores()} threads"


def _plan_large() -> str:
    from importlib.util import find_spec

    from halldetect import models
    from halldetect.errors import MissingExtra, ModelError
    from halldetect.large.load import chosen_runtime
    from halldetect.verification.devices import torch_device
    from halldetect.verification.presets import LARGE, LARGE_BASE

    if find_spec("tokenizers") is None:
        raise MissingExtra(f"the verifier {LARGE}", LARGE)
    state = next(item.state for item in models.status() if item.entry.name == LARGE_BASE)
    if state is not models.State.CACHED:
        size = models.megabytes(models.find(LARGE_BASE).bytes)
        raise ModelError(
            f"its language model is {state}: halldetect models pull {LARGE} downloads {size}"
        )
    device = torch_device("auto")
    runtime = {"onnx": "onnxruntime", "torch": "PyTorch"}
    return f"{runtime.get(chosen_runtime(device), 'another library')} on {device}"
