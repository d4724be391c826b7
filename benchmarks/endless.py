"""Does the trained splitter always come to an end? A thousand varied inputs, hostile ones too.

    python -m benchmarks.endless [--extractor splitter] [--inputs 1000]

The inputs (`training/extractor/hard.py`) are plain and hard sentences, sentences joined into
monsters, lists, noise, orders to the reader and the model's own turn marks.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from halldetect.claims.extraction import extract_claims
from halldetect.claims.extractors import load_extractor
from training.extractor.hard import varied

RESULTS = Path(__file__).parent / "results" / "extract_endless.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extractor", default="splitter")
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    extractor = load_extractor(options.extractor)
    passes = written = most = touched = 0
    worked = longest = 0.0
    for number, text in enumerate(varied(options.inputs, seed=3), 1):
        began = time.process_time()
        made = extract_claims(text, extractor)
        spent = time.process_time() - began
        worked, longest = worked + spent, max(longest, spent)
        passes += made.generative_passes
        written += made.tokens_out
        most = max(most, made.tokens_out)
        touched += bool(made.dropped or made.restored)
        if number % 100 == 0:
            print(f"{number} inputs, {passes} answers, {worked:.0f} s", flush=True)
    found = {
        "extractor": extractor.description,
        "inputs": options.inputs,
        "answers": passes,
        "tokens_written": written,
        "most_tokens_for_one_input": most,
        "inputs_in_which_the_guard_intervened": touched,
        "processor_seconds": round(worked, 1),
        "longest_processor_seconds": round(longest, 2),
    }
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
