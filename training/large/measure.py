"""Measure adapters of the large verifier on evaluation and development sets, and calibrate them.

    python -m training.large.measure prepare DATA WORK        # WORK/eval_groups.jsonl.xz, eval_rows
    python -m training.large.measure run WORK --name new --adapter A.lora8 [--sets dev]
    python -m training.large.measure report WORK --name new --config C [--fit] --out R.json

The claims of a response are those of the package (`halldetect.reading`), judged against the whole
source, each also with its references resolved. `run` needs a GPU. `report --fit` chooses the
calibration on the development sets (see `fit`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect_bench.datasets.labelled_rows import Row
from training.files import read
from training.large import handmade
from training.large.data import write
from training.large.sources import readable
from training.operating_points import at_operating_point, fit_operating_points

SIX = ("qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto-test")
SHORT_DEV = ("storysumm", "dialsummeval", "wice", "bump", "pubmedqa", "defacto-val")
LONG_DEV = ("dev-qa", "dev-summary", "dev-records", "dev-long", "dev-conclusions")
SENTENCES = {"records": 7, "long": 4, "conclusions": 6}  # right ones in a constructed answer
SUITES = ("cases", "checks", "everyday", "contexts", "recombined")
MEMERAG = ("memerag_en", "memerag_de", "memerag_es", "memerag_fr", "memerag_hi")
LONGEST = 12_000  # tokens of a source that is judged whole
LENGTHS_TRIED = tuple(round(0.1 * step, 1) for step in range(11))
WORTH, EVERYDAY = 0.005, 0.21
WEIGHTS_TRIED = tuple(round(0.1 * step, 1) for step in range(11))
LEAST = 1e-4
Floats = NDArray[np.float64]
# Per set: whether each response is hallucinated, and its score.
Scores = dict[str, tuple[NDArray[np.bool_], Floats]]


def drawn(rows: Sequence[Row], most: int) -> list[Row]:
    """Return the labelled rows of a set, at most some of them, drawn with a fixed seed."""
    found = [row for row in rows if row.response and row.hallucinated is not None]
    count = min(most, len(found))
    # All of a small set, in its order.
    return [found[at] for at in sorted(random.Random(14).sample(range(len(found)), count))]


def responses(shared: Path, work: Path, most: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of every set: source, claims with readings, labels of claims and response."""
    from benchmarks.suites import suite_rows
    from halldetect.reading.claims import read_claims
    from halldetect.reading.response import read_response
    from halldetect.report import Status
    from halldetect_bench.methods.method import documents
    from halldetect_bench.registry import load_dataset
    from training.large import answers, records

    def row(name: str, source: str, response: str, wrong: bool, key: str, question: str | None
            ) -> dict[str, Any]:  # fmt: skip
        claims = [[claim.text, claim.read_as]
                  for claim in read_claims(read_response(response, question))
                  if claim.problem is None]  # fmt: skip
        return {"set": name, "source": source, "wrong": wrong, "claims": claims, "document": key}

    for name in SIX + SHORT_DEV:
        for item in drawn(load_dataset(name, shared / "datasets").rows, most):
            source = "\n\n".join(map(readable, documents(item)))
            yield row(name, source, item.response, bool(item.hallucinated), source[:80],
                      item.question)  # fmt: skip
    for task in ("qa", "summary", "data2txt"):
        for at, (part, text, given) in enumerate(answers.ragtruth(shared, task)):
            names = {task if task == "data2txt" else f"{part}-{task}": readable(text)}
            if task == "data2txt":
                names["data2txt-lines"] = "\n".join(records.path_lines(json.loads(text)))
            for response in given if part != "train" else ():
                labels = answers.labelled(response)
                for name, source in names.items():
                    yield {
                        "set": name, "source": source, "wrong": bool(response["labels"]),
                        "claims": [[claim.text, claim.read_as] for claim, _ in labels],
                        "labels": [label for _, label in labels], "document": f"{task}-{at}",
                    }  # fmt: skip
    for at, item in enumerate(read(shared / "datasets" / "clearfacts" / "aggrefact.jsonl")):
        source = "\n\n".join(map(readable, item["reference_documents"]))
        yield row("clearfacts", source, item["statement"], item["label"] == "NS", str(at), None) | {
            "category": item["category"]}  # fmt: skip
    yield from made_up(read(work / "answers_dev.jsonl.xz"))
    for suite in SUITES:
        for one in suite_rows(suite):
            wrong = one.expected != Status.SUPPORTED
            yield row(suite, readable(str(one.source)), one.claim, wrong, one.id, None)
    yield from in_languages(shared)
    yield from made_up(conclusions())


