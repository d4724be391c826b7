"""SummaC-ZS and SummaC-Conv with their published model and layer.

Sentences of at most ten characters are left out, of the source the first hundred are read.
"""

from __future__ import annotations

import hashlib
import io
import math
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.errors import FetchError, ModelError, import_extra, one_line
from halldetect.machine.store import home, offline
from halldetect.protocols import Verifier
from halldetect.reading.claims import Claim
from halldetect.reading.document import Document
from halldetect.report import Probabilities
from halldetect.verification.windows import Window
from halldetect_bench.methods.pairwise import SummacZsStyle

MIN_CHARACTERS, MAX_SENTENCES, MAX_UNITS = 11, 100, 10
LAYER = "summac_conv_vitc_sent_perc_e.bin"
LAYER_SHA256 = "cd880581f59bd47b8968c7f48d754cd617dfe9b256d8d76fdcbc0fa4a3b3c6fe"
LAYER_URL = (
    "https://raw.githubusercontent.com/tingofurro/summac/"
    f"c1f3da93cd074c24d8033eb27a88b5a7cc5c08fa/{LAYER}"
)
# The edges of the histogram of P(entailment), by which the layer was fitted.
EDGES = (
    0.0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37, 0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96,
    0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 1.0,
)  # fmt: skip


class SummacZs(SummacZsStyle):
    """SummaC-ZS: per sentence the best entailment minus the best contradiction, then the mean.

    The two may come from different sentences of the source. The mean, from -1 to 1, is mapped to
    a score from 1 to 0.
    """

    name = "summac-zs-vitc"

    def source_parts(self, source: tuple[Document, ...], room: int) -> tuple[Window, ...]:
        parts = super().source_parts(source, room)
        return tuple(part for part in parts if len(part.text) >= MIN_CHARACTERS)[:MAX_SENTENCES]

    def response_units(self, response: str) -> tuple[Claim, ...]:
        units = super().response_units(response)
        return tuple(unit for unit in units if len(unit.text) >= MIN_CHARACTERS)

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        entailed = max(item.entailment for item in probabilities)
        return entailed - max(item.contradiction or 0.0 for item in probabilities)


class SummacConv(SummacZs):
    """SummaC-Conv: a published layer on the histogram of P(entailment) over the source.

    Each of the first ten sentences gets a value, and their mean a score, one minus P(consistent).
    """

    name = "summac-conv-vitc"

    def __init__(self, verifier: Verifier, layer: dict[str, Any] | None = None) -> None:
        super().__init__(verifier)
        self.layer = published_layer() if layer is None else layer

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "layer_digest": LAYER_SHA256}

    def response_units(self, response: str) -> tuple[Claim, ...]:
        return super().response_units(response)[:MAX_UNITS]

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        counts, _ = np.histogram([item.entailment for item in probabilities], bins=EDGES)
        return float(counts @ self.layer["mlp.weight"][0] + self.layer["mlp.bias"][0])

    def hallucination_score(self, supports: Sequence[float]) -> float:
        mean = sum(supports) / len(supports)
        # The last layer reads the mean three times.
        weights = self.layer["layer_final.weight"].sum(1) * mean
        wrong, right = (weights + self.layer["layer_final.bias"]).tolist()
        return 1 / (1 + math.exp(min(700.0, right - wrong)))


def published_layer() -> dict[str, Any]:
    """Return the weights of SummaC-Conv's layer; download them (2 kB) if they are not here."""
    torch = import_extra("torch", "the layer of SummaC-Conv", "hf")
    content = _layer_file().read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != LAYER_SHA256:
        raise ModelError(f"{_place()} has sha256 {found}, not {LAYER_SHA256}: delete it")
    stored = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    return {name: value.double().numpy() for name, value in stored.items()}


def _place() -> Path:
    return home() / "models" / "summac-conv" / LAYER


def _layer_file() -> Path:
    place = _place()
    if place.is_file():
        return place
    if offline():
        raise FetchError(f"{place} does not exist, and HALLDETECT_OFFLINE forbids {LAYER_URL}")
    try:
        with urllib.request.urlopen(LAYER_URL, timeout=10) as answer:
            content = answer.read(1 << 20)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    except OSError as error:
        raise FetchError(
            f"the layer of SummaC-Conv could not be fetched ({one_line(error)[:120]}); "
            f"put {LAYER_URL} at {place}"
        ) from error
    return place
