"""Answers of the model in torch, under the same rules as the grammar sets in llama.cpp."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from halldetect.claims.extractors import codes
from halldetect.claims.extractors.cover import MOST_CLAIMS
from halldetect.claims.extractors.splits import Split


class Allowed:
    """Which tokens may come next in the answer for one sentence."""

    def __init__(self, split: Split, letters: Sequence[int], line: int, end: int) -> None:
        self.line, self.end = line, end
        self.next: dict[tuple[int, ...], set[int]] = {}
        for claim in split.claims:
            tokens = [letters[piece] for piece in claim]
            for place in range(len(tokens)):
                self.next.setdefault(tuple(tokens[:place]), set()).add(tokens[place])
            self.next.setdefault(tuple(tokens), set()).add(line)

    def after(self, written: Sequence[int]) -> list[int]:
        lines = sum(token == self.line for token in written)
        if self.end in written:
            return [self.end]
        last = len(written) - 1 - list(reversed(written)).index(self.line) if lines else -1
        begun = tuple(written[last + 1 :])
        if begun:
            return sorted(self.next[begun])
        if lines >= MOST_CLAIMS:
            return [self.end]
        return sorted(self.next[()] | ({self.end} if lines else set()))


def letters_of(tokenizer: Any) -> tuple[list[int], int, int]:
    """The tokens of the letters, of a line end and of the end of the answer."""
    letters = [tokenizer.encode(f" {letter}").ids for letter in codes.LETTERS]
    line = tokenizer.encode("\n").ids
    if any(len(ids) != 1 for ids in [*letters, line]):
        raise ValueError("a letter is more than one token of this vocabulary")
    end = tokenizer.token_to_id("<|im_end|>")
    return [ids[0] for ids in letters], line[0], end


@torch.inference_mode()
def decode(
    model: Any, tokenizer: Any, splits: Sequence[Split], *, batch: int = 256
) -> list[tuple[tuple[int, ...], ...]]:
    """The claims the model chooses for each sentence, greedily."""
    device = next(model.parameters()).device
    letters, line, end = letters_of(tokenizer)
    prompts = [tokenizer.encode(codes.prompt(split)).ids for split in splits]
    written_as = {token: f" {codes.LETTERS[at]}" for at, token in enumerate(letters)}
    written_as |= {line: "\n", end: ""}
    order = sorted(range(len(splits)), key=lambda at: len(prompts[at]))
    found: list[tuple[tuple[int, ...], ...]] = [()] * len(splits)
    for start in range(0, len(order), batch):
        group = order[start : start + batch]
        rules = [Allowed(splits[at], letters, line, end) for at in group]
        written = _greedy(model, [prompts[at] for at in group], rules, end, device)
        for at, tokens in zip(group, written, strict=True):
            found[at] = codes.read("".join(written_as[token] for token in tokens), splits[at])
    return found


def _greedy(
    model: Any, prompts: Sequence[Sequence[int]], rules: Sequence[Allowed], end: int, device: Any
) -> list[list[int]]:
    width = max(map(len, prompts))
    ids = torch.full((len(prompts), width), end)
    mask = torch.zeros((len(prompts), width), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    ids, mask = ids.to(device), mask.to(device)
    written: list[list[int]] = [[] for _ in prompts]
    cache = None
    places = (mask.cumsum(1) - 1).clamp(min=0)
    while not all(tokens and tokens[-1] == end for tokens in written):
        out = model(
            input_ids=ids, attention_mask=mask, position_ids=places,
            past_key_values=cache, use_cache=True, logits_to_keep=1,
        )  # fmt: skip
        cache = out.past_key_values
        chosen = _best(out.logits[:, -1], [r.after(w) for r, w in zip(rules, written, strict=True)])
        for tokens, token in zip(written, chosen.tolist(), strict=True):
            tokens.append(token)
        ids = chosen[:, None]
        mask = torch.cat([mask, torch.ones_like(ids)], 1)
        places = places[:, -1:] + 1
    return written


def _best(logits: Tensor, allowed: Sequence[Sequence[int]]) -> Tensor:
    """For each row the likeliest of its allowed tokens."""
    width = max(map(len, allowed))
    options = torch.tensor([[*row, *[row[0]] * (width - len(row))] for row in allowed])
    options = options.to(logits.device)
    return options.gather(1, logits.float().gather(1, options).argmax(1, keepdim=True))[:, 0]


def load(folder: Path, device: str, dtype: torch.dtype) -> tuple[Any, Any]:
    """The base model and its tokenizer, from the folder that `training.gguf_weights` wrote."""
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).to(device)
    return model, Tokenizer.from_file(str(folder / "tokenizer.json"))
