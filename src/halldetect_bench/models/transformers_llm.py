"""A GGUF model through transformers and PyTorch: on a GPU, or on a processor to try it out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from halldetect.claims.extractors import prompt
from halldetect.errors import ConfigurationError, MissingExtra, ModelError
from halldetect.models.cache import digest_of, home
from halldetect.models.llama import one_line
from halldetect_bench.models.decoding import MIN_P, TOP_K, Choice, Decoder, Job
from halldetect_bench.models.embedders import GGUF_CONTEXT, Embedding
from halldetect_bench.models.gguf_to_transformers import convert
from halldetect_bench.models.llm import (
    CONTEXT,
    BatchLlm,
    Messages,
    Question,
    Reply,
    TooLong,
    locate_model,
)

_ATTENTION = "halldetect_grouped"


class TransformersLlm(BatchLlm):
    """A GGUF model in PyTorch: bf16 on a GPU, fp32 on a processor, many questions at once.

    With a schema the answer's fixed words are given and only its choices are the model's: as
    much of JSON schemas as the methods use, lists of allowed words and objects of those.
    """

    def __init__(
        self, model: str | Path, *, device: str | None = None, context: int = CONTEXT
    ) -> None:
        """`model` is a name of the store, which must be in the cache, the path of a .gguf file,
        or a folder with a transformers model."""
        torch, transformers = _libraries()
        self._name, self._digest, folder = _folder(model)
        self._device = chosen_device(device)
        self._dtype = torch.bfloat16 if self._device.startswith("cuda") else torch.float32
        self._context = context
        _register_attention(torch)
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            network = transformers.AutoModelForCausalLM.from_pretrained(
                folder, dtype=self._dtype, attn_implementation=_ATTENTION
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise ModelError(f"{folder} cannot be loaded: {one_line(error)}") from error
        added = self._tokenizer.added_tokens_decoder.values()
        self._special = prompt.special_pattern(token.content for token in added if token.special)
        self.network = network.to(self._device).eval()
        ends = {network.config.eos_token_id, self._tokenizer.eos_token_id}
        self.decoder = Decoder(self.network, self._tokenizer, self._device, frozenset(ends))
        self.lock = Lock()

    @property
    def description(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "kind": "transformers",
            "digest": self._digest,
            "context": self._context,
            "precision": str(self._dtype).removeprefix("torch."),
            "device": self._device.partition(":")[0],
            "drawing": f"top {TOP_K}, at least {MIN_P} of the first",
        }

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        texts = [self._encoded(question.messages) for question in questions]
        found: dict[int, Reply | TooLong] = {
            place: TooLong(f"{len(ids)} tokens do not fit into a context of {self._context}")
            for place, ids in enumerate(texts)
            if len(ids) >= self._context
        }
        fitting = [place for place in range(len(texts)) if place not in found]
        for answer, free in ((self._written, True), (self._formed, False)):
            places = [place for place in fitting if (questions[place].schema is None) == free]
            replies = answer([texts[at] for at in places], [questions[at] for at in places])
            found.update(zip(places, replies, strict=True))
        return [found[place] for place in range(len(questions))]

    def _written(
        self, texts: Sequence[tuple[int, ...]], questions: Sequence[Question]
    ) -> list[Reply]:
        rooms = [self._context - len(ids) for ids in texts]
        jobs = [
            Job(ids, min(one.max_tokens, room), one.temperature, one.seed, one.stop)
            for ids, one, room in zip(texts, questions, rooms, strict=True)
        ]
        with self.lock:
            written = self.decoder.write(jobs)
        replies = []
        for job, done in zip(jobs, written, strict=True):
            text = str(self._tokenizer.decode(done.ids, skip_special_tokens=True))
            if job.until is not None:
                text = text.partition(job.until)[0]
            replies.append(Reply(text, len(job.ids), len(done.ids), done.ended))
        return replies

    def _formed(
        self, texts: Sequence[tuple[int, ...]], questions: Sequence[Question]
    ) -> list[Reply]:
        plans = [form_of(one.schema or {}) for one in questions]
        forms = [
            [
                Choice(self._ids(given), tuple(self._ids(option) for option in options))
                for given, options in plan[:-1]
            ]
            for plan in plans
        ]
        with self.lock:
            chosen = self.decoder.choose(texts, forms)
        replies = []
        for ids, plan, taken in zip(texts, plans, chosen, strict=True):
            told = [given + options[at] for (given, options), at in zip(plan, taken, strict=False)]
            text = "".join(told) + plan[-1][0]
            replies.append(Reply(text, len(ids), len(self._ids(text))))
        return replies

    def _encoded(self, messages: Messages) -> tuple[int, ...]:
        turns = [{"role": one["role"], "content": self._plain(one["content"])} for one in messages]
        text = self._tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True
        )
        return self._ids(text)

    def _plain(self, text: str) -> str:
        """Nothing in a turn can act as one of the model's control tokens."""
        while self._special is not None and self._special.search(text):
            text = self._special.sub(" ", text)
        return text

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])


