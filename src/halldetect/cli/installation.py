"""What `halldetect doctor` finds out: what is installed, whether a check works, and how fast."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Any

from packaging.requirements import Requirement

from halldetect import demo, models
from halldetect._version import __version__
from halldetect.detector import Detector
from halldetect.errors import MissingExtra, ModelError, described
from halldetect.protocols import Verifier
from halldetect.verification.presets import DEFAULT, LARGE, LARGE_BASE

PACKAGE = "halldetect"
PROBE_SECONDS = 4.0
# What each extra is for; extras for the development of this package are not offered.
PURPOSES = {
    "large": "the verifier large",
    "llm": "language models as extractors, and downloads of models",
    "hf": "transformers verifiers, and large on a GPU",
    "onnx": "ONNX verifiers of your own",
    "openai": "extractors behind an endpoint",
    "documents": "PDF and DOCX files",
    "parquet": "Parquet files in batch",
    "ray": "batch on many machines",
    "serve": "the service",
    "postgres": "the service with PostgreSQL",
    "pdf": "audit reports as PDF",
    "bench": "the evaluation",
    "mcp": "assistants over MCP",
    "deepeval": "DeepEval",
    "guardrails": "Guardrails",
    "haystack": "Haystack",
    "inspect": "Inspect",
    "langchain": "LangChain",
    "litellm": "LiteLLM",
    "llama-index": "LlamaIndex",
    "llm-tool": "the program llm",
    "mlflow": "MLflow",
    "nemo-guardrails": "NeMo Guardrails",
    "opentelemetry": "OpenTelemetry",
    "ragas": "RAGAS",
    "sentence-transformers": "Sentence-Transformers",
    "trulens": "TruLens",
}
DEVELOPMENT_EXTRAS = frozenset({"browser", "fuzz", "release", "test", "train"})
_RUNTIMES = {"onnx": "onnxruntime", "torch": "PyTorch", "llama": "llama.cpp"}


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part of the package.

    Attributes:
        name: as in `pip install 'halldetect[NAME]'`.
        purpose: what it is for.
        missing: the requirements of it that are not met; empty if it is installed.
        install: the command that installs it.
    """

    name: str
    purpose: str
    missing: tuple[str, ...]
    install: str


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model that can be used by name, and its state.

    Attributes:
        name: as users write it.
        state: "verified" or the error for weights in the package; else as `models list` says.
        in_package: whether it came with the package.
        usable: whether it is there and not damaged.
    """

    name: str
    state: str
    in_package: bool
    usable: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What a verifier would compute with on this machine.

    Attributes:
        verifier: its name.
        runtime: the library that computes, None if the verifier cannot be used.
        device: where it computes, None if the verifier cannot be used.
        problem: why it cannot be used, and the way out.
    """

    verifier: str
    runtime: str | None = None
    device: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a verifier judged pairs of about 100 tokens, one after the other.

    Attributes:
        verifier: its name.
        tokens_per_second: of window and claim, without special tokens.
        pairs: the number of pairs that were judged.
        seconds: the time that they took.
    """

    verifier: str
    tokens_per_second: float
    pairs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found.

    Attributes:
        version: of this package.
        python: version of Python, and the platform.
        problem: why the default check does not work; None if it does.
        extras: each optional part; empty if the package was not installed by an installer.
        store: the folder of downloaded models.
        models: those in the package and those of the store's catalogue.
        plans: what `base` and `large` would compute with.
        speed: of `base`; None if it could not be measured.
        advice: what to install or to download for more.
    """

    version: str
    python: str
    problem: str | None
    extras: tuple[Extra, ...]
    store: str
    models: tuple[StoredModel, ...]
    plans: tuple[Plan, ...]
    speed: Speed | None
    advice: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the default check works."""
        return self.problem is None

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON values, and `ok`."""
        return {"ok": self.ok, **asdict(self)}


def diagnose() -> Diagnosis:
    """Examine this installation; nothing is downloaded or changed."""
    detector = Detector(notice=lambda line: None)
    problem = check_problem(detector)
    extras = installed_extras()
    plans = (_plan(DEFAULT, _plan_base), _plan(LARGE, _plan_large))
    return Diagnosis(
        version=__version__,
        python=f"{platform.python_version()} on {platform.platform(terse=True)}",
        problem=problem,
        extras=extras,
        store=str(models.home()),
        models=(*_packaged_models(), *_cached_models()),
        plans=plans,
        speed=None if problem else measure_speed(detector.verifier, PROBE_SECONDS),
        advice=_advice(plans[1], extras),
    )


def check_problem(detector: Detector) -> str | None:
    """Why a detector cannot check the built-in example properly; None if it can.

    Args:
        detector: what is tried.
    """
    try:
        found = demo.deviations(detector.check(demo.SOURCE, demo.RESPONSE, question=demo.QUESTION))
    except Exception as error:  # a damaged library raises anything; the doctor has to name it
        return described(error)
    return f"the built-in example is judged wrongly: {'; '.join(found)}" if found else None


