"""Measurements that need a process of their own; `benchmarks.speed` starts them.

python -m benchmarks.speed_alone start VERIFIER
python -m benchmarks.speed_alone check VERIFIER SOURCE RESPONSE
python -m benchmarks.speed_alone roofline VERIFIER
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any


def peak_mib() -> int:
    """Of this program alone: getrusage would count what the parent held when it started us."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def start(verifier: str) -> dict[str, Any]:
    """What a check pays before it can begin, and what it pays the first time."""
    marks = [("begin", time.perf_counter())]

    def mark(name: str) -> None:
        marks.append((name, time.perf_counter()))

    import halldetect

    mark("import halldetect")
    import onnxruntime  # noqa: F401

    mark("import onnxruntime")
    from halldetect.verification.verifiers import load_verifier

    loaded = load_verifier(verifier)
    mark("load the verifier")
    detector = halldetect.Detector("sentences", loaded)
    detector.check("It rained.", "It rained.")
    mark("first check")
    memory = peak_mib()
    spent = {name: round(after - before, 3) for (_, before), (name, after) in pairwise(marks)}
    return {"seconds": spent, "peak_mib": memory}


def check(verifier: str, source: str, response: str) -> dict[str, Any]:
    """Time one check, and measure its memory."""
    from halldetect import Detector
    from halldetect.verification.verifiers import load_verifier

    detector = Detector("sentences", load_verifier(verifier), max_source=10_000_000)
    detector.check("It rained.", "It rained.")
    before = peak_mib()
    text, said = (Path(file).read_text(encoding="utf-8") for file in (source, response))
    began, spent = time.perf_counter(), time.process_time()
    report = detector.check(text, said)
    return {
        "words": len(text.split()),
        "claims": len(report.claims),
        "states": sorted(str(claim.status) for claim in report.claims),
        "pairs_judged": report.cost.pairs_judged,
        "pairs_skipped": report.cost.pairs_skipped,
        "verifier_tokens": report.cost.verifier_tokens,
        "seconds": round(time.perf_counter() - began, 3),
        "processor_seconds": round(time.process_time() - spent, 3),
        "phases": {name: round(value, 3) for name, value in report.cost.seconds.items()},
        "peak_mib_loaded": before,
        "peak_mib": peak_mib(),
        "notes": list(report.provenance.notes),
    }


def roofline(verifier: str) -> dict[str, Any]:
    """The speed of large int8 products, and the share of it that the model reaches.

    One thread, processor time, so that other work on the machine counts little.
    """
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    from halldetect.verification.verifiers import load_verifier
    from halldetect.verification.verifiers.onnx import OnnxVerifier

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    rng = np.random.default_rng(0)

    def product(size: int, signed: bool) -> float:
        kind = np.int8 if signed else np.uint8
        weights = numpy_helper.from_array(rng.integers(0, 63, (size, size)).astype(kind), "b")
        node = helper.make_node("MatMulInteger", ["a", "b"], ["c"])
        graph = helper.make_graph(
            [node],
            "product",
            [helper.make_tensor_value_info("a", TensorProto.UINT8, [None, size])],
            [helper.make_tensor_value_info("c", TensorProto.INT32, [None, size])],
            [weights],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.checker.check_model(model)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        feed = {"a": rng.integers(0, 255, (size, size)).astype(np.uint8)}
        return 2 * size**3 / best(lambda: session.run(None, feed)) / 1e9

    def best(run: Any, times: int = 4) -> float:
        spent = []
        for _ in range(times):
            began = time.process_time()
            run()
            spent.append(time.process_time() - began)
        return min(spent)

    found: dict[str, Any] = {
        "gops": {
            f"uint8 x {'int8' if signed else 'uint8'}, {size}": round(product(size, signed), 1)
            for signed in (True, False)
            for size in (768, 3072)
        }
    }
    loaded = load_verifier(verifier)
    assert isinstance(loaded, OnnxVerifier)
    config = json.loads((loaded._file.parent / "config.json").read_text())
    hidden, layers = config.get("hidden_size", 768), config.get("num_hidden_layers", 12)
    inner = config.get("intermediate_size", 4 * hidden)
    top = max(found["gops"].values())
    found["model"] = {}
    for length in (64, 128, 256, 508):
        words = " ".join(["word"] * (length - 8))
        pair = loaded._encoder.encode([(words, "It is so.")])[0]
        spent = best(partial(loaded._run, loaded._one_thread_session, pair))
        token = 2 * layers * (4 * hidden**2 + 2 * hidden * inner)
        work = token * len(pair) + 4 * layers * hidden * len(pair) ** 2
        found["model"][len(pair)] = {
            "tokens_per_second": round(len(pair) / spent),
            "gops": round(work / spent / 1e9, 1),
            "share_of_peak": round(work / spent / 1e9 / top, 3),
        }
    return found


def main() -> None:
    """Run the command."""
    os.environ.setdefault("HALLDETECT_OFFLINE", "1")
    kinds: dict[str, Callable[..., Any]] = {"start": start, "check": check, "roofline": roofline}
    print(json.dumps(kinds[sys.argv[1]](*sys.argv[2:])))


if __name__ == "__main__":
    main()
