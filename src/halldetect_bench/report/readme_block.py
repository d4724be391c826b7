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
SHOWN = ("precision", "recall", "F1", "balanced accuracy", "AUROC")


def with_block(text: str, tables: Tables) -> str:
    """Return a text with its block rewritten.

    text: of the file; it must have both marks. tables: everything that was computed.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"no place for the numbers: the marks {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n\n{block(tables)} {END}{after}"


def block(tables: Tables) -> str:
    """Return the table of the default and of `large`, and a sentence on what decomposition is
    worth.

    tables: everything that was computed.
    """
    evidence, scope = tables.evidence, tables.evidence.on_all_rows
    rows = []
    ours = (evidence.reference, evidence.find("halldetect", verifier_name="large"))
    methods = [one for one in dict.fromkeys(ours) if one in scope.methods]
    lines = [
        (f"QAGS-CNN/DM, {len(scope.rows[DATASET].ids)} rows", DATASET),
        (f"mean of {len(scope.shared)} datasets, {scope.count:,} rows", None),
    ]
    for title, dataset in lines:
        for method in methods:
            found: list[Figure] = [
                scope.mean(method, name) if dataset is None else scope.cell(dataset, method, name)
                for name in SHOWN
            ]
            verifier = evidence.headers[method].method["verifier"]["name"]
            rows.append([title, f"`{verifier}`", *(number(one.value) for one in found)])
    table = markdown([Table(["", "verifier", *SHOWN], rows, 2)]).strip()
    worth = next((one.text for one in tables.answers if "decomposition" in one.question), "")
    # The first sentence is about the default.
    text = f"{worth.partition('. ')[0].rstrip('.')}."
    return f"{table}\n\n{' '.join(filter(None, [text, newer_weights(evidence.settings)]))}"