def measure_speed(verifier: Verifier, seconds: float) -> Speed:
    """Judge pairs of the built-in example one after the other, and count their tokens.

    Args:
        verifier: what judges.
        seconds: how long; at least one pair is judged.
    """
    pairs = [(demo.SOURCE, expected.sentence) for expected in demo.EXPECTED]
    lengths = [sum(verifier.count_tokens(pair)) for pair in pairs]
    verifier.judge(pairs[:1])  # the first run prepares buffers
    judged = tokens = 0
    elapsed = 0.0
    begin = time.perf_counter()
    while not judged or elapsed < seconds:
        at = judged % len(pairs)
        verifier.judge([pairs[at]])
        judged, tokens = judged + 1, tokens + lengths[at]
        elapsed = time.perf_counter() - begin
    name = str(verifier.description["name"])
    return Speed(name, round(tokens / elapsed, 1), judged, round(elapsed, 2))


def installed_extras() -> tuple[Extra, ...]:
    """The optional parts of the package and what is missing of each."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError:
        return ()
    offered = package.metadata.get_all("Provides-Extra") or []
    return tuple(
        Extra(
            name,
            PURPOSES.get(name, f"the extra {name}"),
            tuple(dict.fromkeys(_missing_of_extra(package, name, set()))),
            _install(name),
        )
        for name in sorted(set(offered) - DEVELOPMENT_EXTRAS)
    )


def _missing_of_extra(
    package: Distribution, extra: str, visited: set[tuple[str, str]]
) -> list[str]:
    """The requirements of an extra that are not met, those of extras it refers to included."""
    if (package.name, extra) in visited:
        return []
    visited.add((package.name, extra))
    missing = []
    for requirement in map(Requirement, package.requires or ()):
        marker = requirement.marker
        if (
            marker is not None
            and marker.evaluate({"extra": extra})
            and not marker.evaluate({"extra": ""})
        ):
            missing += _missing(requirement, visited)
    return missing


def _missing(requirement: Requirement, visited: set[tuple[str, str]]) -> list[str]:
    wanted = f"{requirement.name}{requirement.specifier}"
    try:
        found = distribution(requirement.name)
    except PackageNotFoundError:
        return [wanted]
    if not requirement.specifier.contains(found.version, prereleases=True):
        return [f"{wanted} (found {found.version})"]
    nested = sorted(requirement.extras)
    return [line for extra in nested for line in _missing_of_extra(found, extra, visited)]


def _packaged_models() -> list[StoredModel]:
    found = []
    for name in models.shipped_names():
        try:
            models.require_shipped(name)
        except ModelError as error:
            found.append(StoredModel(name, str(error), in_package=True, usable=False))
        else:
            found.append(StoredModel(name, "verified", in_package=True, usable=True))
    return found


def _cached_models() -> list[StoredModel]:
    cached = models.State.CACHED
    try:
        return [
            StoredModel(item.entry.name, item.state, in_package=False, usable=item.state is cached)
            for item in models.status()
        ]
    except OSError as error:
        state = f"cannot be read: {error.strerror}"
        return [
            StoredModel(entry.name, state, in_package=False, usable=False)
            for entry in models.entries()
        ]


def _plan(verifier: str, make: Callable[[], Plan]) -> Plan:
    try:
        return make()
    except Exception as error:  # as above: PyTorch without its libraries raises OSError, say
        return Plan(verifier, problem=described(error))


def _plan_base() -> Plan:
    from halldetect.verification.verifiers.onnx import physical_cores, runtime

    version = runtime().__version__
    return Plan(DEFAULT, f"onnxruntime {version}", f"cpu, {physical_cores()} threads")


def _plan_large() -> Plan:
    from halldetect.large.load import chosen_runtime
    from halldetect.large.onnx_backend import refuse_old_runtime
    from halldetect.verification.devices import torch_device

    if find_spec("tokenizers") is None:
        raise MissingExtra(f"the verifier {LARGE}", LARGE)
    state = next(item.state for item in models.status() if item.entry.name == LARGE_BASE)
    if state is not models.State.CACHED:
        raise ModelError(
            f"its language model is {state}: halldetect models pull {LARGE} downloads "
            f"{models.megabytes(models.find(LARGE_BASE).bytes)}"
        )
    device = torch_device("auto")
    runtime = chosen_runtime(device)
    if runtime == "onnx":
        refuse_old_runtime()
    return Plan(LARGE, _RUNTIMES[runtime], device)


def _advice(large: Plan, extras: tuple[Extra, ...]) -> tuple[str, ...]:
    lines = []
    if large.problem is not None:
        lines.append(f"for the verifier {LARGE}, which judges better: {large.problem}")
    elif large.device == "cpu" and shutil.which("nvidia-smi"):
        lines.append(
            f"this machine has an NVIDIA GPU that PyTorch does not find: with {_install('hf')} "
            f"and a PyTorch for CUDA, {LARGE} runs there"
        )
    lines += [f"for {extra.purpose}: {extra.install}" for extra in extras if extra.missing]
    return tuple(lines)


def _install(extra: str) -> str:
    return f"pip install '{PACKAGE}[{extra}]'"
