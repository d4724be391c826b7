"""Language models that rewrite a sentence in agreement with the source.

A rewriter only proposes: its answer is checked like any other text. Role marks of chat templates
are removed from the sentence and the evidence, and only one plain sentence of an answer is used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, Unpack

from halldetect.errors import ConfigurationError, ModelError, one_line
from halldetect.models.chat_endpoint import ChatEndpoint, ServerOptions
from halldetect.models.gguf import read_header
from halldetect.models.llama import LlamaFile, default_threads, fetch_if_stored, require_library
from halldetect.models.llama import start as start_llama
from halldetect.paper.prompt import special_pattern, unmarked
from halldetect.reading.sentences import sentences

# The smallest model of the store that follows the instruction.
DEFAULT_REWRITER = "qwen2.5-coder-1.5b"
CONTEXT = 2048
# In characters; fits into the context together with the sentence and the answer.
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
    return [
        {
            "role": "user",
            "content": f"{INSTRUCTION}\n\n{_marked(EXAMPLE_EVIDENCE, EXAMPLE_SENTENCE)}",
        },
        {"role": "assistant", "content": EXAMPLE_ANSWER},
        {"role": "user", "content": _marked(evidence, sentence)},
    ]


def prompt_digest() -> str:
    """Return the SHA-256 of everything sent besides the sentence and its evidence."""
    sent = json.dumps(rewriting_messages("", ""), sort_keys=True)
    return hashlib.sha256(sent.encode()).hexdigest()


def first_sentence(answer: str) -> str:
    """Return the first sentence of an answer, without marks and quotation marks."""
    for line in unmarked(answer).splitlines():
        text = " ".join(line.split()).removeprefix("Sentence:").strip().strip('"“”')
        spans = sentences(text)
        if spans:
            return spans[0].cut(text)
    return ""


def _marked(evidence: str, sentence: str) -> str:
    return f"Passages:\n<text>\n{evidence}\n</text>\n\nSentence:\n<text>\n{sentence}\n</text>"


class GgufRewriter:
    """A model of the store, or of any .gguf file, in this process.

    The same sentence and evidence give the same answer, regardless of earlier requests.
    """

    def __init__(self, model: str | Path, *, threads: int | None = None, seed: int = 0) -> None:
        """Load a model: a name of the store, which must be in the cache, or the path of a file."""
        self._file = LlamaFile(model)
        self._special = special_pattern(read_header(self._file.path).control_tokens)
        self._seed = seed
        self._lock = Lock()
        self._server = start_llama(self._file.path, threads or default_threads(), seed, CONTEXT)

    @property
    def description(self) -> dict[str, Any]:
        """Name, digests and settings."""
        return {
            "name": self._file.name,
            "model_digest": self._file.digest,
            "prompt_digest": prompt_digest(),
            "max_new_tokens": MAX_NEW_TOKENS,
            "seed": self._seed,
        }

    def rewrite(self, sentence: str, evidence: str) -> str:
        """Ask the model; see `Rewriter`."""
        body = {
            "messages": rewriting_messages(
                unmarked(sentence[:MAX_SENTENCE], self._special),
                unmarked(evidence[:MAX_EVIDENCE], self._special),
            ),
            "temperature": 0.0,
            "seed": self._seed,
            "stop": ["\n"],
            "max_tokens": MAX_NEW_TOKENS,
            "cache_prompt": False,
        }
        with self._lock:
            try:
                answer = self._server.handle_chat_completions(body)
                return str(answer["choices"][0]["message"]["content"] or "")
            except Exception as error:
                raise ModelError(f"llama.cpp failed: {one_line(error)}") from error


class OpenAIRewriter:
    """A model on a server with the OpenAI chat protocol.

    Args:
        model: The name of the model.
        seed: The seed sent to the server.
        server: Address and options, as for `ChatEndpoint`.
    """

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


def load_rewriter(
    name: str,
    *,
    threads: int | None = None,
    seed: int = 0,
    notice: Callable[[str], None] = print,
) -> Rewriter:
    """Load a rewriter by name.

    Args:
        name: gguf, gguf:NAME (a model of the store or a .gguf file) or openai:MODEL.
        threads: Threads of a model in this process; all cores by default.
        seed: The seed of the model.
        notice: Gets one-line messages for the user.
    """
    kind, _, rest = name.strip().partition(":")
    if kind == "openai":
        return OpenAIRewriter(rest, seed=seed)
    if kind == "gguf":
        model = rest or DEFAULT_REWRITER
    elif name.lower().endswith(".gguf"):
        model = name
    else:
        raise ConfigurationError(
            f"unknown rewriter {name!r}: use gguf, gguf:NAME, a .gguf file or openai:MODEL"
        )
    require_library()  # fail before a useless download
    fetch_if_stored(model, notice)
    return GgufRewriter(model, threads=threads, seed=seed)
