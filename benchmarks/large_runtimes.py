"""Runtimes of the large verifier: tokens per second, and how far their answers lie apart.

    python -m benchmarks.large_runtimes BASE.gguf src/halldetect/weights/large/adapter.lora8
    python -m benchmarks.large_runtimes BASE.gguf ADAPTER.lora8 --only onnx torch --threads 8

Every runtime judges the same pairs: short passages with six claims each, and a passage of some
900 tokens with four. For each the results file holds wall-clock and CPU seconds of reading the
long passage and of its claims, the memory of the process, and the greatest and mean difference of
a probability and of a logit from the reference, which is torch in float32. Each runtime runs in a
process of its own. CPU seconds tell runtimes apart on a machine that is busy with other things;
tokens per second are given per second of both. "base" is the small verifier on every window of the
long passage with the same claims, the work that reading the passage once replaces; each runtime's
time is also given as a multiple of it.

Writes benchmarks/results/large_runtimes.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import processor
from halldetect import Detector
from halldetect.large import load_large
from halldetect.large.answer_prompt import Prompt
from halldetect.large.shape import Shape
from halldetect.large.verifier import Backend, Group
from halldetect.models.gguf import GgufFile
from halldetect.models.integrity import digest_of

RESULTS = Path(__file__).parent / "results" / "large_runtimes.json"

PASSAGES: dict[str, list[str]] = {
    "The ferry to Hallig Norderoog leaves at 9:15 from pier two and takes fifty minutes. On "
    "Sundays and public holidays there is only one sailing, at 11:00. A day ticket costs 18 euros "
    "for adults and 9 euros for children under twelve; dogs travel free but must be kept on a "
    "lead. The island has no shop, so visitors should bring food and water. The last boat back "
    "leaves at 17:40 and does not wait.": [
        "The boat trip takes less than an hour.",
        "Dogs are not allowed on the ferry.",
        "A child of ten pays 9 euros for a day ticket.",
        "Visitors can buy lunch in a shop on the island.",
        "The ferry was built in 1987.",
        "There are two sailings on Sundays.",
    ],
    "Dr. Amara Okafor, who joined the institute in 2016, led the team that sequenced the genome "
    "of the mountain barley. The work took four years and was paid for by the regional government "
    "and two foundations. Her colleague Jonas Lind wrote the software that put the fragments "
    "together. The paper appeared in March 2021; a correction in June of the same year changed "
    "one figure but none of the conclusions. Okafor has since moved to Nairobi, where she runs "
    "a laboratory of twelve people.": [
        "Jonas Lind led the team that sequenced the barley genome.",
        "The correction did not change the conclusions of the paper.",
        "Okafor works in Nairobi today.",
        "The regional government paid for all of the work.",
        "The paper was published in 2021.",
        "The laboratory in Nairobi studies barley.",
    ],
    "Model | Power | Weight | Price\nT-200 | 1.4 kW | 2.1 kg | 89 euros\nT-300 | 1.8 kW | 2.6 kg | "
    "129 euros\nT-300 Pro | 2.2 kW | 2.6 kg | 199 euros\nAll models come with a warranty of two "
    "years; the T-300 Pro has three. Batteries are sold separately.": [
        "The T-300 weighs as much as the T-300 Pro.",
        "The T-200 costs 129 euros.",
        "The T-300 Pro has the longest warranty.",
        "Every model includes a battery.",
        "The most powerful model has 2.2 kW.",
        "The T-200 is made of steel.",
    ],
    "Anna: Did you book the room for Thursday?\nPaul: Not yet, the big one was taken. I asked for "
    "the one on the third floor instead.\nAnna: That only holds eight people. We are eleven.\n"
    "Paul: Right. Then let us move to Friday, the big room is free all morning.\nAnna: Friday "
    "works for everyone but Mei, who is in Lisbon until Saturday. She can join by phone.": [
        "The meeting would take place on Friday.",
        "The room on the third floor is large enough for the group.",
        "Mei will be in the room on Friday.",
        "Paul could not get the big room for Thursday.",
        "Mei is on holiday in Lisbon.",
        "Eleven people are expected.",
    ],
}

LONG_PASSAGE = (
    "The town of Brennau lies where the Elm meets the Saar, on a shelf of gravel that the two "
    "rivers have piled up since the last ice age. Its oldest document is a deed of 1143, in which "
    "a widow named Hiltrud gave a mill and two vineyards to the abbey of Sankt Veit. The mill "
    "burned down three times and was rebuilt each time on the same foundations; the building "
    "that stands there now dates from 1802 and has been a museum since 1974. "
    "For most of its history Brennau lived from timber. Trunks were floated down the Elm in "
    "spring, caught by a boom of chains at the bridge, and sawn in eleven mills along the bank. "
    "In the best years, around 1870, the mills employed 640 people, and a third of the houses "
    "belonged to families of raftsmen. The railway came in 1889, twelve years later than planned, "
    "because the landowners of the east bank could not agree with the company on a price. With "
    "the railway the rafts disappeared within a decade. Nine of the eleven mills closed before "
    "the First World War; the last one, Kessler and Sons, made window frames until 1996.\n\n"
    "The flood of February 1947 is the event that older people still count from. Snow had lain "
    "since November, and when the warm rain set in on the ninth the ground was frozen to a depth "
    "of half a metre. The Elm rose four metres in eleven hours. The stone bridge, which had stood "
    "since 1611, lost its middle arch at four in the morning, and with it the only telephone "
    "line to the hospital. Seventeen people died, most of them in the low quarter behind the "
    "fish market. The mayor at the time, Theodor Brandt, had asked the district for sandbags "
    "twice in January and had been refused twice. An inquiry in 1949 blamed no one. The bridge "
    "was repaired with concrete in 1951, against the wish of the monument office, and has been "
    "closed to lorries since 2008.\n\n"
    "Today Brennau has 9,300 inhabitants, about a thousand fewer than in 1990. The largest "
    "employer is the hospital with 410 staff, followed by a maker of hearing aids that moved into "
    "the old freight station in 2003. Half of those who work live elsewhere and come by the "
    "regional train, which runs every thirty minutes on weekdays and every hour at weekends. The "
    "town council decided in May 2019, by thirteen votes to ten, to heat the public buildings "
    "from a plant that burns wood chips; it went into service two years late and cost 6.8 million "
    "euros instead of the 4.9 million that had been planned. According to the treasurer, Ines "
    "Wolter, the plant saves 310,000 euros a year compared with gas at the prices of 2021. The "
    "opposition doubts the figure, since it leaves out the repair of the conveyor in the first "
    "winter.\n\n"
    "Visitors come mainly for the river path, which follows the Elm for 23 kilometres from the "
    "weir above the town to the lock at Tarn. It may be walked or cycled, is flat all the way, "
    "and is closed only when the gauge at the bridge shows more than 3.20 metres. Boats can be "
    "hired at the weir from April to October. The museum in the mill is open on every day but "
    "Monday; in the winter half of the year it opens only at weekends. Entry is free for those "
    "who live in the town, and 5 euros for everyone else. A room on the upper floor shows the "
    "photographs that the pharmacist Lena Hofer took on the morning after the flood. She had "
    "carried her camera and eleven plates up to the church tower in the dark, and six of the "
    "plates turned out well. One of them, which shows the broken bridge with a cow standing on "
    "the remaining arch, was printed in newspapers as far away as Chicago."
)
LONG_CLAIMS = [
    "The stone bridge of Brennau lost its middle arch in the flood of 1947.",
    "The heating plant cost less than had been planned.",
    "The museum in the mill can be visited on Wednesdays in January.",
    "Ines Wolter voted for the plant in May 2019.",
]
VARIANTS = ("torch", "onnx", "base")


def load(name: str, base: Path, adapter: Path, threads: int, cache: Path) -> tuple[Backend, Prompt]:
    """Load a runtime of `large` by its name: torch or onnx."""
    context = min(4096, Shape.of(GgufFile(base)).context)
    large = load_large(base, adapter, runtime=name, threads=threads, context=context, cache=cache)
    return large.backend, large.prompt


def measured(name: str, base: Path, adapter: Path, threads: int, cache: Path) -> dict[str, Any]:
    """What one runtime takes and answers; run it in a process of its own."""
    began = time.perf_counter()
    backend, prompt = load(name, base, adapter, threads, cache)
    loading = time.perf_counter() - began
    groups = [
        Group(passage, tuple(prompt.claims(claims)))
        for passage, claims in zip(prompt.passages(list(PASSAGES)), PASSAGES.values(), strict=True)
    ]
    short = [rows.tolist() for rows in backend.answer(groups)]
    [passage] = prompt.passages([LONG_PASSAGE])
    claims = prompt.claims(LONG_CLAIMS)
    steps = {}
    # The first claim is answered together with the reading; the others continue from it.
    for step, some in (("passage and a claim", claims[:1]), ("three more claims", claims[1:])):
        wall, cpu = time.perf_counter(), time.process_time()
        answers = backend.answer([Group(passage, tuple(some))])
        tokens = sum(map(len, some)) + (len(passage) if some == claims[:1] else 0)
        steps[step] = {
            "tokens": tokens,
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
        }
        short.append(answers[0].tolist())
    for values in steps.values():
        values["tokens_per_second"] = values["tokens"] / values["seconds"]
        values["tokens_per_cpu_second"] = values["tokens"] / values["cpu_seconds"]
    return {
        "runtime": backend.runtime,
        "threads": threads,
        "loading_seconds": loading,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "steps": steps,
        "logits": short,
    }


def measured_base(threads: int) -> dict[str, Any]:
    """What the small verifier takes for every window of the long passage."""
    detector = Detector(verifier="base", exact=True, threads=threads)
    response = " ".join(LONG_CLAIMS)
    detector.check("The ferry leaves at nine.", "The ferry leaves at nine.")  # loads the weights
    wall, cpu = time.perf_counter(), time.process_time()
    report = detector.check(LONG_PASSAGE, response)
    step = {
        "claims": len(report.claims),
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }
    return {"threads": threads, "steps": {"every window": step}}


def multiples(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The time of every runtime for passage and claims over that of `base` on every window."""
    base = results["base"]["steps"]["every window"]
    return {
        name: {
            kind: sum(step[kind] for step in found["steps"].values()) / base[kind]
            for kind in ("seconds", "cpu_seconds")
        }
        for name, found in results.items()
        if name != "base"
    }


