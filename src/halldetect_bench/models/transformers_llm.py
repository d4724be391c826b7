"""A language model in PyTorch, for `--device cpu` and `--device cuda`.

The model is a GGUF file, which is converted first, or a folder of transformers. The decoder and
the conversion are in this package because `halldetect bench run --device` needs them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from halldetect.claims.extractors import prompt
from halldetect.errors import ConfigurationError, MissingExtra, ModelError, one_line
from halldetect.models.integrity import digest_of
from halldetect.models.store import home
from halldetect_bench.models.decoding import MIN_P, TOP_K, Choice, Decoder, Job
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
    """A model in PyTorch, bf16 on a GPU and fp32 on a CPU, that answers questions in batches.

    With a JSON schema the fixed text of the answer is given, and the model only makes the
    choices. It supports what the methods use: lists of allowed words, and objects of those.
    """

    def __init__(
        self, model: str | Path, *, device: str | None = None, context: int = CONTEXT
    ) -> None:
        """model: a name of `halldetect models list` that is in the cache, a .gguf file, or a
            folder with a transformers model.
        device: `cpu` or `cuda`; default is the GPU where there is one.
        context: the tokens that the model reads.
        """
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
        """Name, digest, context, precision and device."""
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
        """Answer questions in one batch; see `BatchLlm.ask_many`."""
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
        plans = [choices_of(one.schema or {}) for one in questions]
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
            chosen_text = [
                given + options[at] for (given, options), at in zip(plan, taken, strict=False)
            ]
            text = "".join(chosen_text) + plan[-1][0]
            replies.append(Reply(text, len(ids), len(self._ids(text))))
        return replies

    def _encoded(self, messages: Messages) -> tuple[int, ...]:
        turns = [{"role": one["role"], "content": self._plain(one["content"])} for one in messages]
        text = self._tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True
        )
        return self._ids(text)

    def _plain(self, text: str) -> str:
        """A text without anything that would act as a control token of the model."""
        while self._special is not None and self._special.search(text):
            text = self._special.sub(" ", text)
        return text

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])


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
    """The device to run on.

    device: `cpu`, `cuda`, or None for the GPU where there is one.
    """
    torch, _ = _libraries()
    there = torch.cuda.is_available()
    if device is None:
        return "cuda" if there else "cpu"
    if device.startswith("cuda") and not there:
        raise ConfigurationError("--device cuda: PyTorch finds no GPU here")
    return device


def choices_of(schema: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """A schema as a list of fixed text and the choices that follow it; the last has none.

    schema: a JSON schema of allowed words, or an object of those.
    """
    if "enum" in schema:
        return [('"', tuple(schema["enum"])), ('"', ())]
    if schema.get("type") == "object":
        form: list[tuple[str, tuple[str, ...]]] = []
        before = "{"
        for name, inner in schema["properties"].items():
            *steps, (after, _) = choices_of(inner)
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
    """Register attention of one token to all earlier ones without a copy of keys and values per
    head.

    Several heads share keys and values; transformers repeats them for each head, which in a
    large batch is most of the memory traffic of a step.
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