def conclusions() -> Iterator[dict[str, Any]]:
    """Yield the handwritten conclusions that are held out, as groups."""
    for item in handmade.items():
        if item["set"] == "conclusions" and handmade.is_dev(item):
            passage = handmade.filled(item, 0, random.Random(4))
            claims = [{"text": claim.text, "label": claim.label} for claim in passage.claims]
            yield {"source": item["set"], "premise": passage.text, "claims": claims}


def in_languages(shared: Path) -> Iterator[dict[str, Any]]:
    """Yield MEMERAG's answers with the sentences of its annotators, and our claims by languages.

    A suite is named after its language, or after those of source and claim if they differ.
    """
    states = {"Supported": "E", "Not Supported": "notE"}
    for name in MEMERAG:
        file = shared / "datasets" / "memerag" / f"{name.removeprefix('memerag_')}.jsonl"
        for item in read(file):
            told = [(part["sentence"].strip(), states[part["factuality"]])
                    for part in item["answer"] if part["factuality"] in states]  # fmt: skip
            yield {
                "set": name, "wrong": any(label != "E" for _, label in told),
                "source": "\n\n".join(readable(part["text"]) for part in item["context"]),
                "claims": [[text, None] for text, _ in told],
                "labels": [label for _, label in told], "document": str(item["query_id"]),
            }  # fmt: skip
    suite = Path(__file__).parents[2] / "tests" / "data" / "languages.jsonl"
    for item in read(suite):
        names = dict.fromkeys((item["language"], item["claim_language"]))
        yield {
            "set": "_".join(["suite", *names]), "source": readable(item["source"]),
            "wrong": item["label"] != "E", "claims": [[item["claim"], None]],
            "document": item["source"][:80],
        }  # fmt: skip


