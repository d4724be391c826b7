"""A language model that rewrites a sentence in agreement with the source.

A rewriter only proposes: its answer is checked like any other text. Role marks of chat templates
are removed from the sentence and the evidence, and only one plain sentence of an answer is used.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Protocol, Unpack

from halldetect.errors import ConfigurationError, ModelError
from halldetect.models.chat_endpoint import ChatEndpoint, ServerOptions
from halldetect.paper.prompt import unmarked
from halldetect.reading.sentences import sentences

# In characters; fits into a small context together with the sentence and the answer.
MAX_EVIDENCE = 2400
MAX_SENTENCE = 800
MAX_NEW_TOKENS = 256
INSTRUCTION = (
    "Below are passages of a source, and a sentence that disagrees with them or says more than "
    "they do. Write the sentence again so that it says only what the passages say. Change as few "
    "words as possible. Answer with the sentence alone."
)
EXAMPLE_EVIDENCE = (
    "The tower was finished in 1902. It is 80 metres tall. Ida Holm, its architect, never saw it."
)
EXAMPLE_SENTENCE = "The tower, finished in 1920, is 80 metres tall and made of steel."
EXAMPLE_ANSWER = "The tower, finished in 1902, is 80 metres tall."


class Rewriter(Protocol):
    """Proposes another wording of an unsupported sentence."""

    @property
    def description(self) -> dict[str, Any]:
        """The name, digests and settings for the outcome; `name` is required."""
        ...

    def rewrite(self, sentence: str, evidence: str) -> str:
        """Return the sentence in agreement with the evidence; empty without a proposal.

        The sentence has no list marks; the evidence is similar sentences of the source.
        Raises ModelError if the model fails.
        """
        ...


def rewriting_messages(sentence: str, evidence: str) -> list[dict[str, str]]:
    """Return the conversation to which the new sentence is the next turn."""
    example = f"{INSTRUCTION}\n\n{_marked(EXAMPLE_EVIDENCE, EXAMPLE_SENTENCE)}"
    return [
        {"role": "user", "content": example},
        {"role": "assistant", "content": EXAMPLE_ANSWER},
        {"role": "user", "content": _marked(evidence, sentence)},
    ]


def _marked(evidence: str, sentence: str) -> str:
    return f"Passages:\n<text>\n{evidence}\n</text>\n\nSentence:\n<text>\n{sentence}\n</text>"


def prompt_digest() -> str:
    """Return the SHA-256 of everything sent besides the sentence and its evidence."""
    sent = json.dumps(rewriting_messages("", ""), sort_keys=True)
    return hashlib.sha256(sent.encode()).hexdigest()


def first_sentence(answer: str) -> str:
    """Return the first sentence of an answer, without marks and quotation marks."""
    for line in unmarked(answer).splitlines():
        text = " ".join(line.split()).removeprefix("Sentence:").strip().strip('"“”')
        if spans := sentences(text):
            return spans[0].cut(text)
    return ""


class OpenAIRewriter:
    """A model on a server with the OpenAI chat protocol; `server` as for `ChatEndpoint`."""

    def __init__(self, model: str, *, seed: int = 0, **server: Unpack[ServerOptions]) -> None:
        self._endpoint = ChatEndpoint(
            model, what="the rewriter `openai`", failure=ModelError, **server
        )
        self._seed = seed

    @property
    def description(self) -> dict[str, Any]:
        """Name, address, digest of the prompt and settings."""
        return {
            "name": f"openai:{self._endpoint.model}",
            "base_url": self._endpoint.url,
            "prompt_digest": prompt_digest(),
            "max_new_tokens": MAX_NEW_TOKENS,
            "seed": self._seed,
        }

    def rewrite(self, sentence: str, evidence: str) -> str:
        """Ask the server; see `Rewriter`."""
        messages = rewriting_messages(
            unmarked(sentence[:MAX_SENTENCE]), unmarked(evidence[:MAX_EVIDENCE])
        )
        options = {"seed": self._seed, "temperature": 0.0, "max_tokens": MAX_NEW_TOKENS}
        return self._endpoint.complete(lambda _: {"messages": messages, **options}).text


def load_rewriter(name: str, *, seed: int = 0) -> Rewriter:
    """Load a rewriter by name: openai:MODEL."""
    kind, _, model = name.strip().partition(":")
    if kind != "openai":
        raise ConfigurationError(f"unknown rewriter {name!r}: use openai:MODEL")
    return OpenAIRewriter(model, seed=seed)
