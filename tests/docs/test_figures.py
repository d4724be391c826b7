"""Figures in the sentences and tables of pages are those of the files that the pages name."""

from __future__ import annotations

import csv
import json
import subprocess
from typing import Any

import pytest

from tests.support.paths import ROOT


def read(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def signed(figure: dict[str, float], digits: int = 4) -> str:
    return "{:+.{d}f} ({:+.{d}f} to {:+.{d}f})".format(
        *(figure[key] for key in ("change", "low", "high")), d=digits
    )


def design() -> list[str]:
    rules = read("method_gate")["rules"]
    ours, three = rules["1 3, 2, 0.8, 0.2"], rules["1 3, 3, 0.8, 0.2"]
    mean, more = ours["headline"]["mean"], three["headline"]["mean"]
    before = rules["reference"]["headline"]["mean"]["states"]
    records = ours["others"]["ragtruth-data2txt"]["balanced accuracy"]
    moved = max(abs(share - before[state]) for state, share in mean["states"].items())
    assert moved < 0.01  # "within 1 point"
    return [
        f"| AUROC | {signed(mean['AUROC'])} |",
        f"| balanced accuracy | {signed(mean['balanced accuracy'])} |",
        f"| tokens per check | {mean['tokens']:,.0f} instead of {mean['tokens_today']:,.0f} |",
        f"change AUROC by {more['AUROC']['change'] - mean['AUROC']['change']:+.4f} and read "
        f"{more['tokens']:,.0f} tokens",
        f"balanced accuracy changes by {signed(records, 3)}",
    ]


def knowledge() -> list[str]:
    found = read("knowledge")
    recall, size, check = found["recall"], found["sizes"]["1000000"], found["check"]
    wice = recall["wice"]

    def areas(name: str) -> str:
        return ", then ".join(f"{check[name][key]['auroc']:.3f}" for key in SOURCES)

    return [
        f"with all {wice['passages']:,} passages",
        f"for {wice['evidence_at_5']:.0%} of {wice['claims']} claims".replace("%", " %"),
        f"for {recall['wice_among_100000']['evidence_at_5']:.0%}.".replace("%", " %"),
        f"found {recall['fm2']['premise_at_5']:.0%} of {recall['fm2']['claims']:,} claims of FM2 "
        f"(adversarial) and {recall['fever_dev_rte']['premise_at_5']:.0%} of "
        f"{recall['fever_dev_rte']['claims']:,} of FEVER".replace("%", " %"),
        f"`large` has AUROC {areas('large')}; `base` {areas('base')}",
        f"takes {size['build_cpu_seconds']:.0f} s of the processor to build with "
        f"{size['build_peak_memory_mb']} MB of memory, is a file of {size['bytes'] / 1e6:.0f} MB, "
        f"and answers a query in {size['query_cpu_ms_mean']:.0f} ms of the processor",
    ]


SOURCES = ("gold_source", "knowledge")
SETS = ("defacto", "bump", "qags-cnndm", "summedits")
WAYS = {"repair": "rules", "`--threshold precision`": "careful", "delete only": "delete"}


def repair() -> list[str]:
    found = read("repair")["verifiers"]
    lines = []
    for name, judge in (("large", "base"), ("base", "large")):
        ways = found[name]

        def cells(way: str, *keys: str, digits: int = 0, by: str = judge, of: Any = ways) -> str:
            values = []
            for dataset in SETS:
                value = of[way][dataset]
                for key in keys:
                    value = value[by] if key == "judge" else value[key]
                values.append(f"{100 * value:.{digits}f}")
            return " / ".join(values)

        before = cells("rules", "judged_by", "judge", "faithful_before")
        lines.append(f"| `{name}`, as they are | {before} | | |")
        for way, key in WAYS.items():
            after = cells(key, "judged_by", "judge", "faithful_after")
            empty, kept = cells(key, "no_text"), cells(key, "words_left_in_faithful", digits=1)
            lines.append(f"| `{name}`, {way} | {after} | {empty} | {kept} |")
    people = found["people"]["human"]["defacto"]["judged_by"]
    shares = [100 * people[name]["faithful_after"] for name in ("base", "large")]
    corrected = "in {:.0f} % of cases by `base` and in {:.0f} % by `large`".format(*shares)
    return [*lines, corrected]


def reading() -> list[str]:
    base, large = read("forms/base"), read("forms/large")

    def row(text: str, *keys: str) -> str:
        values = [one[keys[0]][keys[1]] for one in (base, large)]
        return f"| {text} | {values[0]} | {values[1]} |"

    answers = [one["answers"] for one in (base, large)]
    told = [f"{one['true_flagged']} ({one['true_flagged_share']:.0%})" for one in answers]
    right = [f"{one['faithful_right']}, {one['hallucinated_right']}" for one in answers]
    return [
        f"| 150 answers: true statements flagged, of {answers[0]['true_statements']} | "
        f"{told[0]} | {told[1]} |".replace("%", " %"),
        row(f"false statements missed, of {answers[0]['false_statements']}", "answers",
            "false_missed"),
        "| faithful answers called faithful, hallucinated ones hallucinated, of 75 each | "
        f"{right[0]} | {right[1]} |",
        row(f"dressings: verdicts changed, of {base['dressings']['dressed']:,}", "dressings",
            "changed"),
        row("hostile answers called faithful, of 300", "injections", "called_faithful"),
        row("hostile answers of other kinds called faithful, of 60", "held_out",
            "called_faithful"),
    ]  # fmt: skip


def scale() -> list[str]:
    found = read("batch")
    throughput, sizes = found["throughput"], found["sizes"]["sentences"]
    lines = []
    for name, one in throughput.items():
        if "rows_a_second" in one and "filling" not in name:
            shown = name.replace("1 threads", "1 thread").replace("1 workers", "1 worker")
            figures = [one[key] for key in ("rows_a_second", "rows_a_cpu_second", "cpus_used")]
            lines.append(f"| {shown} | {' | '.join(map(str, figures))} |")
    starts = [one["start_seconds"] for one in throughput.values() if "start_seconds" in one]
    return [
        *lines,
        f"A report of a ten-sentence source is {sizes['report_bytes'] / 1000:.1f} kB",
        f"Starting Ray and the models takes {max(starts):.0f} s",
    ]


def stream() -> list[str]:
    found = read("stream")
    hold, repaired, whole = found["hold"], found["repair"], found["whole_check"]
    more = hold["cpu_seconds_mean"] * hold["sentences"] / found["responses"]
    share = more / whole["cpu_seconds_mean"] - 1
    return [
        f"On {hold['sentences']} sentences of QAGS-CNN/DM",
        f"a sentence waited {hold['seconds_median']:.1f} s in the median and "
        f"{hold['seconds_95']:.1f} s at the 95th percentile",
        f"cost about {share:.0%} more".replace("%", " %"),
        f"{repaired['actions']['repaired']} of the {repaired['sentences']} sentences were repaired,"
        f" and a sentence waited up to {repaired['seconds_95']:.1f} s",
    ]


def security() -> list[str]:
    found = read("soak")
    growth = found["growth_second_half"]
    assert found["problems"] == []
    assert found["answers_mixed_up"] == 0
    assert growth["http_files"] == growth["worker_files"] == 0
    return [
        f"`{found['command']}`",
        f"load average of {found['machine']['load_before']:.0f}",
        f"the HTTP process grew by {growth['http_mb']:.0f} MB and the new worker by "
        f"{growth['worker_mb']:.0f} MB in the second half",
    ]


def claims() -> list[str]:
    found, suites = read("findings"), read("suites/findings")["suites"]
    clauses = read("forms/hidden-base")["clauses"]
    numbers, disputes = found["numbers base"], found["disputes base"]
    missing, names = found["missing base"], found["identifiers base"]
    joined = read("suites/base")["suites"]["recombined"]
    quantities, quotations = suites["quantities"], suites["quotations"]
    wrong = quantities["false_claims"] - quantities["false_claims_passed"]
    assert quotations["false_claims_passed"] == names["true_invented"] == disputes["false"] == 0
    assert names["false"] == names["false_invented"] == 20
    return [
        f"Of {clauses['sentences']} such sentences with one false clause, `base` flags "
        f"{clauses['found']}",
        f"Of {joined['false_claims']} such sentences (`tests/data/recombined.jsonl`), `base` flags "
        f"{joined['false_claims'] - joined['false_claims_passed']} (",
        f"{quantities['true_claims_flagged']} of {quantities['true_claims']} right claims of "
        "`tests/data/quantities.jsonl` are flagged",
        f"{wrong} of {quantities['false_claims']} wrong ones are found",
        f"{numbers['right_unknown']} of {numbers['right']:,} right sentences have an unknown "
        f"number, and {numbers['wrong_unknown']} of {numbers['wrong']} wrong ones",
        f"{quotations['true_claims_flagged']} of {quotations['true_claims']} right quotations of "
        f"our suite are flagged and all {quotations['false_claims']} wrong ones are found",
        "On 40 answers of `tests/data/identifiers.jsonl`, all 20 invented ones are found and no "
        "true one is called invented",
        f"{disputes['found']} of {disputes['disputed']} disputes of our suite are found, none "
        "falsely",
        f"{missing['incomplete_with_missing']} of {missing['incomplete']} incomplete answers have "
        f"such a statement, {missing['right_statement']} the right one, and "
        f"{missing['complete_with_missing']} of {missing['complete']} complete ones",
    ]


def agents() -> list[str]:
    found = read("suites/conversations-base")
    one = found["suites"]["conversations"]
    wrong = one["false_claims"]
    cost = found["own_milliseconds"]
    return [
        f"On {one['claims']} turns of 60 conversations of our own, `base` flags "
        f"{wrong - one['false_claims_passed']} of {wrong} wrong turns and "
        f"{one['true_claims_flagged']} of {one['true_claims']} right ones: "
        f"{100 * one['right_state_share']:.1f} % of the turns are right",
        f"takes {cost['mean']:.0f} ms of processor time, and {cost['after_100_results']:.0f} ms "
        "after 100 short tool results",
    ]


def stored(file: str) -> str:
    """Return a file of an earlier commit, as the pages name them."""
    command = ["git", "show", file]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("the history of the repository is not here")
    return found.stdout


def speed() -> list[str]:
    steps = json.loads(stored("b0f1378:benchmarks/results/large_runtimes.json"))["runtimes"]["onnx"]
    gpu = json.loads(stored("b0f1378:benchmarks/results/large_gpu.json"))
    parts = steps["steps"].values()
    return [
        f"{sum(one['tokens'] for one in parts)} tokens in all, takes "
        f"{sum(one['seconds'] for one in parts):.1f} s on two cores",
        f"{steps['peak_memory_mb'] / 1000:.1f} GB of memory",
        f"checks {gpu['responses_per_second']:.0f} responses of "
        f"{gpu['tokens'] / gpu['responses']:.0f} tokens",
        f"in {gpu['memory_mb'] / 1000:.1f} GB",
        f"by at most {gpu['difference_from_float32']:.3f} from float32",
    ]


def results() -> list[str]:
    rows = csv.DictReader(stored("c623cdb:docs/results/ablations.csv").splitlines())
    found = {
        (row["claims"], row["granularities"]): f"{float(row['AUROC']):.3f}"
        for row in rows
        if (row["verifier"], row["scoring"]) == ("base", "support")
    }
    grouped = " and ".join(found["sentences, groups of 2", size] for size in ("1", "all"))
    return [
        f"whole response against whole source {found['whole', '1']}, against windows "
        f"{found['whole', 'all']}; claims against whole source {found['clauses', '1']}, against "
        f"windows {found['clauses', 'all']}; claims in groups of two {grouped}.",
    ]


def languages() -> list[str]:
    found = read("large/report")
    own = {
        name.removeprefix("suite_"): f"{one['balanced_accuracy']:.3f} | {one['auroc']:.3f} |"
        for name, one in found["responses"].items()
        if name.startswith("suite_") and name.count("_") == 1
    }
    rows = {line.split(" | ")[1]: line for line in page("languages").splitlines() if " | " in line}
    assert [code for code, figures in own.items() if not rows[code].endswith(figures)] == []
    same, across = found["means"]["suite_languages"], found["means"]["suite_across"]
    return [
        f"{same['balanced_accuracy']:.3f} and {same['auroc']:.3f} on average",
        f"{across['balanced_accuracy']:.3f} and {across['auroc']:.3f}",
    ]


PAGES = [
    agents, claims, design, knowledge, languages, reading, repair, results, scale, security, speed,
    stream,
]  # fmt: skip


@pytest.mark.parametrize("expected", PAGES, ids=lambda one: one.__name__)
def test_page_has_the_figures_of_the_files(expected: Any) -> None:
    text = page(expected.__name__)
    assert [words for words in expected() if words not in text] == []
