"""The models named by the options of a run, loaded on first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from halldetect.config import Configuration
from halldetect.errors import ConfigurationError
from halldetect.machine.catalogue import DEFAULT_EXTRACTOR

if TYPE_CHECKING:
    from halldetect.protocols import Verifier
    from halldetect_bench.models.embedders import Embedder
    from halldetect_bench.models.llm import Llm


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run for its methods, as those of `bench run`.

    Methods other than the detector take verifier, seed and threads from its configuration. The
    method `paper` uses the extractor. `notice` is called with each message for the user.
    """

    configuration: Configuration = field(default_factory=Configuration)
    extractor: str | None = None
    llm: str | None = None
    embedder: str | None = None
    context: int | None = None
    device: str | None = None
    notice: Callable[[str], None] = lambda line: None


class RunModels:
    """The models of one run; all methods share them."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.configuration = options.configuration

    @cached_property
    def verifier(self) -> Verifier:
        """The model that judges pairs."""
        return self.named_verifier(self.configuration.verifier)

    def named_verifier(self, name: str | None) -> Verifier:
        """Return the verifier of a name, for methods with weights of their own."""
        from halldetect.machine.download import announced
        from halldetect.models.verifiers import load_verifier

        configuration = self.configuration
        return load_verifier(
            name,
            threads=configuration.threads,
            device=configuration.device,
            progress=announced(self.options.notice),
        )

    @cached_property
    def llm(self) -> Llm:
        """The language model, in llama.cpp or PyTorch."""
        from halldetect_bench.models.llm import CONTEXT, LlamaLlm

        options, model = self.options, self._fetched_llm()
        context = options.context or CONTEXT
        if options.device is None:
            return LlamaLlm(model, threads=self.configuration.threads, context=context)
        from halldetect_bench.models.transformers_llm import TransformersLlm

        return TransformersLlm(model, device=options.device, context=context)

    @cached_property
    def embedder(self) -> Embedder:
        """The model that turns texts into vectors."""
        from halldetect_bench.models.embedders import SentenceEmbedder

        options = self.options
        if options.embedder is None:
            raise ConfigurationError(
                "say which model turns texts into vectors: --embedder FOLDER, or hf:NAME such as "
                "hf:sentence-transformers/all-MiniLM-L6-v2"
            )
        return SentenceEmbedder(options.embedder, device=options.device)

    def _fetched_llm(self) -> str:
        """Return the name or file of the language model; download a named one if needed."""
        from halldetect.machine.download import announced
        from halldetect.paper.llama import fetch_if_stored

        model = self.options.llm or DEFAULT_EXTRACTOR
        fetch_if_stored(model, announced(self.options.notice))
        return model
