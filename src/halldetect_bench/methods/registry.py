"""The methods by name, and how each is built from the options of a run.

Adding a method is a module beside this one and an entry below. Models are loaded once, when
the first method asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from halldetect.errors import ConfigurationError
from halldetect.models import DEFAULT_EXTRACTOR
from halldetect.windows.scales import GRANULARITIES
from halldetect_bench.methods import (
    PAIRWISE,
    PROMPTED,
    Ablation,
    EmbeddingDivergence,
    HallDetect,
    Method,
    RougeL,
    SelfCheck,
)

if TYPE_CHECKING:
    from halldetect.protocols import Verifier
    from halldetect_bench.embed import Embedder
    from halldetect_bench.llm import Llm
    from halldetect_bench.methods.ablation import Splitter


@dataclass(frozen=True, slots=True)
class Options:
    """What a person may choose about the methods of a run."""

    verifier: str | None = None
    extractor: str = "auto"
    granularities: Sequence[int] = GRANULARITIES
    scoring: str = "calibrated"
    seed: int = 0
    threads: int | None = None
    # A GGUF model for the methods that ask one; and an embedder, by default the same model.
    llm: str | None = None
    embedder: str | None = None
    context: int | None = None
    # None: llama.cpp. "cpu" or "cuda": the language model in PyTorch, there.
    device: str | None = None
    notice: Callable[[str], None] = lambda line: None


class Models:
    """The models that the options name, loaded when they are first used."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @cached_property
    def verifier(self) -> Verifier:
        from halldetect.verification.verifiers import load_verifier

        return load_verifier(self.options.verifier, threads=self.options.threads)

    @cached_property
    def llm(self) -> Llm:
        from halldetect_bench.llm import CONTEXT, LlamaLlm, obtained

        options = self.options
        model = obtained(options.llm or DEFAULT_EXTRACTOR, options.notice)
        context = options.context or CONTEXT
        if options.device is None:
            return LlamaLlm(model, threads=options.threads, context=context)
        from halldetect_bench.hf_llm import TransformersLlm

        return TransformersLlm(model, device=options.device, context=context)

    @cached_property
    def embedder(self) -> Embedder:
        from halldetect_bench.embed import load_embedder
        from halldetect_bench.llm import obtained

        options = self.options
        if options.device is not None and options.embedder is None:
            from halldetect_bench.hf_llm import TransformersEmbedder, TransformersLlm

            llm = self.llm
            assert isinstance(llm, TransformersLlm)
            return TransformersEmbedder(llm)
        model = options.embedder or obtained(options.llm or DEFAULT_EXTRACTOR, options.notice)
        return load_embedder(model, threads=options.threads)

    def splitter(self, name: str) -> Splitter:
        """How the ablations get their claims: `whole`, `llm` (the --llm) or an extractor.

        `groups` judges two neighbouring sentences as one claim, `groups:N` so many.
        """
        from halldetect_bench.methods.ablation import Asked, Extracted, Grouped, Whole

        if name == "whole":
            return Whole()
        if name == "llm":
            return Asked(self.llm, self.options.seed)
        kind, _, size = name.partition(":")
        if kind == "groups":
            if not (size or "2").isdecimal() or int(size or 2) < 1:
                raise ConfigurationError(f"groups:N needs a whole number from 1 up, not {size!r}")
            return Grouped(self.splitter("sentences"), int(size or 2))
        from halldetect.claims.extractors import load_extractor

        options = self.options
        return Extracted(
            load_extractor(name, threads=options.threads, seed=options.seed, notice=options.notice)
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A method's name, what it is in a few words, what it needs, and how it is made."""

    name: str
    summary: str
    needs: str
    build: Callable[[Models], Method]


def _halldetect(models: Models) -> Method:
    from halldetect.detector import Detector

    options = models.options
    return HallDetect(
        Detector(
            options.extractor,
            options.verifier,
            scoring=options.scoring,
            granularities=options.granularities,
            seed=options.seed,
            threads=options.threads,
            notice=options.notice,
        )
    )


def _pairwise(name: str) -> Callable[[Models], Method]:
    return lambda models: PAIRWISE[name](models.verifier)


def _prompted(name: str) -> Callable[[Models], Method]:
    return lambda models: PROMPTED[name](models.llm)


def _selfcheck(models: Models) -> Method:
    return SelfCheck(models.llm, models.embedder, seed=models.options.seed)


def _embedding(models: Models) -> Method:
    return EmbeddingDivergence(models.embedder)


def _ablation(models: Models) -> Method:
    return Ablation(models.splitter(models.options.extractor), models.verifier)


METHODS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("halldetect", "claims against windows", "verifier, extractor", _halldetect),
        Entry("nli-only", "all against all in one judgement", "verifier", _pairwise("nli-only")),
        Entry("summac-zs", "sentence against sentence", "verifier", _pairwise("summac-zs")),
        Entry("summac-conv", "the same, spread learned", "verifier", _pairwise("summac-conv")),
        Entry("minicheck", "the worst sentence", "verifier", _pairwise("minicheck")),
        Entry("alignscore", "the mean sentence", "verifier", _pairwise("alignscore")),
        Entry("llm-cot", "reasons, then yes or no", "llm", _prompted("llm-cot")),
        Entry("long-context", "one call for all sentences", "llm", _prompted("long-context")),
        Entry("factscore", "facts against near passages", "llm", _prompted("factscore")),
        Entry("acueval", "content units against the source", "llm", _prompted("acueval")),
        Entry("selfcheck", "distance to five other responses", "llm, embedder", _selfcheck),
        Entry("embedding", "distance to the source", "embedder", _embedding),
        Entry("rouge-l", "words in common, in order", "nothing", lambda models: RougeL()),
        Entry("ablation", "see `bench ablate`", "verifier, extractor", _ablation),
    )
}
