"""Step 2 (optional): a larger model takes sentences apart, and the guard says what may be kept.

    python -m training.extractor.teach WORK --model FOLDER --seconds 240

reads WORK/questions.jsonl and writes WORK/taught.jsonl; before that WORK/answers.jsonl, its plain
answers to WORK/bench.jsonl, for the comparison of extractors. The teacher is asked as the product
asks it. An answer is kept if its lines use no telling word that the sentence has not, leave none
out, and are more than one; what is kept of it are the claims of the split that say those lines.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from halldetect.claims.extractors import prompt
from training.extractor.align import chosen, telling
from training.extractor.data import from_row, read, write
from training.extractor.decode import load

NEW_TOKENS = 112


def asked(sentence: str) -> str:
    """The product's conversation in the teacher's own turn marks."""
    turns = prompt.messages(prompt.unmarked(sentence))
    told = "".join(f"<|im_start|>{t['role']}\n{t['content']}<|im_end|>\n" for t in turns)
    return f"{told}<|im_start|>assistant\n"


def kept(row: dict[str, Any], answer: str) -> dict[str, Any] | None:
    """The example that an answer gives, if it neither adds nor drops anything."""
    lines = prompt.parse(answer, 12)
    said = [telling(line) for line in lines]
    wanted = telling(row["sentence"])
    if len(lines) < 2 or not set().union(*said) <= wanted or not wanted <= set().union(*said):
        return None
    claims = chosen(lines, from_row(row))
    return None if claims is None else {**row, "source": "taught", "chosen": claims}


class Teacher:
    """Answers many sentences at once."""

    def __init__(self, options: argparse.Namespace) -> None:
        dtype = torch.bfloat16 if options.device == "cuda" else torch.float32
        self.model, self.tokenizer = load(options.model, options.device, dtype)
        self.model.eval()
        self.end = self.tokenizer.token_to_id("<|im_end|>")
        self.options = options

    def groups(self, sentences: Sequence[str]) -> list[list[int]]:
        """Runs of like length in random order: what the clock leaves is still a fair sample."""
        order = sorted(range(len(sentences)), key=lambda at: len(sentences[at]))
        size = self.options.batch
        found = [order[at : at + size] for at in range(0, len(order), size)]
        random.Random(0).shuffle(found)
        return found

    @torch.inference_mode()
    def answers(self, sentences: Sequence[str]) -> list[tuple[str, int, int]]:
        """For each sentence the answer and the tokens read and written for it."""
        encoded = [item.ids for item in self.tokenizer.encode_batch(list(map(asked, sentences)))]
        width = max(map(len, encoded))
        ids = torch.full((len(encoded), width), self.end)
        mask = torch.zeros((len(encoded), width), dtype=torch.long)
        for line, tokens in enumerate(encoded):
            ids[line, width - len(tokens) :] = torch.tensor(tokens)
            mask[line, width - len(tokens) :] = 1
        out = self.model.generate(
            input_ids=ids.to(self.options.device), attention_mask=mask.to(self.options.device),
            max_new_tokens=self.options.new_tokens, do_sample=False,
            eos_token_id=self.end, pad_token_id=self.end,
        )  # fmt: skip
        written = out[:, width:].cpu().tolist()
        counts = [next((at for at, t in enumerate(w) if t == self.end), len(w)) for w in written]
        texts = self.tokenizer.decode_batch(written)
        return [(t, len(e), c) for t, e, c in zip(texts, encoded, counts, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--new-tokens", type=int, default=NEW_TOKENS)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    began = time.monotonic()
    teacher = Teacher(options)
    print(f"ready after {time.monotonic() - began:.0f} s", flush=True)
    if (options.work / "bench.jsonl").exists():
        sentences = [row["sentence"] for row in read(options.work / "bench.jsonl")]
        made = []
        for group in teacher.groups(sentences):
            found = teacher.answers([sentences[at] for at in group])
            for at, (answer, tokens_in, tokens_out) in zip(group, found, strict=True):
                made.append(
                    {
                        "text": sentences[at],
                        "claims": prompt.parse(answer, 4),
                        "tokens_in": tokens_in,
                        "tokens_out": tokens_out,
                    }
                )
        write(options.work / "answers.jsonl", made)
        print(f"{len(made)} answers, {time.monotonic() - began:.0f} s", flush=True)
    rows = read(options.work / "questions.jsonl")
    asked_of = written = 0
    with (options.work / "taught.jsonl").open("w", encoding="utf-8") as file:
        for group in teacher.groups([row["sentence"] for row in rows]):
            if time.monotonic() - began > options.seconds:
                break
            answers = teacher.answers([rows[at]["sentence"] for at in group])
            for at, (answer, _, _) in zip(group, answers, strict=True):
                asked_of += 1
                example = kept(rows[at], answer)
                if example:
                    file.write(json.dumps(example, ensure_ascii=False) + "\n")
                    written += 1
            file.flush()
            print(f"{written} of {asked_of} kept, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
