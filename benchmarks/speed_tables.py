"""Write docs/speed.md from the results of `benchmarks.speed`, `.planner` and `.gpu_speed`.

    python -m benchmarks.speed_tables [--check]

Everything between the marks in docs/speed.md is rewritten; the text around them stays. With
--check nothing is written, and the exit status says whether the page is up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "speed.md"
Results = dict[str, Any]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join(lines)


def machine(found: Results) -> str:
    """The sentence about the machine."""
    about, verifier = found["machine"], found["verifier"]
    return (
        f"{about['processor']}, {about['cores']} cores, {verifier['runtime']}, verifier "
        f"`{verifier['name']}`; load average {about['load_before']} before and "
        f"{about['load_after']} after the run (above {about['cores']}: other programs ran, "
        "and only CPU seconds and ratios are meaningful)."
    )


def ways(found: Results) -> str:
    """The table of ways to judge."""
    rows = [
        (
            name,
            way["articles"],
            way["pairs"],
            way["tokens"],
            way["seconds_median"],
            way["processor_seconds_mean"],
            f"{way['times_lazy']} x",
        )
        for name, way in sorted(found["ways"].items(), key=lambda item: -item[1]["times_lazy"])
    ]
    head = (
        "way",
        "articles",
        "pairs",
        "tokens",
        "median s",
        "CPU s",
        "time, lazy = 1",
    )
    phases = ", ".join(
        f"{name} {seconds:.3f}" for name, seconds in found["ways"]["lazy"]["phases"].items()
    )
    return f"{table(head, rows)}\n\nPhases of a lazy check, mean seconds: {phases}."


def growth(key: str, label: str) -> Callable[[Results], str]:
    """The writer of the table of times by size."""

    def write(found: Results) -> str:
        rows = [
            (
                size,
                run["claims"],
                run["pairs_judged"],
                run["pairs_skipped"],
                run["verifier_tokens"],
                run["seconds"],
                run["processor_seconds"],
                run["peak_mib"],
            )
            for size, run in found[key].items()
        ]
        head = (
            label,
            "claims",
            "pairs judged",
            "skipped",
            "tokens",
            "s",
            "CPU s",
            "peak MiB",
        )
        return table(head, rows)

    return write


def batch(found: Results) -> str:
    """The table of several responses per call."""
    rows = [
        (run["responses"], run["seconds"], round(run["seconds"] / run["responses"], 3))
        for run in found["batch"]
    ]
    return table(("responses together", "s", "s each"), rows)


def start(found: Results) -> str:
    """The table of the start-up."""
    rows = list(found["start"]["seconds"].items())
    return (
        f"{table(('step', 's'), rows)}\n\nPeak memory after the first check: "
        f"{found['start']['peak_mib']} MiB."
    )


def roofline(found: Results) -> str:
    """The tables of arithmetic speed."""
    products = table(("int8 product, one thread", "GOP/s"), found["roofline"]["gops"].items())
    rows = [
        (length, run["tokens_per_second"], run["gops"], f"{100 * run['share_of_peak']:.0f} %")
        for length, run in found["roofline"]["model"].items()
    ]
    model = table(("tokens per pair", "tokens per second", "GOP/s", "of the largest product"), rows)
    return f"{products}\n\n{model}"


def long_response(found: Results) -> str:
    """What a long response against a long source costs."""
    check, all_windows = found["check"], found["without_giving_up"]
    states = ", ".join(f"{count} {name}" for name, count in check["states"].items())
    machine = found["machine"]
    rows = [
        ("every claim to its last window", all_windows["pairs_judged"],
         all_windows["tokens_without_parts_and_proofs"], ""),
        ("hopeless claims given up, parts and proofs included", check["pairs_judged"],
         check["tokens"], check["processor_seconds"]),
    ]  # fmt: skip
    words = " words against ".join(f"{count:,}" for count in reversed(found["words"]))
    return (
        f"{words}: {check['claims']} claims ({states}), on {machine['cores']} cores of "
        f"{machine['processor']} with a load average of {machine['load_before']} to "
        f"{machine['load_after']}.\n\n"
        f"{table(('rule', 'pairs judged', 'tokens', 'CPU s'), rows)}\n\n"
        f"{check['processor_seconds_per_claim']} CPU seconds per claim. The progress shown was "
        f"never off by more than {check['progress_off_by']:.1%} of the whole."
    )


def planner(found: Results) -> str:
    """The table of what the schedule saves and changes."""
    rows = [
        (
            name,
            run["responses"],
            f"{run['times_fewer_tokens']} x",
            f"{run['verdicts_changed_percent']} %",
            f"{run['auroc_change']:+.4f}",
            f"{run['states_changed_percent']} %",
        )
        for name, run in found["datasets"].items()
    ]
    head = (
        "dataset",
        "responses",
        "fewer tokens",
        "verdicts changed",
        "AUROC",
        "claim states changed",
    )
    return f"Rule: `{json.dumps(found['rule'])}`.\n\n{table(head, rows)}"


def gpu(found: Results) -> str:
    """The table of speeds on a GPU."""
    rows = [
        (
            run["way"],
            run["length"],
            f"{run['tokens_per_second']:,}",
            run["tflops"],
            f"{100 * run['share_of_peak']:.0f} %",
        )
        for run in found["full_batches"]
    ]
    head = ("attention", "tokens per pair", "tokens per second", "TFLOP/s", "of the peak")
    qags = found["qags_cnndm"]
    products = ", ".join(f"{size}: {value}" for size, value in found["bf16_product_tflops"].items())
    return (
        f"{found['device']}, torch {found['torch']}, bf16. Products of square matrices, TFLOP/s by "
        f"size: {products}.\n\n{table(head, rows)}\n\nQAGS-CNN/DM, every claim against every "
        f"window ({qags['way']}): {qags['responses_per_second']} responses per second, "
        f"{qags['tokens_per_second']:,} tokens per second, {100 * qags['share_of_peak']:.0f} % of "
        f"the peak, {qags['padding_percent']} % padding."
    )


PARTS: dict[str, tuple[str, Callable[[Results], str]]] = {
    "machine": ("speed", machine),
    "ways": ("speed", ways),
    "source": ("speed", growth("source_words", "words of source")),
    "claims": ("speed", growth("claims", "sentences of response")),
    "batch": ("speed", batch),
    "start": ("speed", start),
    "roofline": ("speed", roofline),
    "long": ("long_response", long_response),
    "planner": ("planner", planner),
    "gpu": ("gpu", gpu),
}


def filled(page: str) -> str:
    """The page with every table written anew."""
    for name, (file, write) in PARTS.items():
        source = HERE / "results" / f"{file}.json"
        text = write(json.loads(source.read_text())) if source.exists() else "Not measured yet."
        begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise SystemExit(f"{PAGE.name} has no place for {name}")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    new = filled(page)
    if options.check:
        sys.exit(0 if new == page else f"{PAGE.name} is not what the results say")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
