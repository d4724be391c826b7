"""halldetect doctor and models: the installed parts, a test check, and models by name.

Modules that are slow to import are imported in the functions that need them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect import __version__, models
from halldetect.cli import demo
from halldetect.cli.exits import COULD_NOT_CHECK, fail
from halldetect.cli.options import QUIET
from halldetect.cli.output import print_json, print_result
from halldetect.cli.parser import add_command, switch, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import MissingExtra, ModelError, described
from halldetect.models import integrity
from halldetect.verification import devices
from halldetect.verification.presets import CASCADE, DEFAULT, LARGE, LARGE_BASE, memory_needed

if TYPE_CHECKING:
    from halldetect.detector import Detector

DESCRIPTION = """\
Check the built-in example with the defaults, and show the verifiers, the one that suits this
machine, and the models on it. Nothing is downloaded.
"""
EPILOG = "exit status: 0 if the default check works, else 1, with the reason on standard error"
# Seconds that a news summary of three sentences takes on one core (docs/model-card-large.md), with
# `large` half of that on OpenVINO; `auto` asks `large` about three responses of ten.
_BASE_SECONDS, _LARGE_SECONDS, _ASKED = 1.6, 59.0, 0.3
# Most seconds that people wait for `large`, or for `auto` on average.
_PATIENCE = 5.0


def add(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    help = "examine this installation"
    options = {"": {"--json": switch("the findings as JSON")}}
    add_command(commands, "doctor", run_doctor, help, DESCRIPTION, groups=options, epilog=EPILOG)
    description = "The models that can be used by name, and their state on this machine."
    parser = add_command(commands, "models", None, "list, download and verify models", description)
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add_command(actions, "list", run_list, "every model and its state")
    names = value("NAME", "as `models list` shows it", _model_name)
    options = {"": {"names": {**names, "nargs": "+"}, **QUIET}}
    add_command(actions, "pull", run_pull, "download models into the cache", groups=options)
    default = "models to verify (default: all in the cache, and the weights in the package)"
    options = {"": {"names": {**names, "nargs": "*", "help": default}}}
    help = "read models in full and compare digests"
    add_command(actions, "verify", run_verify, help, groups=options)


def _model_name(text: str) -> str:
    try:
        return text if text in models.shipped_names() else models.find(text).name
    except ModelError as error:
        raise ValueError(str(error)) from None


def run_doctor(arguments: argparse.Namespace) -> int:
    """Examine this installation; return 0 if the default check works, else 1."""
    found = diagnose()
    if arguments.json:
        print_json(found)
    else:
        works, best = "works" if found["ok"] else "does not work", found["recommended"]
        lines = [f"halldetect {found['version']}, Python {found['python']}"]
        lines += [f"default check: {works}"]
        lines += [f"recommended: --verifier {best['verifier']} ({best['reason']})"] if best else []
        for title, key in (
            ("verifiers", "verifiers"),
            (f"models (cache: {found['cache']})", "models"),
        ):
            lines += ["", title, *(f"  {name}: {state}" for name, state in found[key].items())]
        print_result("\n".join(lines) + "\n")
    if found["ok"]:
        return 0
    return fail(f"the default check does not work: {found['problem']}", 1)


def diagnose() -> dict[str, Any]:
    """Examine this installation without downloading or changing anything."""
    import platform

    from halldetect.detector import Detector

    detector = Detector(notice=lambda line: None)
    problem = check_problem(detector)
    return {
        "ok": problem is None,
        "version": __version__,
        "python": f"{platform.python_version()} on {platform.platform(terse=True)}",
        "problem": problem,
        "recommended": None if problem else advice(),
        "verifiers": {DEFAULT: _attempt(_plan_base), LARGE: _attempt(_plan_large)},
        "cache": str(models.home()),
        "models": {name: state for name, state, _, _ in model_rows()},
    }


def check_problem(detector: Detector) -> str | None:
    """Return why a detector cannot check the built-in example properly; None if it can."""
    try:
        found = demo.deviations(detector.check(demo.SOURCE, demo.RESPONSE, question=demo.QUESTION))
    except Exception as error:  # a damaged library raises anything
        return described(error)
    return f"the built-in example is judged wrongly: {'; '.join(found)}" if found else None


def advice() -> dict[str, str]:
    """Return the verifier that suits this machine, and the reason."""
    from halldetect.verification.verifiers.onnx import physical_cores

    if devices.torch_device("auto") == "cuda":
        return {"verifier": LARGE, "reason": "it runs on the GPU of this machine"}
    free, needed = free_memory(), memory_needed(LARGE)
    if free is not None and free < needed:
        sizes = f"{needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} are free"
        return {"verifier": DEFAULT, "reason": f"large needs {sizes}"}
    return recommended(physical_cores(), openvino=find_spec("openvino") is not None)


def recommended(cores: int, *, openvino: bool) -> dict[str, str]:
    """Return the best verifier that answers in time on the processor, and the reason."""
    base, large = _BASE_SECONDS / cores, _LARGE_SECONDS / cores / (2 if openvino else 1)
    auto = base + _ASKED * large
    name = LARGE if large <= _PATIENCE else CASCADE if auto <= _PATIENCE else DEFAULT
    times = f"{base:.1f} s with base, {auto:.1f} with auto on average, {large:.1f} with large"
    return {"verifier": name, "reason": f"on {cores} cores a news summary takes about {times}"}


def free_memory() -> int | None:
    """Return the bytes that programs can still take, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(dict(line.split()[:2] for line in lines)["MemAvailable:"]) << 10
    except (OSError, KeyError, ValueError):
        return None