class TransformersEmbedder:
    """The mean of the last layer's vectors, for a model that was not made to embed."""

    def __init__(self, llm: TransformersLlm) -> None:
        self._llm = llm

    @property
    def description(self) -> dict[str, Any]:
        made = self._llm.description
        kept = ("name", "kind", "digest", "precision", "device")
        return {**{key: made[key] for key in kept}, "pooling": "mean", "context": GGUF_CONTEXT}

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        # A text without a token has no mean: a space stands for it.
        rows = [self._llm._ids(text or " ")[:GGUF_CONTEXT] for text in texts]
        found: dict[int, Embedding] = {}
        with self._llm.lock:
            for place, vectors in self._llm.decoder.hidden(rows):
                mean = vectors.float().mean(0).cpu().numpy().astype(np.float64)
                found[place] = Embedding(mean, len(rows[place]))
        return [found[place] for place in range(len(texts))]


def _folder(model: str | Path) -> tuple[str, str, Path]:
    """The name, the digest and the folder of a model; a GGUF file is converted into one."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        name, path, digest = locate_model(model)
        short = digest.removeprefix("sha256:")[:16]
        return name, digest, convert(path, home() / "transformers" / short)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ModelError(f"{folder} holds no transformers model: it needs .safetensors files")
    digests = " ".join(digest_of(file) for file in weights)
    return f"hf:{folder.resolve().name}", f"sha256:{digests}", folder


def chosen_device(device: str | None) -> str:
    """The device asked for, or the GPU where there is one."""
    torch, _ = _libraries()
    there = torch.cuda.is_available()
    if device is None:
        return "cuda" if there else "cpu"
    if device.startswith("cuda") and not there:
        raise ConfigurationError("--device cuda: PyTorch finds no GPU here")
    return device


def form_of(schema: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """A schema as given words and choices in turn; the last words are followed by none."""
    if "enum" in schema:
        return [('"', tuple(schema["enum"])), ('"', ())]
    if schema.get("type") == "object":
        form: list[tuple[str, tuple[str, ...]]] = []
        before = "{"
        for name, inner in schema["properties"].items():
            *steps, (after, _) = form_of(inner)
            for given, options in steps:
                form.append((f"{before}{json.dumps(name)}: {given}", options))
                before = ""
            before = f"{after}, "
        return [*form, (before.removesuffix(", ") + "}", ())]
    raise ConfigurationError(f"a transformers model cannot be held to the schema {schema}")


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra("a language model in PyTorch", "hf") from error
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def _register_attention(torch: Any) -> None:
    """Attention of one token to all before it without a copy of keys and values for each head.

    Several heads share keys and values; the library repeats them for each, which in a large
    batch is most of the traffic of a step.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    def grouped(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
    ) -> Any:
        rows, heads, steps, width = query.shape
        if steps > 1:
            return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        shared = key.shape[1]
        together = query.view(rows, shared, heads // shared, width) * options["scaling"]
        weights = together @ key.transpose(2, 3)
        if attention_mask is not None:
            weights = weights.masked_fill(~attention_mask, torch.finfo(weights.dtype).min)
        weights = weights.softmax(-1, dtype=torch.float32).to(value.dtype)
        return (weights @ value).view(rows, 1, heads, width), None

    AttentionInterface.register(_ATTENTION, grouped)
    AttentionMaskInterface.register(_ATTENTION, sdpa_mask)
