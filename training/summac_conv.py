"""Fit the layer of SummaC-Conv: a weight for each bin of a histogram of P(E).

    python -m training.summac_conv --data DIR [--verifier NAME] [--limit N]

The data are free for training and not used in the evaluation: FactCG and the train and validation
splits of DeFacto. The score of a response is the mean of a linear function of its sentences'
histograms. This equals the function of the mean histogram, so the fit is a logistic regression with
balanced class weights.

The weights begin at 0 and never fall from bin to bin: more support by a source sentence cannot make
a claim worse, and bins without data have the weight of the bin below. Everything is seeded; the
same verifier gives the same layer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.protocols import Verifier
from halldetect.verification.verifiers import load_verifier
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods import pairwise
from halldetect_bench.methods.pairwise import HISTOGRAM_BINS, SUMMAC_LAYER, mean_histograms
from halldetect_bench.registry import load_dataset
from halldetect_bench.runner import sample

DATA = ("factcg", "defacto-train", "defacto-val")
SEED = 0
# The weight of the squared steps between bins, relative to the mean loss of a row.
PENALTY = 1e-3

Array = NDArray[np.float64]


def fit(rows: Sequence[Row], verifier: Verifier) -> dict[str, Any]:
    """Return the layer fitted on labelled rows, whose sentences the verifier judges."""
    found = mean_histograms(rows, verifier)
    known = [(row, spread) for row, spread in zip(rows, found, strict=True) if spread is not None]
    return layer(
        [spread for _, spread in known],
        [not row.hallucinated for row, _ in known],
        sorted({row.dataset for row, _ in known}),
        verifier.description,
    )


def layer(
    spreads: Sequence[Array],
    faithful: Sequence[bool],
    data: Sequence[str],
    verifier: dict[str, Any],
) -> dict[str, Any]:
    """Return the layer in the form of the package.

    Args:
        spreads: a mean histogram per response.
        faithful: True for each faithful response.
        data: the datasets.
        verifier: its description.
    """
    weights, offset = monotone_fit(np.array(spreads), np.array(faithful))
    return {
        "weights": [round(float(value), 5) for value in weights],
        "offset": round(float(offset), 5),
        "bins": HISTOGRAM_BINS,
        "rows": len(faithful),
        "faithful": int(sum(faithful)),
        "seed": SEED,
        "data": list(data),
        "verifier": {
            key: value for key, value in verifier.items() if key == "name" or "digest" in key
        },
    }


def monotone_fit(spreads: Array, faithful: NDArray[np.bool_]) -> tuple[Array, float]:
    """Fit weights that start at 0 and never fall from bin to bin, and an offset.

    Args:
        spreads: responses x bins.
        faithful: True for each faithful response.
    """
    from scipy.optimize import minimize

    # A weight is the sum of the steps up to its bin, so a step counts the values from it on.
    reach = np.cumsum(spreads[:, ::-1], axis=1)[:, ::-1][:, 1:]
    sign = np.where(faithful, 1.0, -1.0)
    share = np.where(faithful, 0.5 / max(1, faithful.sum()), 0.5 / max(1, (~faithful).sum()))

    def loss(values: Array) -> tuple[float, Array]:
        steps, offset = values[:-1], values[-1]
        margin = sign * (reach @ steps + offset)
        slope = -share * sign / (1 + np.exp(np.clip(margin, -500, 500)))
        cost = float(share @ np.logaddexp(0, -margin)) + PENALTY * float(steps @ steps)
        return cost, np.append(reach.T @ slope + 2 * PENALTY * steps, slope.sum())

    bins = spreads.shape[1]
    bounds = [(0.0, None)] * (bins - 1) + [(None, None)]
    found = minimize(loss, np.zeros(bins), jac=True, bounds=bounds, method="L-BFGS-B")
    return np.concatenate([[0.0], np.cumsum(found.x[:-1])]), float(found.x[-1])


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
    fitted = fit(rows, load_verifier(options.verifier))
    options.out.write_text(json.dumps(fitted) + "\n", encoding="utf-8")
    print(f"{options.out}: fitted on {fitted['rows']} rows, {fitted['faithful']} of them faithful")


if __name__ == "__main__":
    main()
