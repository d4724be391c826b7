"""The methods that are compared, one file each, behind one protocol."""

from __future__ import annotations

from halldetect.bench.methods.alignscore import AlignScore
from halldetect.bench.methods.halldetect import HallDetect
from halldetect.bench.methods.minicheck import MiniCheck
from halldetect.bench.methods.nli_only import NliOnly
from halldetect.bench.methods.rouge import RougeL
from halldetect.bench.methods.scored import Method, Scored
from halldetect.bench.methods.summac import SummacZs

__all__ = [
    "PAIRWISE",
    "AlignScore",
    "HallDetect",
    "Method",
    "MiniCheck",
    "NliOnly",
    "RougeL",
    "Scored",
    "SummacZs",
]

# The methods that need a verifier and nothing else.
PAIRWISE = {method.name: method for method in (NliOnly, SummacZs, MiniCheck, AlignScore)}