def made_up(groups: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield answers made from labelled claims, half of them with a wrong one."""
    rng = random.Random(3)
    for group in groups:
        kind = group["source"].split("_")[0]
        if kind not in SENTENCES:
            continue
        true = [claim for claim in group["claims"] if claim["label"] == "E"]
        false = [claim for claim in group["claims"] if claim["label"] != "E"]
        size = SENTENCES[kind]
        for wrong in (False, True, False, True) if len(true) > size and false else ():
            chosen = rng.sample(true, size) + (rng.sample(false, 1) if wrong else [])
            yield {
                "set": f"dev-{kind}", "source": group["premise"],
                "wrong": wrong, "claims": [[claim["text"], None] for claim in chosen],
                "labels": [claim["label"] for claim in chosen], "document": group["premise"][:80],
            }  # fmt: skip


def prepare(options: argparse.Namespace) -> None:
    """Write the rows, and the groups of sources and claims that are judged."""
    groups: list[dict[str, Any]] = []
    known: dict[str, tuple[int, dict[str, int]]] = {}
    rows = []
    for row in responses(options.shared, options.work, options.rows):
        source = row.pop("source")
        if not row["claims"]:
            continue
        if source not in known:
            known[source] = (len(groups), {})
            groups.append({"premise": source, "claims": [], "source": row["set"]})
        at, places = known[source]
        for claim in dict.fromkeys(text for pair in row["claims"] for text in pair if text):
            if claim not in places:
                places[claim] = len(places)
                groups[at]["claims"].append(claim)
        row["group"] = at
        row["claims"] = [[None if text is None else places[text] for text in pair]
                         for pair in row["claims"]]  # fmt: skip
        rows.append(row)
    for name, lines in (("eval_rows.jsonl.xz", rows), ("eval_groups.jsonl.xz", groups)):
        write(options.work / name, lines)
    print(f"{len(rows):,} responses, {len(groups):,} sources")


def read_rows(work: Path) -> list[dict[str, Any]]:
    """Return the rows of `prepare`."""
    return list(read(work / "eval_rows.jsonl.xz"))


def run(options: argparse.Namespace) -> None:
    """Judge the claims of the chosen sets, or of a file of groups for `base` to learn from."""
    import torch

    from training.large import adapter, pack
    from training.large.model import Verifier
    from training.large.train import judged

    base = options.work / "base.gguf"
    data = pack.load(options.work / (options.groups or "eval_groups.jsonl.xz"), base)
    model = Verifier(base, device=options.device, rank=64)
    model.load(adapter.read(options.adapter), rank=64)
    chosen = np.arange(len(data))
    if not options.groups:
        chosen = groups_of(read_rows(options.work), options.sets)
    longest = min(LONGEST, options.row - int(np.diff(data.tail_offsets).max()))
    logits = judged(model, data, chosen, options.row, 1, longest)
    if options.groups:
        out = options.work / options.name
        out.mkdir(exist_ok=True)
        shares = torch.softmax(logits, -1).numpy().astype(np.float16)
        np.savez_compressed(
            out / "labels_0000.npz", first=0, last=len(shares), probabilities=shares
        )
        return
    save_logits(options.work, options.name, logits.numpy(), data.first, options.adapter)


def groups_of(rows: Sequence[Mapping[str, Any]], sets: str) -> NDArray[np.int64]:
    """Return the groups of all sets, or of those for development."""
    wanted = {*LONG_DEV, *SHORT_DEV, *SUITES} if sets == "dev" else None
    return np.unique([row["group"] for row in rows if wanted is None or row["set"] in wanted])


def groups_first(work: Path) -> NDArray[np.int64]:
    """Return the number of the first claim of every group."""
    groups = read(work / "eval_groups.jsonl.xz")
    return np.cumsum([0, *(len(group["claims"]) for group in groups)])


def save_logits(
    work: Path,
    name: str,
    logits: NDArray[Any],
    first: NDArray[Any],
    weights: Path,
    windows: NDArray[Any] | None = None,
) -> None:
    """Write answers with the digest of the weights.

    Args:
        work: the folder of the file.
        name: the name of the answers.
        logits: of every claim, or of every window of every claim.
        first: the number of the first claim of every group.
        weights: the file of the weights.
        windows: the number of the first window of every claim; None for the whole source.
    """
    windows = np.arange(len(logits) + 1) if windows is None else windows
    np.savez_compressed(
        work / f"{name}_logits.npz", logits=logits.astype(np.float16), first=first,
        windows=windows, digest=hashlib.sha256(weights.read_bytes()).hexdigest(),
    )  # fmt: skip


class Answers:
    """The rows of one adapter, with P(E) and P(C) of every claim and of its other reading."""

    def __init__(self, work: Path, name: str) -> None:
        with np.load(work / f"{name}_logits.npz") as found:
            logits = found["logits"].astype(np.float64)
            first, windows = found["first"], found["windows"]
            self.digest = str(found["digest"])
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        shares = powers / powers.sum(-1, keepdims=True)
        self.rows: list[dict[str, Any]] = []
        places: list[int] = []
        claims: list[int] = []  # where the readings of a claim begin
        rows: list[int] = []  # where the claims of a row begin
        for row in read_rows(work):
            begin = first[row["group"]]
            if np.isnan(logits[windows[begin + row["claims"][0][0]], 0]):
                continue
            self.rows.append(row)
            rows.append(len(claims))
            for pair in row["claims"]:
                claims.append(len(places))
                for at in pair:
                    if at is not None:
                        places += range(windows[begin + at], windows[begin + at + 1])
        self._shares = shares[places]
        self._claims, self._first = np.array(claims), np.array(rows)
        self._sets = np.array([row["set"] for row in self.rows])
        self._wrong = np.array([row["wrong"] for row in self.rows])

    def supports(self, calibration: Mapping[str, float]) -> Floats:
        """Return the support of every claim, row after row."""
        weight = calibration.get("contradiction_weight", 1.0)
        raw = (self._shares[:, 0] * (1 - weight * self._shares[:, 2])).clip(1e-9, 1 - 1e-9)
        odds = np.maximum.reduceat(np.log(raw / (1 - raw)), self._claims)
        counts = np.diff(np.append(self._first, len(self._claims)))
        longer = np.repeat(np.log(counts), counts) * calibration.get("length", 0.0)
        odds = calibration.get("slope", 1.0) * odds + calibration.get("offset", 0.0) + longer
        return 1 / (1 + np.exp(-odds))

    def scores(self, calibration: Mapping[str, float]) -> Scores:
        """Return label and score of every response, by set."""
        found = 1 - np.minimum.reduceat(self.supports(calibration), self._first)
        return {name: (self._wrong[mine], found[mine]) for name in dict.fromkeys(self._sets)
                if (mine := self._sets == name).any()}  # fmt: skip

    def sentences(self, calibration: Mapping[str, float]) -> Scores:
        """Return label and score of every sentence, by set, where sentences have labels."""
        supports = np.split(self.supports(calibration), self._first[1:])
        found: defaultdict[str, tuple[list[bool], list[float]]] = defaultdict(lambda: ([], []))
        for row, support in zip(self.rows, supports, strict=True):
            if "labels" in row:
                found[row["set"]][0].extend(label != "E" for label in row["labels"])
                found[row["set"]][1].extend((1 - support).tolist())
        return {name: (np.array(wrong), np.array(score)) for name, (wrong, score) in found.items()}


def balanced(wrong: NDArray[np.bool_], scores: Floats, cut: float = 0.5) -> float:
    """Return the balanced accuracy at a cut."""
    said = scores >= cut
    return float((said[wrong].mean() + (~said[~wrong]).mean()) / 2)


def log_loss(wrong: NDArray[np.bool_], scores: Floats) -> float:
    """Return the log loss, both labels counting the same."""
    scores = scores.clip(LEAST, 1 - LEAST)
    return float(-(np.log(scores[wrong]).mean() + np.log(1 - scores[~wrong]).mean()) / 2)


def fit(answers: Answers, length: float = 0.0) -> dict[str, float]:
    """Return the calibration that suits the development sets, long and short answers alike.

    The weight of P(C) has the least log loss. Offset and length give the threshold 0.5 the greatest
    balanced accuracy; another length must gain at least `WORTH`. Everyday answers of one sentence
    must not be flagged more often than `EVERYDAY`, the share of earlier weights.
    """

    def mean(figure: Any, calibration: Mapping[str, float]) -> float:
        scores = answers.scores(calibration)
        groups = [[figure(*scores[name]) for name in names if name in scores]
                  for names in (SHORT_DEV, LONG_DEV)]  # fmt: skip
        return float(np.mean([np.mean(group) for group in groups if group]))

    def alarms(calibration: Mapping[str, float]) -> float:
        found = answers.scores(calibration).get("everyday")
        return 0.0 if found is None else float((found[1][~found[0]] >= 0.5).mean())

    weight = min(WEIGHTS_TRIED, key=lambda value: min(
        mean(log_loss, {"contradiction_weight": value, "offset": offset})
        for offset in (0, 0.2, 0.4, 0.6)
    ))  # fmt: skip
    fitted = {"contradiction_weight": weight}
    found = {
        tried: {
            offset: mean(balanced, fitted | {"offset": offset, "length": tried})
            for offset in np.round(np.linspace(-1, 1.5, 51), 2).tolist()
            if alarms(fitted | {"offset": offset, "length": tried}) <= EVERYDAY
        }
        for tried in LENGTHS_TRIED
    }
    best = max(LENGTHS_TRIED, key=lambda tried: max(found[tried].values()))
    if max(found[best].values()) - max(found[length].values()) < WORTH:
        best = length
    # The middle of all that are nearly as good, so that the cut does not follow chance.
    good = [at for at, value in found[best].items() if value >= max(found[best].values()) - 0.002]
    fitted["offset"] = round(float(np.median(good)), 2)
    return fitted | ({"length": best} if best or length else {})


def figures(wrong: NDArray[np.bool_], scores: Floats, samples: int) -> dict[str, Any]:
    """Return the figures of one set, with 95 % intervals from bootstrap samples."""
    from halldetect_bench.stats.classification_metrics import auroc

    found = {"rows": len(wrong), "wrong": int(wrong.sum())}
    if not 0 < wrong.sum() < len(wrong):
        return found
    rng = np.random.default_rng(1)
    picks = [rng.integers(0, len(wrong), len(wrong)) for _ in range(samples)]
    picks = [pick for pick in picks if 0 < wrong[pick].sum() < len(pick)]
    areas = [auroc(wrong[pick].tolist(), scores[pick].tolist()) for pick in picks]
    exact = [balanced(wrong[pick], scores[pick]) for pick in picks]
    return found | {
        "auroc": round(float(auroc(wrong.tolist(), scores.tolist()) or 0), 4),
        "auroc_interval": np.percentile(np.array(areas, float), [2.5, 97.5]).round(4).tolist(),
        "balanced_accuracy": round(balanced(wrong, scores), 4),
        "balanced_interval": np.percentile(exact, [2.5, 97.5]).round(4).tolist(),
        "recall": round(float((scores[wrong] >= 0.5).mean()), 4),
        "false_alarms": round(float((scores[~wrong] >= 0.5).mean()), 4),
    }


def summary(
    answers: Answers, calibration: Mapping[str, float], samples: int = 300
) -> dict[str, Any]:
    """Return the figures of all sets, per response and per sentence, and means."""
    by_set = {name: figures(*pair, samples) for name, pair in answers.scores(calibration).items()}
    sentences = {
        name: figures(*pair, samples) for name, pair in answers.sentences(calibration).items()
    }
    means = {}
    same = tuple(name for name in by_set if re.fullmatch(r"suite_[a-z]+", name))
    across = tuple(name for name in by_set if re.fullmatch(r"suite_[a-z]+_[a-z]+", name))
    for title, names, found in (
        ("six", SIX, by_set), ("short_dev", SHORT_DEV, by_set), ("long_dev", LONG_DEV, by_set),
        ("suites", SUITES, by_set), ("memerag", MEMERAG, sentences),
        ("memerag_answers", MEMERAG, by_set), ("suite_languages", same, by_set),
        ("suite_across", across, by_set),
    ):  # fmt: skip
        mine = [found[name] for name in names if "auroc" in found.get(name, {})]
        if mine:
            keys = ("auroc", "balanced_accuracy", "false_alarms", "recall")
            means[title] = {
                key: round(float(np.mean([item[key] for item in mine])), 4) for key in keys
            }
    return {
        "adapter": answers.digest, "calibration": dict(calibration), "means": means,
        "responses": by_set, "sentences": sentences,
    }  # fmt: skip


def differences(new: Answers, old: Answers, calibration: Mapping[str, float]) -> dict[str, Any]:
    """Return the gain in AUROC over other answers to the same rows, with 95 % intervals."""
    from halldetect_bench.stats.classification_metrics import auroc

    rng = np.random.default_rng(2)
    first, second = new.scores(calibration), old.scores(calibration)
    found, drawn = {}, {}
    for name in filter(second.__contains__, first):
        wrong, scores = first[name]
        picks = [np.arange(len(wrong)), *rng.integers(0, len(wrong), (200, len(wrong)))]
        drawn[name] = np.array([
            (auroc(wrong[pick].tolist(), scores[pick].tolist()) or 0.5)
            - (auroc(wrong[pick].tolist(), second[name][1][pick].tolist()) or 0.5) for pick in picks
        ])  # fmt: skip
    for title, names in (("six", SIX), *((name, (name,)) for name in drawn)):
        gains = np.mean([drawn[name] for name in names if name in drawn], 0)
        spread = np.percentile(gains[1:], [2.5, 97.5]).round(4).tolist()
        found[title] = {"auroc": round(float(gains[0]), 4), "interval": spread}
    return found


def report(options: argparse.Namespace) -> None:
    """Print and write the figures; with `--fit`, also calibration and thresholds of the config."""
    answers = Answers(options.work, options.name)
    config = json.loads(options.config.read_text(encoding="utf-8"))
    if options.fit:
        earlier = config.get("calibration", {})
        config["calibration"] = earlier | fit(answers, earlier.get("length", 0.0))
    scores = answers.scores(config["calibration"])
    sets = {name: scores[name] for name in SHORT_DEV + LONG_DEV if name in scores}
    if options.fit:
        config["operating_points"] = fit_operating_points(sets)
        options.config.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    result = summary(answers, config["calibration"])
    points = {**config["operating_points"], "default": 0.5}
    result |= {
        "operating_points": config["operating_points"],
        "development": {n: at_operating_point(sets, cut) for n, cut in points.items()},
        "six": {n: at_operating_point({k: scores[k] for k in SIX if k in scores}, cut)
                for n, cut in points.items()},
        "weights": {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
                    for file in sorted(options.config.parent.iterdir())},
        "rows_sha256": hashlib.sha256(json.dumps(read_rows(options.work)).encode()).hexdigest(),
    }  # fmt: skip
    if options.against:
        old = Answers(options.work, options.against)
        result["gain"] = differences(answers, old, config["calibration"])
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for part in ("responses", "sentences"):
        for name, found in result[part].items():
            print(f"{part[:8]} {name:14}", {k: v for k, v in found.items() if "interval" not in k})
    print(json.dumps(result["means"], indent=1), result["calibration"])


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare")
    first.add_argument("shared", type=Path)
    first.add_argument("work", type=Path)
    first.add_argument("--rows", type=int, default=400, help="rows of a set at most")
    second = commands.add_parser("run")
    second.add_argument("work", type=Path)
    second.add_argument("--name", required=True)
    second.add_argument("--adapter", type=Path, required=True)
    second.add_argument("--sets", choices=("all", "dev"), default="all")
    second.add_argument("--groups", help="a file in WORK; the answers go into the folder NAME")
    second.add_argument("--row", type=int, default=16384)
    second.add_argument("--device", default="cuda")
    third = commands.add_parser("report")
    third.add_argument("work", type=Path)
    third.add_argument("--name", required=True)
    third.add_argument(
        "--config", type=Path, default=Path("src/halldetect/weights/large/config.json")
    )
    third.add_argument("--against", help="earlier answers to the same rows")
    third.add_argument("--fit", action="store_true")
    third.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    {"prepare": prepare, "run": run, "report": report}[options.command](options)


if __name__ == "__main__":
    main()
