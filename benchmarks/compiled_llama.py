"""How fast llama.cpp reads a passage when it is compiled for this very processor.

    python -m benchmarks.compiled_llama LLAMA_CPP BASE.gguf --threads 2 \
        --out benchmarks/results/compiled_llama.json

LLAMA_CPP is the source of llama.cpp; the command needs cmake and a C++ compiler, and takes
minutes. It builds llama-bench twice, once with every instruction of this processor and once with
AVX2 at most, as wheels are built, and times 852 tokens of a prompt (the passage of
`benchmarks.large_runtimes`) on the base model without the adapter.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

TOKENS = 852
BUILDS = {
    "native": ["-DGGML_NATIVE=ON"],
    "portable": ["-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON"],
}
_COMMON = [
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF",
    "-DLLAMA_OPENSSL=OFF",
]  # fmt: skip


def build(source: Path, folder: Path, flags: list[str], jobs: int) -> Path:
    """The path of llama-bench, built in a folder with these flags."""
    subprocess.run(["cmake", "-S", source, "-B", folder, *_COMMON, *flags], check=True)
    target = ["--target", "llama-bench", "-j", str(jobs)]
    subprocess.run(["cmake", "--build", folder, *target], check=True)
    return folder / "bin" / "llama-bench"


def measured(program: Path, base: Path, threads: int, repeats: int) -> dict[str, Any]:
    """What llama-bench says of reading `TOKENS` tokens."""
    sizes = ["-p", str(TOKENS), "-n", "0", "-b", "1024", "-ub", "1024"]
    work = ["-t", str(threads), "-r", str(repeats), "-o", "json"]
    command = [str(program), "-m", str(base), *sizes, *work]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)[0]
    return {
        "processor": found["cpu_info"],
        "build": found["build_commit"],
        "tokens_per_second": found["avg_ts"],
        "spread": found["stddev_ts"],
        "runs": found["samples_ts"],
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2, help="compilers at once")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("/tmp/compiled_llama"))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with options.base.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    programs = {
        name: build(options.source, options.work / name, flags, options.jobs)
        for name, flags in BUILDS.items()
    }
    result = {
        "base_sha256": digest,
        "tokens": TOKENS,
        "threads": options.threads,
        "builds": {
            name: {"flags": BUILDS[name]}
            | measured(program, options.base, options.threads, options.repeats)
            for name, program in programs.items()
        },
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["builds"], indent=1))


if __name__ == "__main__":
    main()
