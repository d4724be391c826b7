"""How well responses are repaired, and how much of faithful ones is left alone.

    python -m benchmarks.repair sample WORK --data DIR --rows 100
    python -m benchmarks.repair repair WORK --verifier base
    python -m benchmarks.repair repair WORK --verifier large --device cuda --base BASE.gguf \\
        --llm BASE.gguf --together 128
    python -m benchmarks.repair judge WORK --verifier large --device cuda --base BASE.gguf
    python -m benchmarks.repair judge WORK --verifier base
    python -m benchmarks.repair report WORK
    python -m benchmarks.repair flagged --data DIR --thresholds base=0.957 large=0.934

`sample` draws rows of each dataset by a seed, half of them hallucinated and half faithful.
`repair` repairs them in these ways, `judge` asks a verifier whether the outcomes are faithful, and
`report` writes benchmarks/results/repair.json, figures only. WORK holds texts of the datasets. Each
step goes on where it was stopped; several processes may share a step with --part.

    rules    replace, shorten, remove
    careful  the same at the operating point "precision": what does not clearly fail is replaced
             or left as it is
    clear    the same, but only what clearly fails is changed at all
    delete   a baseline: remove each sentence that fails the check
    model    rules, with a language model that sees the evidence (with --llm)
    blind    a baseline: the language model writes failing sentences again without evidence, and
             what it writes is taken as it is (with --llm)
    human    the correction that people wrote (DeFacto), for comparison

Figures of a way: the share of hallucinated responses that were flagged and for which no text was
left; the share that the judge calls faithful before and after, and of those it called hallucinated
before (`made_faithful`); the share of words that is left alone, in faithful and in hallucinated
responses; the closeness to the human correction, as words in common, in order (2 x common / all
words of both), before and after, over all and over those that are left a text; seconds per
response. A way reuses the verifier's answers of the ways before it, so only the seconds of `rules`
are those of a repair alone.

`flagged` needs no repair: from the predictions in benchmarks/results/bench it counts, over all
faithful rows of the datasets, the share of words in responses that are hallucinated at a
threshold. A way that changes only what fails there (`clear`) leaves at least the others alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.joined import Joined
from benchmarks.machine import processor
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import Detector, Status, Verdict
from halldetect.config import parse_threshold
from halldetect.inputs import Pair, Source
from halldetect.reading.sentences import read_document
from halldetect.repair.repairer import STEPS, Repairer
from halldetect.repair.rewriters import (
    MAX_NEW_TOKENS,
    Rewriter,
    first_sentence,
    prompt_digest,
    rewriting_messages,
)
from halldetect.report import ClaimReport, Report
from halldetect.verification.remembering import RememberingVerifier
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.datasets.labelled_summaries import defacto_corrections
from halldetect_bench.models.llm import Llm, Question, TooLong
from halldetect_bench.predictions import read_all
from halldetect_bench.registry import load_dataset

RESULTS = Path(__file__).parent / "results" / "repair.json"
PREDICTIONS = Path(__file__).parent / "results" / "bench"
DATASETS = ("defacto", "bump", "qags-cnndm", "summedits")
WAYS = ("rules", "careful", "clear", "delete", "model", "blind")
NO_EVIDENCE = "(none)"


@dataclass(frozen=True, slots=True)
class Task:
    """A response to repair; `human` is the correction that people wrote, if there is one."""

    dataset: str
    id: str
    source: str | tuple[str, ...]
    response: str
    hallucinated: bool
    human: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a way made of a response; `text` is None where nothing was left."""

    dataset: str
    id: str
    verifier: str
    way: str
    text: str | None
    flagged: bool
    seconds: float


# Rows


