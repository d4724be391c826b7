"""The datasets, by name. Each is one small module; adding one is a module and a line below.

A dataset's files lie in a folder of the data root, named after the publisher's release. The
root is the `root` argument or the environment variable HALLDETECT_DATA.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import InputError
from halldetect_bench.datasets import (
    bump,
    defacto,
    dialsummeval,
    factcg,
    faithbench,
    falsesum,
    generic,
    halueval,
    llm_aggrefact,
    pubmedqa,
    qags,
    ragtruth,
    storysumm,
    summedits,
    summeval,
    tofueval,
    wice,
    xsumfaith,
)
from halldetect_bench.datasets.adversarial import adversarial
from halldetect_bench.datasets.rows import Loaded, Row

__all__ = ["DATASETS", "Dataset", "Loaded", "Row", "data_root", "load_dataset"]

ROOT_VARIABLE = "HALLDETECT_DATA"
OWN = "jsonl:"
ADVERSARIAL = "adversarial:"
ADVERSARIAL_SEED = 0


@dataclass(frozen=True, slots=True)
class Dataset:
    """Where a dataset lies under the data root and what reads it."""

    name: str
    folder: str
    load: Callable[[Path], Loaded]


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset("qags-cnndm", "qags", qags.load),
        Dataset("summeval", "summeval", summeval.load),
        Dataset("xsumfaith", "xsumfaith", xsumfaith.load),
        Dataset("summedits", "summedits", summedits.load),
        *(
            Dataset(f"summedits-{domain}", "summedits", summedits.loader(domain))
            for domain in summedits.DOMAINS
        ),
        Dataset("faithbench", "faithbench", faithbench.load),
        Dataset("defacto", "defacto", defacto.load),
        *(
            Dataset(f"defacto-{split}", "defacto", defacto.loader(split))
            for split in defacto.SPLITS
        ),
        Dataset("storysumm", "storysumm", storysumm.load),
        Dataset("dialsummeval", "dialsummeval", dialsummeval.load),
        Dataset("wice", "wice", wice.load),
        Dataset("pubmedqa", "pubmedqa", pubmedqa.load),
        Dataset("bump", "bump", bump.load),
        *(Dataset(f"bump-task{task}", "bump", bump.loader(task)) for task in bump.TASKS),
        Dataset("factcg", "factcg", factcg.load),
        Dataset("tofueval", "tofueval", tofueval.load),
        *(
            Dataset(f"tofueval-{corpus}", "tofueval", tofueval.loader(corpus))
            for corpus in tofueval.CORPORA
        ),
        Dataset("falsesum", "falsesum", falsesum.load),
        Dataset("llm-aggrefact", "llm-aggrefact", llm_aggrefact.load),
        Dataset("llm-aggrefact-dev", "llm-aggrefact", llm_aggrefact.loader("dev")),
        Dataset("ragtruth", "ragtruth", ragtruth.load),
        Dataset("ragtruth-train", "ragtruth", ragtruth.loader("train")),
        Dataset("halueval", "halueval", halueval.load),
        *(
            Dataset(f"halueval-{task}", "halueval", halueval.loader(task))
            for task in halueval.TASKS
        ),
    )
}


def load_dataset(name: str, root: Path | str | None = None) -> Loaded:
    """The rows of a dataset, by name; `jsonl:PATH` reads a file of your own.

    `adversarial:NAME` perturbs the faithful responses of another dataset: each of them as it is,
    and once for every kind of edit that applies (`bench.perturb`), always with the same seed.
    """
    if name.startswith(OWN):
        return generic.load(Path(name.removeprefix(OWN)))
    if name.startswith(ADVERSARIAL):
        base = load_dataset(name.removeprefix(ADVERSARIAL), root)
        return Loaded(tuple(adversarial(base.rows, seed=ADVERSARIAL_SEED)), base.dropped)
    dataset = DATASETS.get(name)
    if dataset is None:
        raise InputError(
            f"no dataset named {name!r}; there are {', '.join(DATASETS)}, {OWN}PATH and "
            f"{ADVERSARIAL}NAME"
        )
    return dataset.load(data_root(root) / dataset.folder)


def data_root(root: Path | str | None = None) -> Path:
    """The folder that holds the datasets' folders."""
    chosen = root if root is not None else os.environ.get(ROOT_VARIABLE)
    if not chosen:
        raise InputError(f"say where the datasets are: pass --data DIR or set {ROOT_VARIABLE}")
    return Path(chosen)
