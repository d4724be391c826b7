"""A language model in PyTorch, for `--device cpu` and `--device cuda`.

transformers loads the model, a GGUF file or a folder, and writes the answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halldetect.errors import ConfigurationError, MissingExtra, ModelError, one_line
from halldetect.large.gguf import control_tokens
from halldetect.machine.integrity import digest_of
from halldetect.paper import prompt
from halldetect.paper.llama import LlamaFile
from halldetect_bench.models.llm import CONTEXT, Question, Reply, TooLong, without

# Tokens below this share of the greatest probability are never drawn, as in llama.cpp.
MIN_P = 0.05
# Padded tokens per batch, answers included.
_ROOM = {"cpu": 8192, "cuda": 262_144}
Ids = tuple[int, ...]


class TransformersLlm:
    """A model in PyTorch, bf16 on a GPU and fp32 on a CPU, that answers questions in batches.

    A JSON schema restricts the answers. Supported are the schemas that the methods use: lists of
    allowed words, and objects of those. The model is a name of `halldetect models list` that is in
    the cache, a .gguf file, or a folder with a transformers model.
    """

    def __init__(
        self, model: str | Path, *, device: str | None = None, context: int = CONTEXT
    ) -> None:
        torch, transformers = _libraries()
        there = torch.cuda.is_available()
        if device == "cuda" and not there:
            raise ConfigurationError("--device cuda: PyTorch finds no GPU here")
        self._device = device or ("cuda" if there else "cpu")
        self._dtype = torch.bfloat16 if self._device == "cuda" else torch.float32
        self._context = context
        self._name, self._digest, place = _place(model)
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(
                **place, padding_side="left"
            )
            network = transformers.AutoModelForCausalLM.from_pretrained(**place, dtype=self._dtype)
        except (OSError, ValueError, RuntimeError) as error:
            raise ModelError(f"{model} cannot be loaded: {one_line(error)}") from error
        added = self._tokenizer.added_tokens_decoder.values()
        self._special = prompt.special_pattern(token.content for token in added if token.special)
        self._network = network.to(self._device).eval()
        self._end: int = self._tokenizer.eos_token_id

    @property
    def description(self) -> dict[str, Any]:
        """Return name, digest, context, precision and device."""
        return {
            "name": self._name,
            "kind": "transformers",
            "digest": self._digest,
            "context": self._context,
            "precision": str(self._dtype).removeprefix("torch."),
            "device": self._device,
            "drawing": f"at least {MIN_P} of the first",
        }

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | TooLong]:
        """Answer questions of similar length together; see `Llm.ask_many`."""
        texts = [self._encoded(question) for question in questions]
        found: dict[int, Reply | TooLong] = {}
        fitting: dict[bool, list[int]] = {True: [], False: []}
        for place, (ids, question) in enumerate(zip(texts, questions, strict=True)):
            if len(ids) >= self._context:
                found[place] = TooLong(
                    f"{len(ids)} tokens do not fit into a context of {self._context}"
                )
            else:
                fitting[question.schema is None].append(place)
        for places in fitting.values():
            sizes = {at: len(texts[at]) + questions[at].max_tokens for at in places}
            for batch in _batches(sizes, _ROOM[self._device]):
                replies = self._written(
                    [texts[at] for at in batch], [questions[at] for at in batch]
                )
                found.update(zip(batch, replies, strict=True))
        return [found[place] for place in range(len(questions))]

    def _written(self, texts: Sequence[Ids], questions: Sequence[Question]) -> list[Reply]:
        """Answer questions in one batch, either all with a schema or all without."""
        torch, transformers = _libraries()
        padded = self._tokenizer.pad({"input_ids": list(map(list, texts))}, return_tensors="pt")
        start = padded["input_ids"].shape[1]
        forms = [steps_of(one.schema, self._ids) for one in questions if one.schema is not None]
        limits = [
            min(one.max_tokens, self._context - len(ids))
            for ids, one in zip(texts, questions, strict=True)
        ]
        if forms:
            limits = [sum(max(map(len, step)) for step in form) + 1 for form in forms]

        def allowed(row: int, ids: Any) -> list[int]:
            return next_tokens(forms[row], tuple(ids[start:].tolist())) or [self._end]

        draw = transformers.LogitsProcessorList([_drawing(questions)])
        with torch.inference_mode():
            output = self._network.generate(
                **padded.to(self._device),
                max_new_tokens=max(limits),
                do_sample=False,
                pad_token_id=self._tokenizer.pad_token_id or self._end,
                logits_processor=draw,
                prefix_allowed_tokens_fn=allowed if forms else None,
            )
        return [
            self._reply(ids, written, limit, one.stop)
            for ids, written, limit, one in zip(
                texts, output[:, start:].tolist(), limits, questions, strict=True
            )
        ]

    def _reply(self, ids: Ids, written: list[int], limit: int, stop: str | None) -> Reply:
        ended = self._end in written[:limit]
        kept = written[: written.index(self._end)] if ended else written[:limit]
        text = str(self._tokenizer.decode(kept, skip_special_tokens=True))
        if stop is not None and stop in text:
            text, ended = text.partition(stop)[0], True
        return Reply(text, len(ids), len(kept), ended)

    def _encoded(self, question: Question) -> Ids:
        turns = [
            {"role": one["role"], "content": without(self._special, one["content"])}
            for one in question.messages
        ]
        return self._ids(
            self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        )

    def _ids(self, text: str) -> Ids:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def _place(model: str | Path) -> tuple[str, str, dict[str, Any]]:
    """Return the name, the digest and the loading arguments of transformers for a model."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        file = LlamaFile(model)
        control_tokens(file.path)  # raises an error with the reason
        where = {"pretrained_model_name_or_path": file.path.parent, "gguf_file": file.path.name}
        return file.name, file.digest, where
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ModelError(f"{folder} holds no transformers model: it needs .safetensors files")
    digests = " ".join(digest_of(file) for file in weights)
    where = {"pretrained_model_name_or_path": folder}
    return f"hf:{folder.resolve().name}", f"sha256:{digests}", where


