"""The methods by name, and how each is built from the options of a run.

Adding a method is a module beside this one and an entry below. Models are loaded once, when
the first method asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from halldetect.bench.methods import (
    PAIRWISE,
    PROMPTED,
    EmbeddingDivergence,
    HallDetect,
    Method,
    RougeL,
    SelfCheck,
)
from halldetect.chunks import GRANULARITIES
from halldetect.models import DEFAULT_EXTRACTOR

if TYPE_CHECKING:
    from halldetect.bench.embed import Embedder
    from halldetect.bench.llm import Llm
    from halldetect.verifiers import Verifier


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
    notice: Callable[[str], None] = lambda line: None


class Models:
    """The models that the options name, loaded when they are first used."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @cached_property
    def verifier(self) -> Verifier:
        from halldetect.verifiers import load_verifier

        return load_verifier(self.options.verifier, threads=self.options.threads)

    @cached_property
    def llm(self) -> Llm:
        from halldetect.bench.llm import CONTEXT, LlamaLlm, obtained

        options = self.options
        model = obtained(options.llm or DEFAULT_EXTRACTOR, options.notice)
        return LlamaLlm(model, threads=options.threads, context=options.context or CONTEXT)

    @cached_property
    def embedder(self) -> Embedder:
        from halldetect.bench.embed import load_embedder
        from halldetect.bench.llm import obtained

        options = self.options
        model = options.embedder or obtained(options.llm or DEFAULT_EXTRACTOR, options.notice)
        return load_embedder(model, threads=options.threads)


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


METHODS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("halldetect", "claims against windows", "verifier, extractor", _halldetect),
        Entry("nli-only", "all against all in one judgement", "verifier", _pairwise("nli-only")),
        Entry("summac-zs", "sentence against sentence", "verifier", _pairwise("summac-zs")),
        Entry("minicheck", "the worst sentence", "verifier", _pairwise("minicheck")),
        Entry("alignscore", "the mean sentence", "verifier", _pairwise("alignscore")),
        Entry("llm-cot", "reasons, then yes or no", "llm", _prompted("llm-cot")),
        Entry("long-context", "one call for all sentences", "llm", _prompted("long-context")),
        Entry("factscore", "facts against near passages", "llm", _prompted("factscore")),
        Entry("acueval", "content units against the source", "llm", _prompted("acueval")),
        Entry("selfcheck", "distance to five other responses", "llm, embedder", _selfcheck),
        Entry("embedding", "distance to the source", "embedder", _embedding),
        Entry("rouge-l", "words in common, in order", "nothing", lambda models: RougeL()),
    )
}
