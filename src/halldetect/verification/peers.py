"""Published detectors of others that judge a pair of texts: hub names and input formats.

A model answers properly only in the format that it was trained on. The formats follow the inference
code or the model cards of the authors:

- MiniCheck reads one text: document, end token, claim; on Flan-T5 with a word before it, and its
  answer is the first token to be written, 3 for no and 209 for yes.
- AlignScore is RoBERTa with heads of its own, of which the three-way one counts.
- HHEM is the encoder of Flan-T5. Its prompt follows a padding token, whose output is the answer.
- FactCG reads one text: the document, then a question about the claim.
- TrueTeacher names premise and hypothesis; the probability of the first token "1" is the support.
- SummaC's model for ViTC is a plain NLI model.

What their authors do around a pair (chunks, sentences, aggregation) is in `halldetect_bench`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Head(StrEnum):
    """Where the answer of a model is read."""

    CLASSIFIER = "classifier"  # a sequence classifier of transformers
    FIRST_TOKEN = "first token"  # what a T5 would write first
    ALIGNSCORE = "alignscore"
    HHEM = "hhem"


@dataclass(frozen=True, slots=True)
class Template:
    """One text made of both; models without a template read the tokenizer's own pair.

    Without `between`, the end token separates them. `padded`: a padding token comes first.
    """

    before: str = ""
    between: str | None = None
    after: str = ""
    padded: bool = False


@dataclass(frozen=True, slots=True)
class Peer:
    """A published detector.

    Attributes:
        model: Its name on the hub, or a folder.
        summary: What it is, for lists.
        labels: The meaning of each output, in order; see `classifier.Labels`.
        limit: The tokens that it reads, special ones included.
        template: The text it reads.
        head: Where its answer is.
        answers: For `FIRST_TOKEN`, the numbers of the tokens that answer, as `labels` names them.
            A single number is compared with all other tokens.
        revision: The commit on the hub.
        base: The model whose configuration and tokenizer it uses, if not its own.
        file: The file of its weights, if transformers does not know it by its name.
        pickled: There may be no safetensors: PyTorch's restricted reader loads the weights.
    """

    model: str
    summary: str
    labels: tuple[str, ...] = ("rest", "entailment")
    limit: int = 512
    template: Template | None = None
    head: Head = Head.CLASSIFIER
    answers: tuple[int, ...] = ()
    revision: str = "main"
    base: str = ""
    file: str = ""
    pickled: bool = False


_ALIGNSCORE = Peer(
    "yzha/AlignScore",
    "AlignScore on RoBERTa-large, three-way",
    ("entailment", "neutral", "contradiction"),
    head=Head.ALIGNSCORE,
    base="FacebookAI/roberta-large",
    file="AlignScore-large.ckpt",
    pickled=True,
)

PEERS = {
    "minicheck-ft5": Peer(
        "lytang/MiniCheck-Flan-T5-Large",
        "MiniCheck on Flan-T5-large, two-way",
        limit=2048,
        template=Template(before="predict: "),
        head=Head.FIRST_TOKEN,
        answers=(3, 209),
        revision="96eafd01cee2d16cf81aaa2fb226b14f422a37b3",
        pickled=True,
    ),
    "minicheck-deberta": Peer(
        "lytang/MiniCheck-DeBERTa-v3-Large",
        "MiniCheck on DeBERTa-v3-large, two-way",
        limit=2048,
        template=Template(),
        revision="2f2d01a54fa022a7ffadb76260e1ea8bc88c82bb",
        pickled=True,
    ),
    "minicheck-roberta": Peer(
        "lytang/MiniCheck-RoBERTa-Large",
        "MiniCheck on RoBERTa-large, two-way",
        template=Template(),
        revision="74c8919647e61ed0f71bc177d94f10930f090068",
        pickled=True,
    ),
    "alignscore-large": _ALIGNSCORE,
    "alignscore-base": replace(
        _ALIGNSCORE,
        summary="AlignScore on RoBERTa-base, three-way",
        base="FacebookAI/roberta-base",
        file="AlignScore-base.ckpt",
    ),
    "hhem-2.1-open": Peer(
        "vectara/hallucination_evaluation_model",
        "HHEM-2.1-open on Flan-T5-base, two-way",
        limit=8192,  # its authors set none; memory grows with the square of the length
        template=Template(
            "Determine if the hypothesis is true given the premise?\n\nPremise: ",
            "\n\nHypothesis: ",
            padded=True,
        ),
        head=Head.HHEM,
        revision="8e4a2e6e96c708cc76c2344f7e4757df2515292c",
        base="google/flan-t5-base",
        file="model.safetensors",
    ),
    "factcg": Peer(
        "yaxili96/FactCG-DeBERTa-v3-Large",
        "FactCG on DeBERTa-v3-large, two-way",
        limit=2048,
        template=Template(
            between='\n\nChoose your answer: based on the paragraph above can we conclude that "',
            after='"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is ',
        ),
        revision="0430e3509dbd28d2dff7a117c0eae25359ff3e80",
    ),
    "trueteacher": Peer(
        "google/t5_11b_trueteacher_and_anli",
        "TrueTeacher on T5-11B, two-way, 45 GB",
        limit=2048,
        template=Template("premise: ", " hypothesis: "),
        head=Head.FIRST_TOKEN,
        answers=(209,),
        pickled=True,
    ),
    "summac-vitc": Peer(
        "tals/albert-xlarge-vitaminc-mnli",
        "the NLI model of SummaC, ALBERT-xlarge, three-way",
        ("entailment", "contradiction", "neutral"),
        limit=500,
        revision="3082ba54344bd9ddada2be1c5e9b4131721d2a5d",
    ),
}
