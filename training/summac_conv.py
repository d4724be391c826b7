"""Fit the layer of SummaC-Conv: a weight for each bin of a histogram of P(E).

    python -m training.summac_conv --data DIR [--verifier NAME] [--limit N]

The data are those whose publishers allow training: FactCG, BUMP (task 1), DeFacto (train and
val). The response's score is the mean over its sentences of a linear function of their
histograms, which is that function of the mean histogram: so the fit is a logistic regression,
with classes weighted to balance. Everything is seeded; the same verifier gives the same layer.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.claims import Claim
from halldetect.protocols import Verifier
from halldetect.text.sentences import read_document, sentences
from halldetect.verification.rounds import Task, verify
from halldetect.verification.verifiers import load_verifier
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods import pairwise
from halldetect_bench.methods.method import documents
from halldetect_bench.methods.pairwise import (
    HISTOGRAM_BINS,
    SUMMAC_LAYER,
    histogram,
    single_sentences,
)
from halldetect_bench.registry import load_dataset
from halldetect_bench.runner import sample

DATA = ("factcg", "bump-task1", "defacto-train", "defacto-val")
SEED = 0
STRENGTH = 0.1


def fit(rows: list[Row], verifier: Verifier) -> dict[str, Any]:
    """The layer, with what it was fitted on."""
    from sklearn.linear_model import LogisticRegression

    tasks = []
    for row in rows:
        source = tuple(map(read_document, documents(row)))
        units = tuple(Claim(span.cut(row.response), span) for span in sentences(row.response))
        tasks.append(Task(units, single_sentences(source), source))
    spreads, faithful = [], []
    for row, judged in zip(rows, verify(verifier, tasks), strict=True):
        if judged and all(item.probabilities for item in judged):
            found = [histogram([p.entailment for p in item.probabilities]) for item in judged]
            spreads.append(np.mean(found, axis=0))
            faithful.append(not row.hallucinated)
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=5000)
    model.fit(np.array(spreads), np.array(faithful))
    described = verifier.description
    return {
        "weights": [round(float(value), 5) for value in model.coef_[0]],
        "offset": round(float(model.intercept_[0]), 5),
        "bins": HISTOGRAM_BINS,
        "rows": len(faithful),
        "faithful": sum(faithful),
        "seed": SEED,
        "data": sorted({row.dataset for row in rows}),
        "verifier": {
            key: value for key, value in described.items() if key == "name" or "digest" in key
        },
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verifier")
    parser.add_argument("--limit", type=int, default=500, help="rows per dataset: 500")
    packaged = Path(pairwise.__file__).parent / SUMMAC_LAYER
    parser.add_argument("--out", type=Path, default=packaged)
    options = parser.parse_args()
    rows = [
        row
        for name in DATA
        for row in sample(load_dataset(name, options.data).rows, options.limit, SEED)
    ]
    layer = fit(rows, load_verifier(options.verifier))
    options.out.write_text(json.dumps(layer) + "\n", encoding="utf-8")
    print(f"{options.out}: fitted on {layer['rows']} rows, {layer['faithful']} of them faithful")


if __name__ == "__main__":
    main()
