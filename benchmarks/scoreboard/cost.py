"""The rows of cost: time as ratios where possible, since machines differ."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from benchmarks.scoreboard.rows import Row, number, results

RUNTIMES = {"price-openvino.json": "OpenVINO", "price-onnxruntime.json": "onnxruntime"}
OWN = {"ragtruth": "RAGTruth", "two documents": "two documents", "disputes": "tiny documents"}


def cost() -> Iterator[Row]:
    """Yield all rows of cost."""
    yield from ratios()
    yield from answers()
    yield from throughput()
    for name, title in OWN.items():
        added = results("findings.json")["time base"][name]["added"]
        yield number(
            f"cost.findings.{name.replace(' ', '-')}",
            f"processor time that findings add, share, {title}",
            "`base`",
            added,
            "findings.json",
            "base",
            digits=3,
        )


def ratios() -> Iterator[Row]:
    """Yield how many times the processor time of `base` the others take."""
    asked = results("cascade.json")["rules"]["shipped"]["other"]["mean"]["asked"]
    for file, runtime in RUNTIMES.items():
        end = runtime.lower()
        for key, start in (("first", ""), ("second", "second answer, ")):
            ratio = results(file)[f"{start}large over base"]["processor_seconds"]
            what = f"processor time, `base` = 1, {start or 'first answer, '}{runtime}"
            yield number(f"cost.ratio.{key}.{end}.auto", what, "`auto`", 1 + asked * ratio, file,
                         "auto", digits=1)  # fmt: skip
            yield number(f"cost.ratio.{key}.{end}.large", what, "`large`", ratio, file, "large",
                         digits=1)  # fmt: skip


def answers() -> Iterator[Row]:
    """Yield tokens, processor time, start and memory."""
    default, rows = results("speed.json")["ways"]["halldetect"], results("price-openvino.json")
    large = [row["large"] for row in rows["rows"]]
    begun = {"base": ("speed.json", results("speed.json")["start"]),
             "large": ("price-openvino.json", rows["start"]["large"])}  # fmt: skip
    counts = {"base": (default["tokens"], default["processor_seconds_mean"]),
              "large": tuple(fmean(one[key] for one in large)
                             for key in ("tokens", "processor_seconds"))}  # fmt: skip
    for by, (file, start) in begun.items():
        tokens, seconds = counts[by]
        for key, what, value, digits in (
            ("tokens", "tokens an answer", tokens, 0),
            ("cpu", "processor seconds an answer", seconds, 2),
            ("start", "seconds to start", sum(start["seconds"].values()), 1),
            ("memory", "peak memory, MiB", start["peak_mib"], 0),
        ):
            yield number(f"cost.{key}.{by}", what, f"`{by}`", value, file, by, digits=digits)
    small = results("price-onnxruntime.json")["start"]["large"]["peak_mib"]
    yield number("cost.memory.onnxruntime.large", "peak memory with onnxruntime, MiB", "`large`",
                 small, "price-onnxruntime.json", "large", digits=0)  # fmt: skip


def throughput() -> Iterator[Row]:
    """Yield rows a second of batches, and what our own code leaves of the verifier's rate."""
    for by, one in results("batch.json")["gpu"].items():
        yield number(f"cost.gpu.{by}", "rows a second on a GPU (H200)", f"`{by}`",
                     one["rows_a_second"], "batch.json", by, digits=0)  # fmt: skip
        yield number(f"cost.gpu-own.{by}", "share of the rate of the verifier alone", f"`{by}`",
                     one["of_alone"], "batch.json", by)  # fmt: skip
        yield number(f"cost.own.{by}", "own processor milliseconds a row on a GPU", f"`{by}`",
                     1000 / one["rows_a_cpu_second"], "batch.json", by, digits=1)  # fmt: skip
