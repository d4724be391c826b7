"""Step 2b: claims written by a language model from passages that training may use.

    python -m training.verifier.generate WORK --seconds 300

Each passage is restated, summarised, changed in one detail, or extended by a detail it does not
give. What the model was asked for is only a hint: `--pair` keeps a claim when the teacher, which
learned from human labels alone, reads it the same way.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import time
from pathlib import Path

import numpy as np
import torch

from training.verifier import batches as B
from training.verifier.teacher import GGUF, configuration, dequantise, tokenizer_of

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
INTENT = {"restate": 0, "summarise": 0, "change": 2, "add": 1}


def prompt(row: dict[str, object]) -> str:
    return (
        "<|im_start|>system\nYou write single plain English sentences.<|im_end|>\n"
        f"<|im_start|>user\n{TASKS[str(row['task'])]}\n\nText: {row['passage']}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def clean(text: str) -> str | None:
    line = re.sub(r"\s+", " ", text.split("\n")[0]).strip().strip('"').strip()
    if not 4 <= len(line.split()) <= 50 or line[-1:] not in ".!\"'":
        return None
    if re.match(r"(?i)(sure|here|the text|this text|note|sorry|i )\b", line):
        return None
    return line


def generate(options: argparse.Namespace) -> None:
    from transformers import Qwen2ForCausalLM

    config = configuration(options.work / GGUF)
    with torch.device(options.device):
        torch.set_default_dtype(torch.bfloat16)
        model = Qwen2ForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    model.model.load_state_dict(dequantise(options.work / GGUF), strict=False)
    model.tie_weights()
    model.eval()
    tokenizer = tokenizer_of(options.work)
    end = tokenizer.token_to_id("<|im_end|>")
    rows = B.read_pairs(options.work / "prompts.jsonl.xz")
    encoded = [item.ids for item in tokenizer.encode_batch([prompt(row) for row in rows])]
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
                out = model.generate(
                    input_ids=ids.to(options.device), attention_mask=mask.to(options.device),
                    max_new_tokens=48, do_sample=True, temperature=0.8, top_p=0.95,
                    eos_token_id=end, pad_token_id=end,
                )  # fmt: skip
            texts = tokenizer.decode_batch(out[:, width:].cpu().tolist())
            for i, text in zip(group, texts, strict=True):
                claim = clean(text)
                if claim and claim not in str(rows[i]["passage"]):
                    file.write(json.dumps({**rows[i], "claim": claim}, ensure_ascii=False) + "\n")
                    written += 1
            print(f"{written:,} claims, {time.monotonic() - began:.0f} s", flush=True)


def pair_up(options: argparse.Namespace) -> None:
    """Claims against their own passage, its surroundings and text from elsewhere."""
    rows = []
    for row in B.read_pairs(options.work / "claims.jsonl.xz"):
        for place in ("passage", "around", "outside"):
            if row[place]:
                rows.append({
                    "premise": row[place], "hypothesis": row["claim"], "label": "",
                    "source": f"llm_{row['task']}_{place}", "intent": INTENT[str(row["task"])],
                })  # fmt: skip
    with lzma.open(options.work / "llm_pairs.jsonl.xz", "wt", encoding="utf-8", preset=1) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(rows):,} pairs", flush=True)


def keep_agreed(options: argparse.Namespace) -> None:
    """Blank the teacher's rows where it reads a claim otherwise than it was meant."""
    rows = B.read_pairs(options.work / "llm_pairs.jsonl.xz")
    answers = np.load(options.work / "llm_labels.npy")
    verdict = np.nan_to_num(answers).argmax(1)
    kept: dict[str, list[int]] = {}
    agreed: dict[str, bool] = {}
    for number, row in enumerate(rows):
        if str(row["source"]).endswith("_passage"):
            meant = verdict[number] == row["intent"] or (
                row["intent"] == 2 and verdict[number] == 1
            )
            agreed[str(row["hypothesis"])] = bool(meant)
            kept.setdefault(str(row["source"]), []).append(int(meant))
    for number, row in enumerate(rows):
        if not agreed.get(str(row["hypothesis"]), False):
            answers[number] = np.nan
    np.save(options.work / "llm_labels.npy", answers)
    for source, values in sorted(kept.items()):
        print(f"{source}: kept {sum(values):,} of {len(values):,}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--batch", type=int, default=384)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--pair", action="store_true")
    parser.add_argument("--keep-agreed", action="store_true")
    options = parser.parse_args()
    if options.pair:
        pair_up(options)
    elif options.keep_agreed:
        keep_agreed(options)
    else:
        generate(options)


if __name__ == "__main__":
    main()
