"""halldetect doctor and models: the installed parts, a test check, and models by name.

Modules that are slow to import are imported in the functions that need them.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from halldetect.cli.exits import COULD_NOT_CHECK, fail
from halldetect.cli.options import QUIET
from halldetect.cli.output import print_json, print_result
from halldetect.cli.parser import add_command, switch
from halldetect.cli.progress import ProgressDisplay
from halldetect.errors import InputError, MissingExtra, ModelError, described
from halldetect.machine import catalogue, devices, integrity, store
from halldetect.machine.version import __version__
from halldetect.report import demo
from halldetect.verification.presets import (
    CASCADE,
    DEFAULT,
    LARGE,
    LARGE_BASE,
    memory_needed,
    uses_openvino,
)

if TYPE_CHECKING:
    from halldetect.detector import Detector

DESCRIPTION = """\
Check the built-in example with the defaults, and show the verifiers, the one that suits this
machine, and the models on it. Nothing is downloaded.
"""
EPILOG = "exit status: 0 if the default check works, else 1, with the reason on standard error"
# Tokens that `base` reads for a news summary of three sentences, how many times as long `large`
# takes (docs/speed.md), and the share of responses that `auto` asks it about.
BASE_TOKENS, SLOWER, SLOWER_ON_OPENVINO, ASKED = 700, 41, 27, 0.25
# Most seconds that people wait for `large`, or for `auto` on average.
PATIENCE = 5.0


def add(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    help = "examine this installation"
    options = {"": {"--json": switch("the findings as JSON")}}
    add_command(commands, "doctor", run_doctor, help, DESCRIPTION, groups=options, epilog=EPILOG)
    description = "The models that can be used by name, and their state on this machine."
    parser = add_command(commands, "models", None, "list, download and verify models", description)
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add_command(actions, "list", run_list, "every model and its state")
    names = {"nargs": "+", "metavar": "NAME", "help": "as `models list` shows it"}
    options = {"": {"names": names, **QUIET}}
    add_command(actions, "pull", run_pull, "download models into the cache", groups=options)
    default = "models to verify (default: all in the cache, and the weights in the package)"
    options = {"": {"names": {"nargs": "*", "metavar": "NAME", "help": default}}}
    help = "read models in full and compare digests"
    add_command(actions, "verify", run_verify, help, groups=options)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Examine this installation; return 0 if the default check works, else 1."""
    found = diagnose()
    if arguments.json:
        print_json(found)
    else:
        print_result(_text(found))
    if found["ok"]:
        return 0
    return fail(f"the default check does not work: {found['problem']}", 1)


def _text(found: dict[str, Any]) -> str:
    lines = [f"halldetect {found['version']}, Python {found['python']}"]
    lines.append(f"default check: {'works' if found['ok'] else 'does not work'}")
    if found["recommended"]:
        lines.append(
            "recommended: --verifier {verifier} ({reason})".format_map(found["recommended"])
        )
    for title, key in (("verifiers", "verifiers"), (f"models (cache: {found['cache']})", "models")):
        lines += ["", title, *(f"  {name}: {state}" for name, state in found[key].items())]
    return "\n".join(lines) + "\n"


def diagnose() -> dict[str, Any]:
    """Examine this installation without downloading or changing anything."""
    from halldetect.detector import Detector

    detector = Detector(notice=lambda line: None)
    problem = check_problem(detector)
    best = None if problem else dict(zip(("verifier", "reason"), advice(detector), strict=True))
    return {
        "ok": problem is None,
        "version": __version__,
        "python": f"{platform.python_version()} on {platform.platform(terse=True)}",
        "problem": problem,
        "recommended": best,
        "verifiers": {DEFAULT: _attempt(_plan_base), LARGE: _attempt(_plan_large)},
        "cache": str(store.home()),
        "models": _models(),
    }


def check_problem(detector: Detector) -> str | None:
    """Return why a detector cannot check the built-in example properly; None if it can."""
    try:
        found = demo.deviations(detector.check(demo.SOURCE, demo.RESPONSE, question=demo.QUESTION))
    except Exception as error:  # a damaged library raises anything
        return described(error)
    return f"the built-in example is judged wrongly: {'; '.join(found)}" if found else None


def recommended(
    base: float, large: float, *, free: int | None, needed: int, on_gpu: bool
) -> tuple[str, str]:
    """Return a verifier and the reason.

    `base` and `large` are seconds of a news summary on the processor, `free` and `needed` bytes of
    memory.
    """
    if on_gpu:
        return LARGE, "it runs on the GPU of this machine"
    if free is not None and free < needed:
        return DEFAULT, f"large needs {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} are free"
    auto = base + ASKED * large
    times = f"a news summary takes about {base:.1f} s with base, {auto:.1f} with auto on average"
    name = LARGE if large <= PATIENCE else CASCADE if auto <= PATIENCE else DEFAULT
    return name, f"{times}, {large:.1f} with large"