def _batches(sizes: Mapping[int, int], room: int) -> Iterator[list[int]]:
    """Yield indices of texts of similar length, longest first, that fit padded into `room`."""
    batch: list[int] = []
    for place in sorted(sizes, key=lambda at: -sizes[at]):
        if batch and sizes[batch[0]] * (len(batch) + 1) > room:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _drawing(questions: Sequence[Question]) -> Callable[[Any, Any], Any]:
    """Return a processor of scores after which the greatest score is a random draw.

    It adds Gumbel noise, where a temperature is set, from a generator per question, so that an
    answer does not depend on the other questions of the batch.
    """
    torch, _ = _libraries()
    seeds = [torch.Generator().manual_seed(one.seed) for one in questions]

    def drawn(_: Any, scores: Any) -> Any:
        for row, question in enumerate(questions):
            if question.temperature > 0:
                line = torch.log_softmax(scores[row].float() / question.temperature, -1)
                noise = torch.rand(len(line), generator=seeds[row]).to(line.device)
                line[line < line.max() + torch.log(torch.tensor(MIN_P))] = -torch.inf
                scores[row] = line - torch.log(-torch.log(noise))
        return scores

    return drawn


def steps_of(schema: Mapping[str, Any], ids: Callable[[str], Ids]) -> list[list[Ids]]:
    """Return the texts that a schema allows: for each step, the possible continuations."""
    if "enum" in schema:
        return [[ids(f'"{word}"') for word in schema["enum"]]]
    if schema.get("type") == "object":
        steps: list[list[Ids]] = []
        before = "{"
        for name, inner in schema["properties"].items():
            steps += [[ids(f"{before}{json.dumps(name)}: ")], *steps_of(inner, ids)]
            before = ", "
        return [*steps, [ids("}")]]
    raise ConfigurationError(f"a transformers model cannot be held to the schema {schema}")


def next_tokens(steps: Sequence[Sequence[Ids]], written: Ids) -> list[int]:
    """Return the tokens that may follow what is written; empty if the answer is complete."""
    for ways in steps:
        done = next((way for way in ways if written[: len(way)] == way), None)
        if done is None:
            here = len(written)
            return sorted({way[here] for way in ways if way[:here] == written})
        written = written[len(done) :]
    return []


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra("a language model in PyTorch", "hf") from error
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers
