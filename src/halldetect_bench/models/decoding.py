"""Batched decoding with a transformers model: free text, or fixed text with choices.

Texts of a batch are padded at their ends and continued behind the padding, which the attention
mask hides; no row is ever fully masked. At temperature 0 the same batch gives the same texts.
Another batch may round differently, so that a near tie between two tokens is decided the other
way. Random draws depend on the batch and its seeds only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")

# The share of the GPU's memory for keys, values and activations of a pass, so that three models
# fit beside each other. On a CPU large batches gain nothing.
GPU_SHARE = 0.15
CPU_TOKENS = 8_192
# As llama.cpp by default: the likeliest tokens, none much less likely than the first.
TOP_K = 40
MIN_P = 0.05
# How many of the last tokens are searched for the text that ends a row.
_TAIL = 6
# Finished rows are removed from the batch when at most this share of its rows is left.
_SHRINK_BELOW = 0.75
# Texts share their opening if it is at least this part of them; it is read once for all if at
# most `_WORTH` of the tokens are then left to read.
_SHARED_PART = 0.7
_WORTH = 0.8


@dataclass(frozen=True, slots=True)
class Job:
    """A text to continue, by at most `most` tokens or up to the text `until`."""

    ids: tuple[int, ...]
    most: int
    temperature: float = 0.0
    seed: int = 0
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Fixed tokens, and the options one of which must follow."""

    given: tuple[int, ...]
    options: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A continuation; `ended` is False where it reached the limit."""

    ids: tuple[int, ...]
    ended: bool


class Decoder:
    """A causal model with its tokenizer, on one device."""

    def __init__(self, network: Any, tokenizer: Any, device: str, ends: frozenset[int]) -> None:
        """network: a causal language model. tokenizer: its tokenizer. device: where it is.
        ends: the tokens that end a text.
        """
        import torch

        self._torch = torch
        self._network = network
        self._tokenizer = tokenizer
        self._device = device
        self._ends = ends
        self._pad = tokenizer.pad_token_id or 0
        self._room = self._tokens_that_fit() if device.startswith("cuda") else CPU_TOKENS

    def _tokens_that_fit(self) -> int:
        """The padded tokens per batch, including the ones to be written."""
        config = self._network.config
        width = (
            getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        )
        heads = 2 * config.num_key_value_heads * width * config.num_hidden_layers
        # Two bytes each; the widest activations count, a few of them at a time.
        token = 2 * (heads + 4 * config.intermediate_size + 8 * config.hidden_size)
        memory = self._torch.cuda.get_device_properties(self._device).total_memory
        return int(GPU_SHARE * memory / token)

    def write(self, jobs: Sequence[Job]) -> list[Written]:
        """The continuation of each text, in order.

        jobs: the texts to continue.
        """
        return self._in_batches(
            [len(job.ids) + job.most for job in jobs],
            lambda places: self._write([jobs[place] for place in places]),
        )

    def choose(
        self, texts: Sequence[tuple[int, ...]], forms: Sequence[Sequence[Choice]]
    ) -> list[list[int]]:
        """For each text the index of the option taken at each choice.

        texts: the texts before the first choice. forms: the choices of each text.
        """
        return self._in_batches(
            [
                len(ids) + sum(len(one.given) + 4 for one in form)
                for ids, form in zip(texts, forms, strict=True)
            ],
            lambda places: self._choose(
                [texts[place] for place in places], [forms[place] for place in places]
            ),
        )

    def _in_batches(
        self, sizes: Sequence[int], work: Callable[[Sequence[int]], list[Result]]
    ) -> list[Result]:
        """Work on texts of these sizes in batches; one that finds no memory is halved.

        Other programs may use the memory of the same GPU.
        """
        found: dict[int, Result] = {}
        waiting = list(batches(sizes, self._room))[::-1]
        while waiting:
            places = waiting.pop()
            done = None
            try:
                with self._torch.inference_mode():
                    done = work(places)
            except self._torch.OutOfMemoryError:
                if len(places) == 1:
                    raise
            if done is None:  # behind the handler, where the tensors of the failure are gone
                self._torch.cuda.empty_cache()
                half = len(places) // 2
                waiting += [places[half:], places[:half]]
            else:
                found.update(zip(places, done, strict=True))
        return [found[place] for place in range(len(sizes))]

    def _write(self, jobs: Sequence[Job]) -> list[Written]:
        torch = self._torch
        state = _State(self, [job.ids for job in jobs])
        generator = torch.Generator(self._device).manual_seed(
            hash(tuple(job.seed for job in jobs)) % 2**63
        )
        texts: list[list[int]] = [[] for _ in jobs]
        ended = [False] * len(jobs)
        live = list(range(len(jobs)))
        while True:
            tokens = self._next(state.hidden, [jobs[place] for place in live], generator)
            going = []
            for row, (place, token) in enumerate(zip(live, tokens.tolist(), strict=True)):
                text, job = texts[place], jobs[place]
                if ended[place] or len(text) == job.most:
                    continue
                if token in self._ends:
                    ended[place] = True
                    continue
                text.append(token)
                ended[place] = job.until is not None and job.until in self._tail(text)
                if not ended[place] and len(text) < job.most:
                    going.append(row)
            if not going:
                return [Written(tuple(ids), end) for ids, end in zip(texts, ended, strict=True)]
            # Removing rows copies all others, so finished rows stay until they are many.
            if len(going) <= _SHRINK_BELOW * len(live):
                state.keep(going)
                live = [live[row] for row in going]
                tokens = tokens[going]
            state.read(tokens[:, None])

    def _next(self, hidden: Any, jobs: Sequence[Job], generator: Any) -> Any:
        torch = self._torch
        logits = self._network.lm_head(hidden).float()
        best = logits.argmax(-1)
        drawn = [row for row, job in enumerate(jobs) if job.temperature > 0]
        if drawn:
            heat = torch.tensor([jobs[row].temperature for row in drawn], device=logits.device)
            top, ids = logits[drawn].topk(min(TOP_K, logits.shape[-1]), dim=-1)
            unlikely = top < top[:, :1] + math.log(MIN_P)
            shares = (top / heat[:, None]).masked_fill(unlikely, -torch.inf).softmax(-1)
            taken = torch.multinomial(shares, 1, generator=generator)
            best[drawn] = ids.gather(1, taken)[:, 0]
        return best

    def _tail(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(ids[-_TAIL:]))

    def _choose(
        self, texts: Sequence[tuple[int, ...]], forms: Sequence[Sequence[Choice]]
    ) -> list[list[int]]:
        torch = self._torch
        chosen: list[list[int]] = [[] for _ in texts]
        live = [place for place, form in enumerate(forms) if form]
        if not live:
            return chosen
        state = _State(self, [(*texts[place], *forms[place][0].given) for place in live])
        while True:
            logits = self._network.lm_head(state.hidden).float()
            going = []
            more: list[tuple[int, ...]] = []
            for row, place in enumerate(live):
                step = len(chosen[place])
                options = forms[place][step].options
                first = torch.tensor([option[0] for option in options], device=logits.device)
                taken = int(logits[row, first].argmax())
                chosen[place].append(taken)
                if step + 1 < len(forms[place]):
                    going.append(row)
                    more.append((*options[taken], *forms[place][step + 1].given))
            if not going:
                return chosen
            state.keep(going)
            live = [live[row] for row in going]
            state.read(*self.padded(more))

    def padded(self, rows: Sequence[tuple[int, ...]]) -> tuple[Any, Any]:
        """The tokens as a padded matrix, and its mask.

        rows: the tokens of each text.
        """
        torch = self._torch
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self._pad)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
        return ids.to(self._device), mask.to(self._device)


class _State:
    """The texts read so far: keys and values, and the hidden state of each last token."""

    def __init__(self, decoder: Decoder, texts: Sequence[tuple[int, ...]]) -> None:
        import torch
        from transformers import DynamicCache

        self._torch = torch
        self._network = decoder._network
        self._cache = DynamicCache()
        openings, places, rests = shared_openings(texts)
        ids, mask = decoder.padded(openings)
        self._mask = mask[:, :0]
        self._length = mask.sum(1) * 0
        self.read(ids, mask)
        if rests:
            self.keep(places)
            self.read(*decoder.padded(rests))

    def read(self, ids: Any, mask: Any = None) -> None:
        """Read further tokens; `hidden` is then the state of the last one of each row."""
        torch = self._torch
        mask = torch.ones_like(ids) if mask is None else mask
        places = self._length[:, None] + mask.cumsum(1) - 1
        self._mask = torch.cat([self._mask, mask], 1)
        self._length = self._length + mask.sum(1)
        found = self._network.model(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=places.clamp(min=0),
            past_key_values=self._cache,
            use_cache=True,
        ).last_hidden_state
        last = (mask * torch.arange(mask.shape[1], device=mask.device)).argmax(1)
        self.hidden = found[torch.arange(len(last), device=last.device), last]

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows, in this order; a row may occur several times."""
        chosen = self._torch.tensor(rows, device=self._mask.device)
        self._cache.batch_select_indices(chosen)
        self._mask, self._length = self._mask[chosen], self._length[chosen]
        self.hidden = self.hidden[chosen]


