"""The rows of plain sentences, hostile answers, guards and values, from their files of results."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from benchmarks.scoreboard.rows import VERIFIERS, Row, number, results, share
from halldetect.report import Verdict

# Our own suites by the ends of the files that have them; of the long ones, whole answers.
SUITES = {
    "": ("cases", "checks", "everyday", "contexts", "recombined"),
    "-long": ("long_answers", "two_documents"),
    "-independent": ("long_answers_independent", "two_documents_independent",
                     "long_answers_fresh"),
}  # fmt: skip
LABELS = {"right": ("passed", "right passed"), "wrong": ("caught", "wrong caught")}
WANTED = {"right": Verdict.FAITHFUL, "wrong": Verdict.HALLUCINATED}
FEWEST = 8  # sentences of a kind
REPAIRS = {"rules": "repaired", "careful": "repaired, `--threshold precision`"}


def both(id: str, what: str, one: dict[str, Any], file: str, by: str) -> Iterator[Row]:
    """Yield the right claims that pass and the wrong ones that are caught, of a suite."""
    right, wrong = one["true_claims"], one["false_claims"]
    hits = (right - one["true_claims_flagged"], right), (wrong - one["false_claims_passed"], wrong)
    for (key, column), (hit, of) in zip(LABELS.values(), hits, strict=True):
        if of:
            yield share(f"{id}.{by}.{key}", what, f"`{by}`, {column}", hit, of, file, by)


def plain() -> Iterator[Row]:
    """Yield the rows of plain sentences, by suite, half and kind, and of our own suites."""
    for by in VERIFIERS:
        file = f"plain/{by}.json"
        counts: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
        for one in results(file).get("rows", ()):
            hit = one["verdict"] == WANTED[one["label"]]
            for line in (f"{one['suite']}, {one['split']}", f"{one['suite']}: {one['kind']}"):
                counts[line, one["label"]][hit] += 1
        # Those of a half stand before those of a kind.
        for line, label in sorted(counts, key=lambda one: (":" in one[0], one)):
            key, column = LABELS[label]
            found = counts[line, label]
            if found.total() >= FEWEST:
                id = f"plain.{re.sub('[^a-z]+', '-', line)}.{by}.{key}"
                yield share(id, line, f"`{by}`, {column}", found[True], found.total(), file, by)
    for end, names in SUITES.items():
        for name in names:
            for by in VERIFIERS:
                file = f"suites/{by}{end}.json"
                if one := results(file).get("suites", {}).get(name):
                    yield from both(f"plain.{name}", name.replace("_", " "), one, file, by)


def hostile() -> Iterator[Row]:
    """Yield the rows of answers that should not pass, and of mark-up that should change nothing."""
    for by in VERIFIERS:
        file = f"forms/{by}.json"
        found = results(file)
        if not found:
            continue
        one, injected, dressed = (found[n] for n in ("hostile_answers", "injections", "dressings"))
        answers = found["answers"]
        lines = {
            "faithful": ("hostile answers by kind, called faithful", one["called_faithful"],
                         one["answers"]),
            "silent": ("... with nothing listed as unchecked", len(one["silent"]), one["answers"]),
            "injected": ("false statements in mark-up, called faithful",
                         injected["called_faithful"], injected["answers"]),
            "dressed": ("verdicts changed by mark-up", dressed["changed"], dressed["dressed"]),
            "flagged": ("right statements of formatted answers, flagged", answers["true_flagged"],
                        answers["true_statements"]),
            "missed": ("wrong statements of formatted answers, missed", answers["false_missed"],
                       answers["false_statements"]),
        }  # fmt: skip
        for key, (what, hits, of) in lines.items():
            yield share(f"hostile.{key}.{by}", what, f"`{by}`", hits, of, file, by)
        if talk := results(f"suites/{by}.json").get("suites", {}).get("hostile"):
            yield share(f"hostile.talk.{by}", "claims that talk to the judge, passed", f"`{by}`",
                        talk["false_claims_passed"], talk["false_claims"],
                        f"suites/{by}.json", by)  # fmt: skip


def guards() -> Iterator[Row]:
    """Yield the rows of conversations with tools, repair and streams."""
    for by in VERIFIERS:
        file = f"suites/conversations-{by}.json"
        for name, one in results(file).get("kinds", {}).items():
            kind = name.partition(" ")[2]
            yield share(
                f"guards.{kind}.{by}.passed",
                f"conversations, {kind}: wrong turns passed",
                f"`{by}`",
                one["false_claims_passed"],
                one["false_claims"],
                file,
                by,
            )
            yield share(f"guards.{kind}.{by}.flagged", f"conversations, {kind}: right turns "
                        "flagged", f"`{by}`", one["true_claims_flagged"], one["true_claims"],
                        file, by)  # fmt: skip
        repaired = results("repair.json")["verifiers"].get(by, {})
        for way, text in REPAIRS.items():
            if found := list(repaired.get(way, {}).values()):
                (judge,) = found[0]["judged_by"]
                of = sum(one["hallucinated"] for one in found)
                left = sum(
                    one["hallucinated"] * (1 - one["judged_by"][judge]["faithful_after"])
                    for one in found
                )
                yield share(f"guards.repair.{by}.{way}", f"wrong summaries {text}, still wrong for "
                            "the other verifier", f"`{by}`", round(left), of, "repair.json",
                            "base", "large")  # fmt: skip
    hold = results("stream.json")["hold"]
    yield number("guards.stream.median", "stream: seconds a sentence waits, median", "`base`",
                 hold["seconds_median"], "stream.json", "base")  # fmt: skip
    yield number("guards.stream.p95", "stream: seconds a sentence waits, 95th percentile",
                 "`base`", hold["seconds_95"], "stream.json", "base")  # fmt: skip


def values() -> Iterator[Row]:
    """Yield the rows of quotations, numbers, identifiers and disputes."""
    for file, by in (("suites/findings.json", "base"), ("suites/large-long.json", "large")):
        for name, what in {"quotations": "quotations", "quantities": "numbers"}.items():
            yield from both(f"values.{name}", what, results(file)["suites"][name], file, by)
    for name, what, keys in (
        ("identifiers", "identifiers", (("true", "true_invented"), ("false", "false_invented"))),
        ("disputes", "disputes", (("undisputed", "false"), ("disputed", "found"))),
        ("missing", "missing statements",
         (("complete", "complete_with_missing"), ("incomplete", "right_statement"))),
    ):  # fmt: skip
        one = results("findings.json")[f"{name} base"]
        (right, flagged), (wrong, found) = keys
        counts = {
            "true_claims": one[right],
            "true_claims_flagged": one[flagged],
            "false_claims": one[wrong],
            "false_claims_passed": one[wrong] - one[found],
        }
        yield from both(f"values.{name}", what, counts, "findings.json", "base")
    for by in ("base", "large"):
        clauses = results(f"forms/{by}.json")["clauses"]
        yield share(f"values.clauses.{by}.caught", "long sentences with one false clause",
                    f"`{by}`, wrong caught", clauses["found"], clauses["sentences"],
                    f"forms/{by}.json", by)  # fmt: skip
