"""Step 3: claims written by a language model about passages that training may use.

    python -m training.base.generate write WORK --seconds 200     # claims, on a GPU
    python -m training.base.generate pair WORK --judge first      # pairs that a judge agrees to

Each passage is restated, summarised, changed in one detail, or extended by a detail it does not
give. What the model was asked for is only a hint: a claim is kept when a verifier that learned
from human labels and rules alone reads it against its passage as it was meant. True claims are
also made false by rule, so that a wrong word stands in a sentence no document contains.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from halldetect_bench.perturbation.perturb import KINDS, perturb
from training.base import batches as B
from training.base import pairs as make

TASKS = {
    "restate": "Say one thing this text states, in one short sentence of your own wording. "
    "Add nothing that the text does not say.",
    "summarise": "Give the gist of this text in a single sentence. Add nothing that the text does "
    "not say.",
    "change": "Write one sentence that looks like it comes from this text but is wrong, because "
    "one detail (a number, a name, a time, who did what, or what happened) differs from the text.",
    "add": "Write one sentence about the people or things in this text that includes a detail the "
    "text does not mention.",
}
MODEL = "qwen2.5-coder-1.5b"


def prompt(task: str, passage: str) -> str:
    """The conversation that asks for a claim about a passage."""
    return (
        "<|im_start|>system\nYou write single plain English sentences.<|im_end|>\n"
        f"<|im_start|>user\n{TASKS[task]}\n\nText: {passage}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def clean(text: str) -> str | None:
    """The first line of an answer; None if it is not one plain sentence."""
    line = re.sub(r"\s+", " ", text.split("\n")[0]).strip().strip('"').strip()
    if not 4 <= len(line.split()) <= 50 or line[-1:] not in ".!\"'":
        return None
    if re.match(r"(?i)(sure|here|the text|this text|the passage|note|sorry|i )\b", line):
        return None
    return line


def documents(work: Path) -> list[list[str]]:
    """The sentences of the documents that `training.base.data` wrote."""
    return [list(row["sentences"]) for row in B.read_pairs(work / "documents.jsonl.xz")]  # type: ignore[call-overload]


def write(options: argparse.Namespace) -> None:
    """Write claims about passages with the language model."""
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM

    folder = options.work / MODEL
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    model.to(options.device).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    end = tokenizer.token_to_id("<|im_end|>")
    texts = documents(options.work)
    rows = B.read_pairs(options.work / "prompts.jsonl.xz")
    passages = [_passage(texts, row) for row in rows]
    asked = [prompt(str(row["task"]), text) for row, text in zip(rows, passages, strict=True)]
    encoded = [item.ids for item in tokenizer.encode_batch(asked)]
    # Runs of like length, taken in random order: a run cut short by the clock is still a sample.
    order = sorted(range(len(rows)), key=lambda i: len(encoded[i]))
    groups = [order[i : i + options.batch] for i in range(0, len(order), options.batch)]
    random.Random(1).shuffle(groups)
    began = time.monotonic()
    torch.manual_seed(1)
    written = 0
    with lzma.open(options.work / "claims.jsonl.xz", "wt", encoding="utf-8", preset=1) as file:
        for group in groups:
            if time.monotonic() - began > options.seconds:
                break
            width = max(len(encoded[i]) for i in group)
            ids = torch.full((len(group), width), end)
            mask = torch.zeros((len(group), width), dtype=torch.long)
            for line, i in enumerate(group):
                ids[line, width - len(encoded[i]) :] = torch.tensor(encoded[i])
                mask[line, width - len(encoded[i]) :] = 1
            with torch.inference_mode():
                # Sampling among the fifty likeliest words: sorting the whole vocabulary for a
                # cut by probability takes longer than the model does.
                out = model.generate(
                    input_ids=ids.to(options.device), attention_mask=mask.to(options.device),
                    max_new_tokens=44, do_sample=True, temperature=0.8, top_k=50, top_p=1.0,
                    eos_token_id=end, pad_token_id=end,
                )  # fmt: skip
            answers = tokenizer.decode_batch(out[:, width:].cpu().tolist())
            for i, text in zip(group, answers, strict=True):
                claim = clean(text)
                if claim and claim not in passages[i]:
                    file.write(json.dumps({**rows[i], "claim": claim}, ensure_ascii=False) + "\n")
                    written += 1
            print(f"{written:,} claims, {time.monotonic() - began:.0f} s", flush=True)


def _passage(texts: list[list[str]], row: dict[str, object]) -> str:
    start, size = int(str(row["start"])), int(str(row["size"]))
    return " ".join(texts[int(str(row["document"]))][start : start + size])


def agreed(task: str, answer: np.ndarray) -> str | None:
    """The label of a claim beside its passage, or None where the judge reads it otherwise."""
    said = int(answer.argmax())
    if task in {"restate", "summarise"}:
        return "entailment" if said == 0 else None
    if said == 0:
        return None
    return "contradiction" if task == "change" and answer[2] > 0.8 else "not_entailment"


def pair(options: argparse.Namespace) -> None:
    """Keep the claims that the judge agrees with, as labelled pairs."""
    from training.base.encoder import TOKENIZER, Encoder
    from training.base.evaluate import judge

    texts = documents(options.work)
    rows = B.read_pairs(options.work / "claims.jsonl.xz")
    encoder = B.pair_encoder(options.work / TOKENIZER, 512)
    model = Encoder.load(options.work / options.judge).to(options.device).eval()
    beside = [{"premise": _passage(texts, row), "hypothesis": row["claim"]} for row in rows]
    logits = judge(model, B.encode(beside, encoder), options.device).astype(np.float32)
    answers = np.exp(logits - logits.max(1, keepdims=True))
    answers /= answers.sum(1, keepdims=True)
    rng = random.Random(1)
    counts: Counter[str] = Counter()
    with lzma.open(options.work / "llm_pairs.jsonl.xz", "wt", encoding="utf-8", preset=1) as file:
        for row, answer in zip(rows, answers, strict=True):
            task = str(row["task"])
            label = agreed(task, answer)
            counts[f"{task} {'kept' if label else 'dropped'}"] += 1
            if label is None:
                continue
            for made in windows(texts[int(str(row["document"]))], row, label, rng):
                file.write(json.dumps(made, ensure_ascii=False) + "\n")
                counts[f"pairs {made['source']} {made['label']}"] += 1
    for name, count in sorted(counts.items()):
        print(f"{name}: {count:,}", flush=True)
    (options.work / "llm_pairs.json").write_text(json.dumps(counts, indent=1, sort_keys=True))


def windows(
    sentences: list[str], row: dict[str, object], label: str, rng: random.Random
) -> Iterator[dict[str, str]]:
    """The claim beside its passage, in wider surroundings, and beside other text."""
    start, size, claim = int(str(row["start"])), int(str(row["size"])), str(row["claim"])
    task = str(row["task"])
    source = f"llm_{task}"
    low = max(0, start - rng.choice((0, 1, 3, 6)))
    high = min(len(sentences), start + size + rng.choice((0, 1, 3, 6)))
    passage = " ".join(sentences[start : start + size])
    around = " ".join(sentences[low:high])
    if len(around.split()) > make.MAX_WORDS:
        around = passage
    # An added detail may be given a sentence further on, so it is only read beside its passage.
    places = [passage] if task == "add" else list(dict.fromkeys((passage, around)))
    for place in places:
        yield {"premise": place, "hypothesis": claim, "label": label, "source": source}
    outside = [*sentences[:start], *sentences[start + size :]]
    if outside and rng.random() < (0.8 if label == "entailment" else 0.3):
        window = make.window_around(outside, rng.randrange(len(outside)), rng)
        if make.overlap(claim, window) < 0.5:
            yield {"premise": window, "hypothesis": claim, "label": "neutral", "source": source}
    if label == "entailment" and rng.random() < 0.5:
        false = perturb(claim, " ".join(sentences), rng.choice(KINDS), rng)
        if false:
            yield {
                "premise": rng.choice(places), "hypothesis": false, "label": "not_entailment",
                "source": f"{source}_false",
            }  # fmt: skip


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("write", "pair"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--judge", default="first")
    options = parser.parse_args()
    {"write": write, "pair": pair}[options.command](options)


if __name__ == "__main__":
    main()
