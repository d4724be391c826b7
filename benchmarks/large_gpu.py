"""The large verifier on a GPU: responses per second and share of the GPU's peak.

    python -m benchmarks.large_gpu BASE.gguf src/halldetect/weights/large/adapter.lora8
    python -m benchmarks.large_gpu TINY.gguf TINY.lora8 --device cpu --row 8192 --responses 2

The first measures (give a file of responses after the adapter to use other texts); the second
only tries the code, without a GPU.

A line of the file has `source` and `claims`. Without one, variants of the article in
`large_runtimes` are judged: some 870 tokens with four claims each. Every response is timed from
its text to its probabilities: tokenising and packing count. Also measured: how far the answers of
some pairs lie from those of torch in float32 on the same device, alone and among others.

Writes benchmarks/results/large_gpu.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.large_runtimes import LONG_CLAIMS, LONG_PASSAGE, PASSAGES
from halldetect.large.adapter import read_adapter
from halldetect.large.answer_prompt import Prompt
from halldetect.large.torch_backend import PackedTorch
from halldetect.large.torch_model import TorchModel
from halldetect.large.verifier import LargeVerifier
from halldetect.models.gguf import GgufFile
from halldetect.report import Probabilities

RESULTS = Path(__file__).parent / "results" / "large_gpu.json"
CONTEXT = 8192
Pairs = list[tuple[str, str]]


def responses(file: Path | None, count: int) -> list[Pairs]:
    """So many responses, as pairs of source and claim; a file is repeated as needed."""
    if file is None:
        sentences = LONG_PASSAGE.split(". ")
        found = []
        for number in range(count):
            turn = number % len(sentences)
            source = ". ".join([f"Edition {number}", *sentences[turn:], *sentences[:turn]])
            found.append([(source, claim) for claim in LONG_CLAIMS])
        return found
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    return [
        # A number makes every source another one, so that none is judged twice.
        [(f"{line['source']}\n{number}", claim) for claim in line["claims"]]
        for number in range(count)
        for line in [lines[number % len(lines)]]
    ]


def numbers(answers: list[Probabilities]) -> Any:
    """The three probabilities of each answer."""
    return np.array([(found.entailment, found.neutral, found.contradiction) for found in answers])


def main() -> None:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("adapter", type=Path)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--responses", type=int, default=2000)
    parser.add_argument("--row", type=int, default=4096)
    parser.add_argument("--step-tokens", type=int, default=65536)
    parser.add_argument("--peak", type=float, default=989e12, help="bf16 operations per second")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    model = GgufFile(options.base)
    prompt = Prompt(model)
    adapter = read_adapter(options.adapter)

    def verifier(dtype: torch.dtype) -> tuple[LargeVerifier, TorchModel]:
        loaded = TorchModel(model, adapter, prompt.answers, device=options.device, dtype=dtype)
        backend = PackedTorch(loaded, row=options.row, step_tokens=options.step_tokens)
        return LargeVerifier(backend, prompt, context=CONTEXT), loaded

    def wait() -> None:
        if options.device == "cuda":
            torch.cuda.synchronize()

    few = [(passage, claim) for passage, claims in PASSAGES.items() for claim in claims]
    few += [(LONG_PASSAGE, claim) for claim in LONG_CLAIMS]
    reference, _ = verifier(torch.float32)
    wanted = numbers(reference.judge(few))
    del reference
    began = time.perf_counter()
    # Many CPUs compute bfloat16 a hundred times slower than float32.
    dtype = torch.float32 if options.device == "cpu" else torch.bfloat16
    large, loaded = verifier(dtype)
    wait()
    loading = time.perf_counter() - began
    began = time.perf_counter()
    together = numbers(large.judge(few))
    warming = time.perf_counter() - began
    alone = numbers([large.judge([pair])[0] for pair in few])
    given = [pair for pairs in responses(options.file, options.responses) for pair in pairs]
    large.judge(given[: len(given) // 10])
    began = time.perf_counter()
    large.judge(given)
    seconds = time.perf_counter() - began
    sources = dict.fromkeys(source for source, _ in given)
    tokens = sum(map(len, prompt.passages(list(sources))))
    tokens += sum(map(len, prompt.claims([claim for _, claim in given])))
    result = {
        "device": torch.cuda.get_device_name() if options.device == "cuda" else options.device,
        "torch": torch.__version__,
        "row": options.row,
        "step_tokens": options.step_tokens,
        "responses": options.responses,
        "pairs": len(given),
        "tokens": tokens,
        "loading_seconds": loading,
        "first_call_seconds": warming,
        "seconds": seconds,
        "responses_per_second": options.responses / seconds,
        "tokens_per_second": tokens / seconds,
        "share_of_peak": 2 * loaded.shape.weights * tokens / seconds / options.peak,
        "memory_mb": torch.cuda.max_memory_allocated() / 1e6 if options.device == "cuda" else None,
        "difference_from_float32": float(np.abs(together - wanted).max()),
        "difference_alone": float(np.abs(alone - together).max()),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