def _attempt(plan: Callable[[], str]) -> str:
    try:
        return plan()
    except Exception as error:  # PyTorch without its libraries raises OSError, for example
        return f"not usable: {described(error)}"


def _plan_base() -> str:
    from halldetect.verification.verifiers.onnx import physical_cores, runtime

    return f"onnxruntime {runtime().__version__} on cpu, {physical_cores()} threads"


def _plan_large() -> str:
    from halldetect.large.load import chosen_runtime

    if find_spec("tokenizers") is None:
        raise MissingExtra(f"the verifier {LARGE}", LARGE)
    models.path(LARGE_BASE)
    device = devices.torch_device("auto")
    return f"{chosen_runtime(device)} on {device}"


def model_rows() -> list[tuple[str, str, str, str]]:
    """Return name, state, size and licence of the weights in the package and of every model."""
    rows = []
    for name in models.shipped_names():
        try:
            models.require_shipped(name)
            state = "in the package, verified"
        except ModelError as error:
            state = str(error)
        size = sum(file.stat().st_size for file in (integrity.WEIGHTS / name).rglob("*"))
        needs = f", needs {models.find(name).name}" if models.is_known(name) else ""
        rows.append((name, state + needs, models.megabytes(size), ""))
    try:
        for status in models.status():
            entry = status.entry
            rows.append((entry.name, status.state, models.megabytes(entry.bytes), entry.licence))
    except OSError as error:
        rows.append(("other models", f"unknown: {error.strerror}", "", ""))
    return rows


def run_list(arguments: argparse.Namespace) -> int:
    """Print the verifiers in the package and every model of the cache with its state."""
    rows = [("NAME", "STATE", "SIZE", "LICENCE"), *model_rows()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    print_result("\n".join([*lines, "", f"cache: {models.home()}"]) + "\n")
    return 0


def run_pull(arguments: argparse.Namespace) -> int:
    """Download models into the cache."""
    for name in arguments.names:
        with ProgressDisplay(quiet=arguments.quiet) as display:
            path = models.pull(name, display.download)
        print_result(f"{path}\n")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Read whole models and compare their digests."""
    shipped = models.shipped_names()
    absent = models.State.ABSENT
    cached = [item.entry.name for item in models.status() if item.state is not absent]
    status = 0
    for name in arguments.names or [*shipped, *cached]:
        try:
            if name in shipped:
                digest = integrity.joint_digest(models.require_shipped(name))
                print_result(f"{name}: sha256 {digest}, in the package\n")
            # `large` is both: an adapter in the package, on a model in the cache.
            if name not in shipped or (arguments.names and models.is_known(name)):
                entry = models.find(name)
                print_result(f"{entry.name}: sha256 {entry.sha256} {models.verify(name)}\n")
        except ModelError as error:
            status = fail(error, COULD_NOT_CHECK)
    return status
