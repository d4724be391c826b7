"""`adversarial:NAME`: the faithful responses of a dataset, and each of them made wrong on purpose.

Each wrong row has one known edit, and its kind is recorded, so that recall can be measured per
kind. `held_out_edits` makes the edits: kinds that the verifiers were never trained on.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

from halldetect_bench.datasets.held_out_edits import HELD_OUT_KINDS, held_out_edit
from halldetect_bench.datasets.labelled_rows import Row


def adversarial(
    rows: Iterable[Row], *, seed: int, kinds: Iterable[str] = HELD_OUT_KINDS
) -> Iterator[Row]:
    """Every faithful row once as it is, and once for each kind of edit that applies to it.

    rows: a dataset. seed: of the edits. kinds: the kinds of edit to make.
    Each edit has its own generator, seeded by row and kind, so that adding a row or a kind
    does not change the other edits.
    """
    chosen = tuple(kinds)
    for row in rows:
        if row.hallucinated is not False:
            continue
        yield replace(row, dataset=f"adversarial-{row.dataset}", sentences=(), kind=None)
        for kind in chosen:
            text = held_out_edit(row.response, kind, random.Random(f"{seed}/{row.id}/{kind}"))
            if text is not None:
                yield replace(
                    row,
                    dataset=f"adversarial-{row.dataset}",
                    id=f"{row.id}/{kind}",
                    response=text,
                    hallucinated=True,
                    score=None,
                    sentences=(),
                    kind=kind,
                )
