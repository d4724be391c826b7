"""The numbers of the README: a block between two marks, rewritten from the results."""

from __future__ import annotations

from halldetect.errors import InputError
from halldetect_bench.report.blocks import Table, markdown
from halldetect_bench.report.summary import newer_weights, number
from halldetect_bench.stats.resampling import Figure
from halldetect_bench.stats.tables import Tables

BEGIN = "<!-- results: `halldetect bench report` writes this block -->"
END = "<!-- end of results -->"
DATASET = "qags-cnndm"
# Published methods on our weights, with their names in the table.
OTHERS = {"minicheck": "MiniCheck-style", "summac-zs": "SummaC-style"}
SHOWN = ("precision", "recall", "F1", "balanced accuracy", "AUROC")


def with_block(text: str, tables: Tables) -> str:
    """Return a text, which must have both marks, with its block rewritten."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"no place for the numbers: the marks {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{block(tables)} {END}{after}"


def block(tables: Tables) -> str:
    """Return the table of our verifiers and other methods, and the gain by decomposition."""
    evidence, scope = tables.evidence, tables.evidence.on_all_rows
    rows = []
    ours = (evidence.reference, evidence.find("halldetect", verifier_name="large"))
    methods = {one: "HallDetect" for one in ours if one in scope.methods}
    methods |= {
        one: name
        for kind, name in OTHERS.items()
        if (one := evidence.find(kind, verifier_name="base")) in scope.methods
    }
    lines = [
        (f"QAGS-CNN/DM, {len(scope.rows[DATASET].ids)} rows", DATASET),
        (f"mean of {len(scope.shared)} datasets, {scope.count:,} rows", None),
    ]
    for title, dataset in lines:
        for method, name in methods.items():
            found: list[Figure] = [
                scope.mean(method, item) if dataset is None else scope.cell(dataset, method, item)
                for item in SHOWN
            ]
            verifier = evidence.headers[method].method["verifier"]["name"]
            rows.append([title, f"{name}, `{verifier}`", *(number(one.value) for one in found)])
    table = markdown([Table(["", "method", *SHOWN], rows, 2)]).strip()
    worth = next((one.text for one in tables.answers if "decomposition" in one.question), "")
    # The first sentence is about the default.
    text = f"{worth.partition('. ')[0].rstrip('.')}."
    return f"{table}\n\n{' '.join(filter(None, [text, newer_weights(evidence.settings)]))}"
