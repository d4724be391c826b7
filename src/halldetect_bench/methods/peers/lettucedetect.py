"""LettuceDetect: a classifier of the response's tokens, here as a score of the response.

Its input is the prompt of its training set, with the passages and perhaps a question, and then the
response. Output 1 of a token means hallucinated. The score of a response is its worst token; its
authors call a response hallucinated if any token is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from halldetect.errors import MissingExtra, ModelError
from halldetect.machine.devices import torch_device
from halldetect.reading.sentences import sentences
from halldetect.report import Cost
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents, has_words

MODELS = {
    "lettucedetect-large": "KRLabsOrg/lettucedect-large-modernbert-en-v1",
    "lettucedetect-base": "KRLabsOrg/lettucedect-base-modernbert-en-v1",
}
LIMIT = 4096
_SPECIAL = 3  # around and between prompt and response


@dataclass(frozen=True, slots=True)
class _Judged:
    """The worst probability of each token of a response, with its place."""

    worst: tuple[float, ...]
    places: tuple[tuple[int, int], ...]
    tokens: int


class LettuceDetect:
    """A LettuceDetect model on the row's documents as passages."""

    def __init__(self, name: str, model: str | None = None, *, device: str = "auto") -> None:
        """Load the model of a name, or of a folder."""
        from halldetect.verification.verifiers.networks import from_hub

        self.name = name
        self.model = model or MODELS[name]
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtra(f"the method {name} ({self.model})", "hf") from error
        self._torch = torch
        self._device = torch_device(device)
        self._tokenizer = from_hub(transformers.AutoTokenizer, self.model, "main")
        self._tokenizer.split_special_tokens = True  # a text must not end itself
        kind = transformers.AutoModelForTokenClassification
        network = from_hub(kind, self.model, "main", use_safetensors=True)
        if network.config.num_labels != 2:
            raise ModelError(f"{self.model} has {network.config.num_labels} outputs, not two")
        self._network = network.to(self._device).eval()

    @cached_property
    def description(self) -> dict[str, Any]:
        """Return the method's name and the model with its commit and a digest of its weights."""
        import hashlib

        digest = hashlib.sha256()
        for name, value in sorted(self._network.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().float().cpu().numpy().tobytes())
        commit = getattr(self._network.config, "_commit_hash", None)
        model = {"name": self.model, "commit": commit, "weights_digest": digest.hexdigest()}
        return {"name": self.name, "model": model, "limit": LIMIT}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Judge the tokens of each response."""
        return list(map(self._score, rows))

    def _score(self, row: Row) -> Scored:
        if not has_words(row.response):
            return Scored(None, "the response has no words")
        start = time.perf_counter()
        judged = [self._judge(prompt, row.response) for prompt in self.prompts(row)]
        seconds = {"verify": time.perf_counter() - start}
        tokens = sum(one.tokens for one in judged if one is not None)
        cost = Cost(pairs_judged=len(judged), verifier_tokens=tokens, seconds=seconds)
        known = [one for one in judged if one is not None]
        if not known or len(known) < len(judged):
            return Scored(None, f"the response does not fit into {LIMIT} tokens", cost=cost)
        # A token is supported only if every part of the source supports it.
        worst = [max(one) for one in zip(*(part.worst for part in known), strict=True)]
        scored = list(zip(known[0].places, worst, strict=True))
        claims = []
        for span in sentences(row.response):
            within = [
                value for (begin, end), value in scored if begin < span.end and span.start < end
            ]
            claims.append((span.cut(row.response), max(within, default=None)))
        return Scored(max(worst), None, tuple(claims), cost)

    def prompts(self, row: Row) -> list[str]:
        """Return the prompt, or several with groups of passages that fit beside the response."""
        passages = documents(row)
        room = LIMIT - _SPECIAL - self._count(row.response)
        whole = _prompt(passages, row.question)
        if self._count(whole) <= room:
            return [whole]
        room -= self._count(_prompt([""], row.question))
        groups: list[list[str]] = []
        filled = 0
        for number, passage in enumerate(passages, start=1):
            size = self._count(f"passage {number}: {passage}")
            if not groups or filled + size + 1 > room:
                groups.append([])
                filled = -1
            groups[-1].append(passage)
            filled += size + 1
        return [_prompt(group, row.question) for group in groups]

    def _count(self, text: str) -> int:
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _judge(self, prompt: str, response: str) -> _Judged | None:
        """Return the tokens of a response; None if it alone is too long."""
        if self._count(response) + _SPECIAL >= LIMIT:
            return None
        read = self._tokenizer(
            prompt,
            response,
            truncation="only_first",
            max_length=LIMIT,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        parts, places = read.sequence_ids(0), read["offset_mapping"][0].tolist()
        inputs = {name: read[name].to(self._device) for name in ("input_ids", "attention_mask")}
        with self._torch.inference_mode():
            logits = self._network(**inputs).logits[0].float()
        wrong = logits.softmax(-1)[:, 1].cpu().tolist()
        own = [at for at, part in enumerate(parts) if part == 1]
        return _Judged(
            tuple(wrong[at] for at in own),
            tuple((places[at][0], places[at][1]) for at in own),
            len(parts),
        )


def _prompt(passages: Sequence[str], question: str | None) -> str:
    """Return the prompt that the models were trained on, for a question or a summary."""
    listed = "\n".join(f"passage {at}: {text}" for at, text in enumerate(passages, start=1))
    if question is None:
        return f"Summarize the following text:\n{listed}\noutput:"
    return (
        f"Briefly answer the following question:\n{question}\n"
        "Bear in mind that your response should be strictly based on the following "
        f"{len(passages)} passages:\n{listed}\n"
        "In case the passages do not contain the necessary information to answer the question, "
        'please reply with: "Unable to answer based on given passages."\noutput:'
    )
