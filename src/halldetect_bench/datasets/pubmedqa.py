"""PubMedQA made into a faithfulness task, by a rule of our own (the publishers give no labels).

For each of the 500 abstracts of `ori_pqal.json` that are in the publishers' test split the source
is `CONTEXTS` (the abstract without its conclusion) and there are two rows; the other abstracts
were trained on:

- faithful: `LONG_ANSWER`, the authors' own conclusion. It need not follow from the contexts word
  for word, so these labels are weaker than human ones.
- hallucinated: a wrong conclusion, `kind` says of which sort:
  `number` (one number of the conclusion changed), `polarity` (one negation put in or taken out,
  or one word turned into its opposite) or `mismatch` (the conclusion of the abstract that shares
  the most MeSH terms with this one, a term weighing the more the rarer it is).

The sort is drawn with a generator seeded by SEED and the PubMed id: `number` in three cases of
four where the conclusion has a number, else `polarity` or `mismatch` with equal chance;
`mismatch` stands in where `polarity` does not apply. Every table must name this construction.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect
from halldetect_bench.datasets.readers import folder, locate, read_json
from halldetect_bench.perturbation.perturb import perturb

HINT = "the PubMedQA release, github.com/pubmedqa/pubmedqa, folder data"
SEED = 0


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    abstracts = read_json(locate(path, "ori_pqal.json", hint=HINT))
    if not isinstance(abstracts, dict):
        raise InputError(f"{path}: ori_pqal.json must hold one JSON object of abstracts by id")
    terms = {pmid: set(_field(record, "MESHES", ())) for pmid, record in abstracts.items()}
    counts = Counter(term for own in terms.values() for term in own)

    def nearest(pmid: str) -> str:
        """The conclusion of the abstract that shares the rarest MeSH terms with this one."""

        def shared(other: str) -> float:
            return sum(1 / counts[term] for term in terms[pmid] & terms[other])

        others = sorted(other for other in abstracts if other != pmid)
        return str(_field(abstracts[max(others, key=shared)], "LONG_ANSWER", "")) if others else ""

    def rows(_: int, item: tuple[str, dict[str, Any]]) -> Iterable[Row]:
        pmid, record = item
        source = "\n\n".join(record["CONTEXTS"])
        conclusion = str(record["LONG_ANSWER"])
        wrong, kind = _wrong_conclusion(pmid, source, conclusion, nearest)
        for response, hallucinated in ((conclusion, False), (wrong, True)):
            yield Row(
                dataset="pubmedqa",
                id=f"{pmid}/{'hallucinated' if hallucinated else 'faithful'}",
                source=source,
                response=response,
                hallucinated=hallucinated,
                kind=kind if hallucinated else None,
                document=pmid,
                question=record.get("QUESTION"),
            )

    tested = read_json(locate(folder(path), "test_ground_truth.json", hint=HINT))
    return collect(sorted((pmid, abstracts[pmid]) for pmid in tested if pmid in abstracts), rows)


def _wrong_conclusion(
    pmid: str, source: str, conclusion: str, nearest: Callable[[str], str]
) -> tuple[str, str]:
    rng = random.Random(f"{SEED}/{pmid}")
    wants_number, wants_polarity = rng.random() < 0.75, rng.random() < 0.5
    if wants_number and (text := perturb(conclusion, source, "number", rng)):
        return text, "number"
    if wants_polarity:
        for kind in ("negation", "antonym"):
            if text := perturb(conclusion, source, kind, rng):
                return text, "polarity"
    return nearest(pmid), "mismatch"


def _field(record: Any, name: str, default: Any) -> Any:
    return record.get(name, default) if isinstance(record, dict) else default