def shared_openings(
    texts: Sequence[tuple[int, ...]],
) -> tuple[list[tuple[int, ...]], list[int], list[tuple[int, ...]]]:
    """What to read once, which of it each text begins with, and the rest of each text.

    Questions about one source begin alike. Where that saves little the texts are their own
    openings, without rests.

    texts: the tokens of each text, at least one each.
    """
    openings: list[tuple[int, ...]] = []
    places = [0] * len(texts)
    for place in sorted(range(len(texts)), key=lambda place: texts[place]):
        text = texts[place]
        same = _same(openings[-1], text[:-1]) if openings else 0
        if openings and same >= _SHARED_PART * (len(text) - 1):
            openings[-1] = openings[-1][:same]
        else:
            openings.append(text[:-1])
        places[place] = len(openings) - 1
    rests = [text[len(openings[at]) :] for text, at in zip(texts, places, strict=True)]
    left = sum(map(len, (*openings, *rests)))
    if not all(openings) or left > _WORTH * sum(map(len, texts)):
        return list(texts), list(range(len(texts))), []
    return openings, places, rests


def _same(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many tokens two texts begin with alike."""
    for at, (first, second) in enumerate(zip(one, other, strict=False)):
        if first != second:
            return at
    return min(len(one), len(other))


def batches(sizes: Sequence[int], room: int) -> Iterator[list[int]]:
    """Batches of indices, longest first, as many as fit when all are padded to the longest.

    sizes: the length of each text. room: the padded tokens per batch.
    """
    order = sorted(range(len(sizes)), key=lambda place: (-sizes[place], place))
    start = 0
    while start < len(order):
        fit = max(1, room // max(1, sizes[order[start]]))
        yield order[start : start + fit]
        start += fit
