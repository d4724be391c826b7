"""Which datasets have relatives among the training data of the verifiers in the package.

No text that is evaluated on was trained on (`python -m training.leaks` checks that). But a
verifier that was trained on other rows of a dataset knows its style and its kinds of errors, so
the tables mark these datasets.
"""

from __future__ import annotations

TRAINING_OVERLAP = {
    "defacto": "the train and validation splits",
    "bump": "four articles of task 1, whose rows are left out",
    "pubmedqa": "the abstracts that are not in its test split, and its kinds of wrong answers",
    "factcg": "the whole set",
}


def trained_on(dataset: str) -> str | None:
    """What of a dataset, or close to it, was trained on; None: nothing.

    dataset: its name; the splits of a dataset and sets made from it share an entry.
    """
    base = dataset.rpartition(":")[2]
    return next(
        (
            text
            for name, text in TRAINING_OVERLAP.items()
            if base == name or base.startswith(f"{name}-")
        ),
        None,
    )
