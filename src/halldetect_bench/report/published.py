"""Figures of the HallDetect paper as published; not measured here, and not with our models.

Precision, recall and F1 of the hallucinated class at 0.5, by dataset. The paper's sets differ
from ours even under one name: its PubMedQA has responses that were not published.
"""

from __future__ import annotations

# dataset: (method, backbone, F1, precision, recall)
PAPER: dict[str, tuple[tuple[str, str, float, float, float], ...]] = {
    "qags-cnndm": (
        ("QwenScore", "none", 0.634, 0.547, 0.753),
        ("NLI Only", "none", 0.638, 0.833, 0.517),
        ("LLM CoT", "Mistral-7B", 0.586, 0.680, 0.515),
        ("LLM CoT", "Llama-3.1-8B", 0.321, 0.333, 0.310),
        ("LLM CoT", "Gemma-2-9B", 0.589, 0.731, 0.494),
        ("SelfCheck", "Mistral-7B", 0.731, 0.579, 0.993),
        ("SelfCheck", "Llama-3.1-8B", 0.686, 0.527, 0.983),
        ("SelfCheck", "Gemma-2-9B", 0.725, 0.570, 0.997),
        ("HallDetect", "Mistral-7B", 0.762, 0.627, 0.970),
        ("HallDetect", "Llama-3.1-8B", 0.734, 0.580, 1.000),
        ("HallDetect", "Gemma-2-9B", 0.771, 0.643, 0.961),
    ),
    "tofueval": (
        ("QwenScore", "none", 0.282, 0.196, 0.506),
        ("NLI Only", "none", 0.286, 0.208, 0.455),
        ("LLM CoT", "Mistral-7B", 0.300, 0.194, 0.667),
        ("LLM CoT", "Llama-3.1-8B", 0.233, 0.171, 0.368),
        ("LLM CoT", "Gemma-2-9B", 0.286, 0.208, 0.455),
        ("SelfCheck", "Mistral-7B", 0.330, 0.200, 0.944),
        ("SelfCheck", "Llama-3.1-8B", 0.319, 0.190, 0.994),
        ("SelfCheck", "Gemma-2-9B", 0.274, 0.161, 0.909),
        ("HallDetect", "Mistral-7B", 0.362, 0.224, 0.944),
        ("HallDetect", "Llama-3.1-8B", 0.346, 0.212, 0.947),
        ("HallDetect", "Gemma-2-9B", 0.333, 0.209, 0.818),
    ),
    "falsesum": (
        ("QwenScore", "none", 0.704, 0.594, 0.864),
        ("NLI Only", "none", 0.465, 0.571, 0.392),
        ("LLM CoT", "Mistral-7B", 0.654, 0.567, 0.773),
        ("LLM CoT", "Llama-3.1-8B", 0.373, 0.438, 0.326),
        ("LLM CoT", "Gemma-2-9B", 0.375, 0.524, 0.292),
        ("SelfCheck", "Mistral-7B", 0.699, 0.544, 0.977),
        ("SelfCheck", "Llama-3.1-8B", 0.637, 0.467, 1.000),
        ("SelfCheck", "Gemma-2-9B", 0.649, 0.483, 0.989),
        ("HallDetect", "Mistral-7B", 0.724, 0.623, 0.864),
        ("HallDetect", "Llama-3.1-8B", 0.678, 0.533, 0.930),
        ("HallDetect", "Gemma-2-9B", 0.731, 0.593, 0.952),
    ),
    "pubmedqa": (
        ("QwenScore", "none", 0.603, 0.448, 0.921),
        ("NLI Only", "none", 0.429, 0.357, 0.536),
        ("LLM CoT", "Mistral-7B", 0.429, 0.357, 0.536),
        ("LLM CoT", "Llama-3.1-8B", 0.308, 0.476, 0.227),
        ("LLM CoT", "Gemma-2-9B", 0.309, 0.543, 0.216),
        ("SelfCheck", "Mistral-7B", 0.441, 0.289, 0.929),
        ("SelfCheck", "Llama-3.1-8B", 0.646, 0.478, 0.998),
        ("SelfCheck", "Gemma-2-9B", 0.668, 0.502, 0.997),
        ("HallDetect", "Mistral-7B", 0.455, 0.305, 0.893),
        ("HallDetect", "Llama-3.1-8B", 0.672, 0.512, 0.977),
        ("HallDetect", "Gemma-2-9B", 0.632, 0.467, 0.980),
    ),
}
# Generative passes per response that the paper counts: over a short input, over a long input.
PAPER_PASSES = {"HallDetect": "1, of the response", "LLM CoT": "1, of source and response",
                "SelfCheck": "5, of the source"}  # fmt: skip
# LLM-AggreFact, mean balanced accuracy of eleven sets at 0.5, as their authors publish it.
AGGREFACT = (
    ("SummaC-Conv", 61.0),
    ("SummaC-ZS", 67.7),
    ("AlignScore (0.4B)", 70.5),
    ("MiniCheck-DeBERTa (0.4B)", 73.1),
    ("MiniCheck-FT5 (0.8B)", 75.0),
    ("GPT-4o", 75.9),
    ("Bespoke-MiniCheck (7B)", 77.4),
)