def compared(logits: list[Any], reference: list[Any]) -> dict[str, float]:
    """How far answers lie from those of the reference."""
    ours, theirs = (
        np.concatenate([np.array(rows) for rows in found]) for found in (logits, reference)
    )

    def shares(values: Any) -> Any:
        powers = np.exp(values - values.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    # Only differences between logits count: a shift of all three changes no probability.
    apart = np.abs(
        (ours - ours.mean(-1, keepdims=True)) - (theirs - theirs.mean(-1, keepdims=True))
    )
    moved = np.abs(shares(ours) - shares(theirs))
    return {
        "pairs": len(ours),
        "logit_mean": float(apart.mean()),
        "logit_greatest": float(apart.max()),
        "probability_mean": float(moved.mean()),
        "probability_greatest": float(moved.max()),
        "other_answer": int((ours.argmax(-1) != theirs.argmax(-1)).sum()),
    }


def main() -> None:
    """Run each runtime in a process of its own, compare and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("adapter", type=Path)
    parser.add_argument("--only", nargs="+", default=VARIANTS, help="the first is the reference")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", type=Path, help="folder for converted models")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cache = options.cache or Path(tempfile.mkdtemp())
    if options.run:
        if options.run == "base":
            result = measured_base(options.threads)
        else:
            result = measured(options.run, options.base, options.adapter, options.threads, cache)
        options.out.write_text(json.dumps(result))
        return
    results: dict[str, Any] = {}
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "result.json"
            command = [
                sys.executable,
                "-m",
                "benchmarks.large_runtimes",
                str(options.base),
                str(options.adapter),
            ]
            command += ["--threads", str(options.threads), "--cache", str(cache)]
            subprocess.run([*command, "--out", str(out), "--run", name], check=True)
            results[name] = json.loads(out.read_text())
        if name == "base":
            print(f"base: {results[name]['steps']['every window']}", flush=True)
            continue
        reference = results[options.only[0]]["logits"]
        results[name]["difference"] = compared(results[name]["logits"], reference)
        steps = results[name]["steps"].values()
        speeds = ", ".join(f"{step['tokens_per_cpu_second']:.1f}" for step in steps)
        print(f"{name}: {speeds} tokens per CPU second; {results[name]['difference']}", flush=True)
    found = {
        "processor": processor(),
        "base_sha256": digest_of(options.base),
        "adapter_sha256": digest_of(options.adapter),
        "reference": options.only[0],
        "runtimes": results,
    }
    if "base" in results:
        found["times_base"] = multiples(results)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