def advice(detector: Detector) -> tuple[str, str]:
    """Measure this machine with the default detector; return a verifier and the reason."""
    started = perf_counter()
    report = detector.check(demo.SOURCE, demo.RESPONSE, question=demo.QUESTION)
    base = (perf_counter() - started) * BASE_TOKENS / max(report.cost.verifier_tokens, 1)
    large = base * (SLOWER_ON_OPENVINO if uses_openvino() else SLOWER)
    free, needed, on_gpu = (
        free_memory(),
        memory_needed(LARGE),
        devices.torch_device("auto") == "cuda",
    )
    return recommended(base, large, free=free, needed=needed, on_gpu=on_gpu)


def free_memory() -> int | None:
    """Return the bytes that programs can still take, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = dict(line.split()[:2] for line in lines)
        return int(sizes["MemAvailable:"]) << 10
    except (OSError, KeyError, ValueError):
        return None


def _models() -> dict[str, str]:
    """Return the state of the weights in the package, then of the models of the cache."""
    states = {}
    for name in integrity.SHIPPED_DIGESTS:
        try:
            integrity.require_shipped(name)
            states[name] = "in the package, verified"
        except ModelError as error:
            states[name] = str(error)
    try:
        return states | {entry.name: store.state(entry) for entry in catalogue.ENTRIES}
    except OSError as error:
        return states | {entry.name: f"unknown: {error.strerror}" for entry in catalogue.ENTRIES}


def _attempt(plan: Callable[[], str]) -> str:
    try:
        return plan()
    except Exception as error:  # PyTorch without its libraries raises OSError, for example
        return f"not usable: {described(error)}"


def _plan_base() -> str:
    from halldetect.verification.verifiers.onnx import runtime

    return f"onnxruntime {runtime().__version__} on cpu, {devices.physical_cores()} threads"


def _plan_large() -> str:
    from halldetect.large.load import chosen_runtime

    if find_spec("tokenizers") is None:
        raise MissingExtra(f"the verifier {LARGE}", LARGE)
    state = store.state(catalogue.find(LARGE_BASE))
    if state != "cached":
        size = store.megabytes(catalogue.find(LARGE_BASE).bytes)
        raise ModelError(
            f"its language model is {state}: halldetect models pull {LARGE} downloads {size}"
        )
    device = devices.torch_device("auto")
    return f"{chosen_runtime(device)} on {device}"


def run_list(arguments: argparse.Namespace) -> int:
    """Print the verifiers in the package and every model of the cache with its state."""
    rows = [("NAME", "STATE", "SIZE", "LICENCE")]
    for name in integrity.SHIPPED_DIGESTS:
        files = (integrity.WEIGHTS / name).rglob("*")
        size = store.megabytes(sum(file.stat().st_size for file in files))
        needs = f", needs {catalogue.find(name).name}" if name in catalogue.BUILT_ON else ""
        rows.append((name, f"in the package{needs}", size, ""))
    for entry in catalogue.ENTRIES:
        # `--extractor gguf` selects this one.
        name = entry.name + (" (gguf)" if entry.name == catalogue.DEFAULT_EXTRACTOR else "")
        rows.append((name, store.state(entry), store.megabytes(entry.bytes), entry.licence))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    print_result("\n".join([*lines, "", f"cache: {store.home()}"]) + "\n")
    return 0


def run_pull(arguments: argparse.Namespace) -> int:
    """Download models into the cache."""
    _require_known(arguments.names)
    for name in arguments.names:
        with ProgressDisplay(quiet=arguments.quiet) as display:
            path = store.pull(name, display.download)
        print_result(f"{path}\n")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Read whole models and compare their digests."""
    shipped = integrity.SHIPPED_DIGESTS
    _require_known([name for name in arguments.names if name not in shipped])
    cached = [entry.name for entry in catalogue.ENTRIES if store.state(entry) != "absent"]
    status = 0
    for name in arguments.names or [*shipped, *cached]:
        try:
            if name in shipped:
                digest = integrity.joint_digest(integrity.require_shipped(name))
                print_result(f"{name}: sha256 {digest}, in the package\n")
            # `large` is both: an adapter in the package, on a model in the cache.
            if name not in shipped or (arguments.names and name in catalogue.BUILT_ON):
                entry, file = catalogue.find(name), store.path(name, trust_record=False)
                print_result(f"{entry.name}: sha256 {entry.sha256} {file}\n")
        except ModelError as error:
            status = fail(error, COULD_NOT_CHECK)
    return status


def _require_known(names: Sequence[str]) -> None:
    """Raise InputError for an unknown name before any work."""
    for name in names:
        try:
            catalogue.find(name)
        except ModelError as error:
            raise InputError(str(error)) from error