def sample(rows: Iterable[Row], count: int, seed: int) -> list[Row]:
    """So many rows, half of them hallucinated as far as there are enough."""
    shuffled = sorted(rows, key=lambda row: row.id)
    random.Random(seed).shuffle(shuffled)
    wrong = [row for row in shuffled if row.hallucinated][: count // 2]
    right = [row for row in shuffled if row.hallucinated is False][: count - len(wrong)]
    return wrong + right


def draw(data: Path, count: int, seed: int) -> Iterator[Task]:
    """The tasks of all datasets; a sample of more rows begins with those of fewer."""
    fixed = defacto_corrections(data / "defacto", "test").rows
    corrected = {row.id.removesuffix("/corrected"): row.response for row in fixed}
    for name in DATASETS:
        for row in sample(load_dataset(name, data).rows, count, seed):
            human = corrected.get(row.id) if name == "defacto" else None
            yield Task(name, row.id, row.source, row.response, bool(row.hallucinated), human)


# Models that answer many repairs together


class JoinedDetector:
    """A detector whose checks are done together with those of other jobs."""

    def __init__(self, joined: Joined, name: str) -> None:
        self._joined, self._name = joined, name

    def check(self, source: Source, response: str, *, question: str | None = None) -> Report:
        """As `Detector.check`."""
        found: Report = self._joined.ask(f"{self._name} check", (source, response, question))
        return found

    def judge(
        self,
        items: Sequence[tuple[Source, Sequence[str]]],
        *,
        granularities: Sequence[int] | None = None,
    ) -> list[list[ClaimReport]]:
        """As `Detector.judge`; all jobs must ask for the same granularities."""
        request = (items, None if granularities is None else tuple(granularities))
        found: list[list[ClaimReport]] = self._joined.ask(f"{self._name} judge", request)
        return found


class JoinedRewriter:
    """A rewriter whose sentences are written together with those of other jobs."""

    def __init__(self, joined: Joined, description: dict[str, Any]) -> None:
        self._joined = joined
        self.description = description

    def rewrite(self, sentence: str, evidence: str) -> str:
        """As `Rewriter.rewrite`."""
        return str(self._joined.ask("rewrite", (sentence, evidence)))


def judge_together(detector: Detector, requests: list[Any]) -> list[list[list[ClaimReport]]]:
    """The answers to requests of `JoinedDetector.judge`, each in one piece."""
    (scales,) = {scales for _, scales in requests}
    found = iter(
        detector.judge([item for items, _ in requests for item in items], granularities=scales)
    )
    return [list(islice(found, len(items))) for items, _ in requests]


def write_together(llm: Llm, requests: list[tuple[str, str]]) -> list[str]:
    """What the language model writes, in one batch; nothing for what is too long."""
    replies = llm.ask_many(
        [
            Question(rewriting_messages(sentence, evidence), MAX_NEW_TOKENS, stop="\n")
            for sentence, evidence in requests
        ]
    )
    return ["" if isinstance(reply, TooLong) else reply.text for reply in replies]


# Ways to repair

Repaired = tuple[str | None, bool]
Way = Callable[[Task], Repaired]


def repaired(task: Task, repairer: Repairer) -> Repaired:
    """Our repair."""
    outcome = repairer.repair(Pair(task.source, task.response))
    return outcome.text, outcome.original.verdict is Verdict.HALLUCINATED


def blindly(task: Task, detector: JoinedDetector, rewriter: Rewriter) -> Repaired:
    """A language model writes the failing sentences again, with no passage, and is believed."""
    report = detector.check(task.source, task.response)
    wrong = [claim.span for claim in report.claims if claim.status is not Status.SUPPORTED]
    text = report.response
    for sentence in reversed(read_document(text).sentences):
        if any(span and span.start < sentence.end and sentence.start < span.end for span in wrong):
            before = sentence.cut(text)
            after = first_sentence(rewriter.rewrite(before, NO_EVIDENCE)) or before
            text = text[: sentence.start] + after + text[sentence.end :]
    return text, report.verdict is Verdict.HALLUCINATED


def ways_of(joined: Joined, description: dict[str, Any] | None) -> dict[str, Way]:
    """The ways by name; those with a language model only if there is one.

    joined       answers
    description  of the language model
    """
    plain, precise = JoinedDetector(joined, "plain"), JoinedDetector(joined, "precise")
    by_rules, by_deletion = Repairer(plain), Repairer(plain, steps=())
    by_careful, by_clear = Repairer(precise), Repairer(precise, unclear_steps=())
    ways: dict[str, Way] = {
        "rules": lambda task: repaired(task, by_rules),
        "careful": lambda task: repaired(task, by_careful),
        "clear": lambda task: repaired(task, by_clear),
        "delete": lambda task: repaired(task, by_deletion),
    }
    if description is not None:
        rewriter = JoinedRewriter(joined, description)
        by_model = Repairer(plain, rewriter, steps=STEPS)
        ways["model"] = lambda task: repaired(task, by_model)
        ways["blind"] = lambda task: blindly(task, plain, rewriter)
    return ways


def repair_tasks(
    tasks: Sequence[Task],
    known: set[tuple[str, str, str]],
    plain: Detector,
    precise: Detector,
    llm: Llm | None,
    together: int,
) -> Iterator[Outcome]:
    """The outcomes of all ways that are not known yet.

    tasks     the responses
    known     dataset, id and way of those that are done
    plain     detects at its usual threshold
    precise   detects at the operating point "precision", with the same verifier
    llm       writes sentences again; None: no way asks a language model
    together  how many responses are repaired at once
    """
    verifier = plain.verifier
    name = str(verifier.description["name"])
    description = None
    if llm is not None:
        description = {**llm.description, "prompt_digest": prompt_digest()}
    for at in range(0, len(tasks), together):
        block = tasks[at : at + together]
        plain.verifier = precise.verifier = RememberingVerifier(verifier)
        answers: dict[str, Callable[[list[Any]], Sequence[Any]]] = {
            "plain check": plain.check_many,
            "precise check": precise.check_many,
            "plain judge": lambda requests: judge_together(plain, requests),
            "precise judge": lambda requests: judge_together(precise, requests),
        }
        if llm is not None:
            answers["rewrite"] = lambda requests: write_together(llm, requests)
        joined = Joined(answers)
        for way, repair in ways_of(joined, description).items():
            todo = [task for task in block if (task.dataset, task.id, way) not in known]
            if not todo:
                continue
            started = time.perf_counter()
            found = joined.run([_job(repair, task) for task in todo])
            seconds = round((time.perf_counter() - started) / len(todo), 3)
            for task, (text, flagged) in zip(todo, found, strict=True):
                yield Outcome(task.dataset, task.id, name, way, text, flagged, seconds)
    plain.verifier = precise.verifier = verifier


def _job(repair: Way, task: Task) -> Callable[[], Repaired]:
    return lambda: repair(task)


# Figures


def common_words(before: str, after: str) -> int:
    """The number of words that two texts have in common, in order."""
    matcher = SequenceMatcher(None, before.split(), after.split(), autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def closeness(left: str, right: str) -> float:
    """Twice the words in common over all words of both."""
    return 2 * common_words(left, right) / max(1, len(left.split()) + len(right.split()))


def words_left(items: Sequence[tuple[Task, Outcome]]) -> float | None:
    """The share of the words of responses that is in what was made of them; None of none."""
    words = sum(len(task.response.split()) for task, _ in items)
    kept = sum(common_words(task.response, outcome.text or "") for task, outcome in items)
    return round(kept / words, 4) if words else None


def figures(items: Sequence[tuple[Task, Outcome]]) -> dict[str, Any]:
    """The figures of one way on one dataset, without those of a judge."""
    wrong = [item for item in items if item[0].hallucinated]
    right = [item for item in items if not item[0].hallucinated]
    result: dict[str, Any] = {
        "hallucinated": len(wrong),
        "faithful": len(right),
        "flagged": share(outcome.flagged for _, outcome in wrong),
        "flagged_of_faithful": share(outcome.flagged for _, outcome in right),
        "no_text": share(outcome.text is None for _, outcome in wrong),
        "words_left_in_faithful": words_left(right),
        "words_left_in_hallucinated": words_left(wrong),
        "seconds": round(fmean(outcome.seconds for _, outcome in items), 2),
    }
    known = [(task.response, task.human, outcome.text) for task, outcome in wrong if task.human]
    for name, chosen in (
        ("closeness", known),
        ("closeness_where_text", [item for item in known if item[2]]),
    ):
        if chosen:
            before = fmean(closeness(response, human) for response, human, _ in chosen)
            after = fmean(closeness(text or "", human) for _, human, text in chosen)
            result |= {f"{name}_before": round(before, 4), f"{name}_after": round(after, 4)}
    return result


def judged_figures(
    items: Sequence[tuple[Task, Outcome]], verdicts: dict[str, bool]
) -> dict[str, Any] | None:
    """What a judge says of hallucinated responses, before and after; None: it has not judged all.

    items     tasks and outcomes of one way
    verdicts  whether the judge calls a text faithful, by `text_key`
    """
    wrong = [(task, outcome.text) for task, outcome in items if task.hallucinated]
    try:
        before = [verdicts[text_key(task, task.response)] for task, _ in wrong]
        after = [text is not None and verdicts[text_key(task, text)] for task, text in wrong]
    except KeyError:
        return None
    return {
        "faithful_before": share(before),
        "faithful_after": share(after),
        "made_faithful": share(new for new, old in zip(after, before, strict=True) if not old),
    }


def share(values: Iterable[bool]) -> float | None:
    """The share of true values; None if there are none at all."""
    found = [float(value) for value in values]
    return round(fmean(found), 4) if found else None


def text_key(task: Task, text: str) -> str:
    """What a verdict on a text is stored by."""
    return hashlib.sha256(f"{task.dataset}\0{task.id}\0{text}".encode()).hexdigest()[:32]


# Files


def append(path: Path, records: Iterable[Any]) -> None:
    """Add records to a file of JSON lines, each of them in one write."""
    with path.open("a", encoding="utf-8") as stream:
        for record in records:
            stream.write(json.dumps(record) + "\n")
            stream.flush()


def read_lines(paths: Iterable[Path]) -> Iterator[Any]:
    """The records of files; a last line that was cut off is left out."""
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)


def read_tasks(
    work: Path, datasets: Iterable[str], limit: int | None = None, part: str = "1/1"
) -> list[Task]:
    """The tasks of some datasets, at most `limit` of each, as many of either kind.

    part  "2/4": the second quarter of them
    """
    found = [Task(**record) for record in read_lines([work / "tasks.jsonl"])]
    chosen: list[Task] = []
    for name in datasets:
        for kind in (True, False):
            of_kind = [t for t in found if t.dataset == name and t.hallucinated is kind]
            chosen += of_kind[: None if limit is None else limit // 2]
    number, _, parts = part.partition("/")
    return chosen[int(number) - 1 :: int(parts)]


def read_outcomes(work: Path) -> list[Outcome]:
    """All outcomes that are there; of two of the same way, the later one."""
    found = [Outcome(**record) for record in read_lines(sorted(work.glob("repaired-*.jsonl")))]
    keyed = {(item.dataset, item.id, item.verifier, item.way): item for item in found}
    return list(keyed.values())


def read_verdicts(work: Path) -> dict[str, dict[str, bool]]:
    """By judge, whether it calls a text faithful."""
    verdicts: dict[str, dict[str, bool]] = {}
    for record in read_lines(sorted(work.glob("judged-*.jsonl"))):
        verdicts.setdefault(record["judge"], {})[record["key"]] = record["faithful"]
    return verdicts


# Steps


def run_sample(options: argparse.Namespace) -> None:
    """Draw the tasks."""
    options.work.mkdir(parents=True, exist_ok=True)
    path = options.work / "tasks.jsonl"
    path.unlink(missing_ok=True)
    append(path, (asdict(task) for task in draw(options.data, options.rows, options.seed)))


def run_repair(options: argparse.Namespace) -> None:
    """Repair what is not repaired yet."""
    loaded = verifier_of(options)
    common: dict[str, Any] = {"device": options.device, "threads": options.threads}
    plain = Detector(verifier=loaded, **common)
    precise = Detector(verifier=loaded, threshold=options.precise, **common)
    llm = None
    if options.llm:
        from halldetect_bench.models.transformers_llm import TransformersLlm

        device = None if options.device == "auto" else options.device
        llm = TransformersLlm(options.llm, device=device)
    name = plain.verifier.description["name"]
    known = {
        (item.dataset, item.id, item.way)
        for item in read_outcomes(options.work)
        if item.verifier == name
    }
    tasks = read_tasks(options.work, options.datasets, options.rows, options.part)
    path = options.work / f"repaired-{name}-{os.getpid()}.jsonl"
    outcomes = repair_tasks(tasks, known, plain, precise, llm, options.together)
    append(path, (asdict(outcome) for outcome in outcomes))


def run_judge(options: argparse.Namespace) -> None:
    """Judge hallucinated responses, their repairs and their human corrections."""
    detector = Detector(
        verifier=verifier_of(options), device=options.device, threads=options.threads
    )
    name = str(detector.verifier.description["name"])
    known = read_verdicts(options.work).get(name, {})
    tasks = {
        (task.dataset, task.id): task
        for task in read_tasks(options.work, options.datasets, options.rows, options.part)
        if task.hallucinated
    }
    texts = [(task, text) for task in tasks.values() for text in (task.response, task.human)]
    texts += [
        (tasks[item.dataset, item.id], item.text)
        for item in read_outcomes(options.work)
        if (item.dataset, item.id) in tasks and item.verifier != name
    ]
    wanted = {text_key(task, text): (task.source, text) for task, text in texts if text}
    todo = [(key, pair) for key, pair in wanted.items() if key not in known]
    path = options.work / f"judged-{name}-{os.getpid()}.jsonl"
    for at in range(0, len(todo), options.together):
        block = todo[at : at + options.together]
        reports = detector.check_many([pair for _, pair in block])
        append(
            path,
            (
                {"judge": name, "key": key, "faithful": report.ok}
                for (key, _), report in zip(block, reports, strict=True)
            ),
        )


def run_report(options: argparse.Namespace) -> None:
    """Write the figures."""
    tasks = {(t.dataset, t.id): t for t in read_tasks(options.work, options.datasets)}
    outcomes = read_outcomes(options.work)
    repaired_ids = {(item.dataset, item.id) for item in outcomes}
    outcomes += [
        Outcome(task.dataset, task.id, "people", "human", task.human, True, 0.0)
        for key, task in tasks.items()
        if task.human and task.hallucinated and key in repaired_ids
    ]
    groups: dict[tuple[str, str, str], list[tuple[Task, Outcome]]] = {}
    for item in sorted(outcomes, key=lambda o: (o.verifier, (*WAYS, "human").index(o.way))):
        if (item.dataset, item.id) in tasks:
            task = tasks[item.dataset, item.id]
            groups.setdefault((item.verifier, item.way, item.dataset), []).append((task, item))
    results: dict[str, Any] = {}
    judges = read_verdicts(options.work)
    for (verifier, way, dataset), items in groups.items():
        judged = {name: judged_figures(items, verdicts) for name, verdicts in judges.items()}
        found = figures(items) | {
            "judged_by": {n: f for n, f in judged.items() if f is not None and n != verifier}
        }
        results.setdefault(verifier, {}).setdefault(way, {})[dataset] = found
        print(verifier, way, dataset, json.dumps(found))
    written = json.loads(options.out.read_text("utf-8")) if options.out.exists() else {}
    written |= {"processor": options.machine or processor(), "verifiers": results}
    options.out.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def flagged_words(items: Iterable[tuple[str, float | None]], threshold: float) -> dict[str, Any]:
    """The share of responses, and of their words, at or above a threshold.

    items      responses with their scores; None: not checked, which counts as flagged
    threshold  hallucinated from this score on
    """
    found = [(len(text.split()), score is None or score >= threshold) for text, score in items]
    words = sum(count for count, _ in found)
    return {
        "rows": len(found),
        "rows_flagged": share(flagged for _, flagged in found),
        "words_flagged": round(sum(count for count, flagged in found if flagged) / words, 4),
    }


def run_flagged(options: argparse.Namespace) -> None:
    """Count the words of faithful responses that are flagged, and add them to the results."""
    rows = {
        name: {row.id: row for row in load_dataset(name, options.data).rows} for name in DATASETS
    }
    found: dict[str, Any] = {}
    for results in read_all(PREDICTIONS):
        method = results.header.method
        # The dataset of repairs is the test set, of which the predictions are called so.
        dataset = results.header.dataset.removesuffix("-test")
        verifier = str((method.get("verifier") or {}).get("name"))
        extractor = (method.get("extractor") or {}).get("name")
        if method["name"] != "halldetect" or extractor != "clauses" or dataset not in rows:
            continue
        if verifier not in options.thresholds:
            continue
        faithful = [
            (rows[dataset][item.id].response, item.score)
            for item in results.predictions
            if item.id in rows[dataset] and rows[dataset][item.id].hallucinated is False
        ]
        measured = flagged_words(faithful, options.thresholds[verifier])
        print(verifier, dataset, measured)
        known = found.setdefault(verifier, {"threshold": options.thresholds[verifier]})
        known["digest"] = method["verifier"]["digest"]
        known[dataset] = measured
    written = json.loads(options.out.read_text(encoding="utf-8"))
    written["flagged_of_all_faithful"] = found
    options.out.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def _threshold_of(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    return name, float(value)


def main() -> None:
    """Do one step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    steps = parser.add_subparsers(required=True)
    for name, step in (
        ("sample", run_sample), ("repair", run_repair), ("judge", run_judge),
        ("report", run_report),
    ):  # fmt: skip
        command = steps.add_parser(name)
        command.set_defaults(step=step)
        command.add_argument("work", type=Path, help="folder of the intermediate files")
        if name != "sample":
            command.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
        if name in ("repair", "judge"):
            add_verifier_options(command)
            command.add_argument("--rows", type=int, help="at most so many rows per dataset")
            command.add_argument("--part", default="1/1", help="2/4: the second quarter only")
            command.add_argument("--together", type=int, default=1, help="responses at once")
        if name == "repair":
            command.add_argument(
                "--precise", type=parse_threshold, default="precision", metavar="THRESHOLD",
                help="of careful and clear, for weights without operating points",
            )  # fmt: skip
            command.add_argument("--llm", help="language model in PyTorch: a name or a .gguf file")
        elif name == "sample":
            command.add_argument("--data", type=Path, required=True)
            command.add_argument("--rows", type=int, default=100, help="rows per dataset")
            command.add_argument("--seed", type=int, default=0)
        elif name == "report":
            command.add_argument("--machine", help="what the seconds were measured on")
            command.add_argument("--out", type=Path, default=RESULTS)
    flagged = steps.add_parser("flagged")
    flagged.set_defaults(step=run_flagged)
    flagged.add_argument("--data", type=Path, required=True)
    flagged.add_argument("--thresholds", type=_threshold_of, nargs="+", required=True)
    flagged.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if "thresholds" in options:
        options.thresholds = dict(options.thresholds)
    options.step(options)


if __name__ == "__main__":
    main()
