"""The methods that are compared, one file each, behind one protocol."""

from __future__ import annotations

from halldetect_bench.methods.ablation import Ablation
from halldetect_bench.methods.acueval import AcuEval
from halldetect_bench.methods.alignscore import AlignScore
from halldetect_bench.methods.embedding import EmbeddingDivergence
from halldetect_bench.methods.factscore import FactScore
from halldetect_bench.methods.halldetect import HallDetect
from halldetect_bench.methods.llm_cot import LlmCot
from halldetect_bench.methods.long_context import LongContext
from halldetect_bench.methods.minicheck import MiniCheck
from halldetect_bench.methods.nli_only import NliOnly
from halldetect_bench.methods.rouge import RougeL
from halldetect_bench.methods.scored import Method, Scored
from halldetect_bench.methods.selfcheck import SelfCheck
from halldetect_bench.methods.summac import SummacZs
from halldetect_bench.methods.summac_conv import SummacConv

__all__ = [
    "PAIRWISE",
    "PROMPTED",
    "Ablation",
    "AcuEval",
    "AlignScore",
    "EmbeddingDivergence",
    "FactScore",
    "HallDetect",
    "LlmCot",
    "LongContext",
    "Method",
    "MiniCheck",
    "NliOnly",
    "RougeL",
    "Scored",
    "SelfCheck",
    "SummacConv",
    "SummacZs",
]

# The methods that need a verifier and nothing else.
PAIRWISE = {
    method.name: method for method in (NliOnly, SummacZs, SummacConv, MiniCheck, AlignScore)
}
# The methods that need a language model and nothing else.
PROMPTED = {method.name: method for method in (LlmCot, LongContext, FactScore, AcuEval)}
