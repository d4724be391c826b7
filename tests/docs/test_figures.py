"""Figures in the sentences and tables of pages are those of the files that the pages name."""

from __future__ import annotations

import csv
import io
import json
import lzma
import subprocess
import tarfile
from statistics import fmean
from typing import Any

import pytest

from halldetect_bench.results_folder import read_all
from halldetect_bench.stats.evidence import Evidence
from halldetect_bench.stats.selection import read_settings
from tests.support.paths import ROOT


def read(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def signed(figure: dict[str, float], digits: int = 4) -> str:
    return "{:+.{d}f} ({:+.{d}f} to {:+.{d}f})".format(
        *(figure[key] for key in ("change", "low", "high")), d=digits
    )


SETS = ("defacto", "bump", "qags-cnndm", "summedits")
WAYS = {"": "rules", ", `--threshold precision`": "careful"}


def design() -> list[str]:
    mean = read("method_gate")["rules"]["1 3, 2, 0.8, 0.2"]["headline"]["mean"]
    mutants = read("mutation")["packages"].values()
    run, noticed = (sum(one[what] for one in mutants) for what in ("mutants", "noticed"))
    lowest = min(one["share"] for one in mutants)
    return [
        f"noticed {noticed} of {run} ({100 * noticed / run:.1f} %, {100 * lowest:.1f} % in the "
        "package with the fewest",
        f"AUROC changed by {signed(mean['AUROC'])}, balanced accuracy by "
        f"{signed(mean['balanced accuracy'])}, and a check reads {mean['tokens']:,.0f} tokens "
        f"instead of {mean['tokens_today']:,.0f}",
    ]


def security() -> list[str]:
    found = read("soak")
    assert found["problems"] == []
    assert found["answers_mixed_up"] == 0
    checks = [item for name, item in found["statuses"].items() if name.endswith("check")]
    answered, asked = sum(item["200"] for item in checks), sum(sum(i.values()) for i in checks)
    return [
        f"`{found['command']}`",
        f"{answered} of {asked} checks were answered",
        f"grew to {found['after']['worker_mb']:.0f} MB",
        f"by {found['growth_second_half']['worker_mb']:.0f} MB in the second half",
    ]


def measured() -> list[str]:
    return [*suites(), *marks(), *kinds(), *forms(), *repairs(), *batches()]


def suites() -> list[str]:
    """Return the rows of our own suites."""
    found, own = read("findings"), read("suites/findings")["suites"]
    clauses = read("forms/base")["clauses"]
    disputes, missing, names = (found[f"{n} base"] for n in ("disputes", "missing", "identifiers"))
    assert disputes["false"] == names["true_invented"] == 0

    def both(
        one: dict[str, Any], text: str = "{} of {} wrong ones found, {} of {} right ones"
    ) -> str:
        wrong, right = one["false_claims"], one["true_claims"]
        return text.format(
            wrong - one["false_claims_passed"], wrong, one["true_claims_flagged"], right
        )

    joined = read("suites/base")["suites"]["recombined"]
    time = found["time base"]

    def percent(one: dict[str, Any]) -> str:
        return f"{100 * one['added']:.1f} %"

    turns = {n: read(f"suites/conversations-{n}")["suites"]["conversations"]
             for n in ("base", "large")}  # fmt: skip
    return [
        f"{clauses['found']} of {clauses['sentences']} flagged",
        f"| numbers | {both(own['quantities'])}",
        f"| quotations | {both(own['quotations'])}",
        f"{names['false_invented']} of {names['false']} found, 0 of {names['true']} true ones",
        f"{joined['false_claims'] - joined['false_claims_passed']} of {joined['false_claims']} "
        "flagged",
        f"{disputes['found']} of {disputes['disputed']} found, none falsely",
        f"{missing['right_statement']} of {missing['incomplete']} incomplete answers get the right "
        f"one, {missing['complete_with_missing']} of {missing['complete']} complete ones get any",
        f"{percent(time['ragtruth'])} on RAGTruth, {percent(time['two documents'])} with two "
        "documents",
        *(
            f"| turns of conversations, `{name}` | "
            + both(one, "{} of {} wrong ones flagged, {} of {} right ones")
            for name, one in turns.items()
        ),
    ]


def marks() -> list[str]:
    """Return the sizes and the F1 of marked characters."""
    large, base = (read("findings")[f"words {name}"] for name in ("large", "faithbench base"))

    def cell(one: dict[str, Any]) -> str:
        low, high = one["interval"]
        return f"{one['f1']:.3f} ({low:.3f} to {high:.3f})"

    return [
        f"{large['responses']:,} answers to {large['sources']} sources",
        f"{base['responses']} summaries of {base['sources']} texts",
        "questions {qa:.3f}, summaries {summary:.3f}, records {data2txt:.3f}".format(
            **large["removal"]["by_dataset"]
        ),
        f"takes {100 * (large['removal_ratio'] - 1):.0f} % more",
        *(
            f"| {cell(large[way])} | {cell(base[way])} |"
            for way in ("sentences", "claims", "words", "removal")
        ),
    ]


def kinds() -> list[str]:
    """Return the shares of named kinds of error that are right, and of errors with such a kind."""
    found = {name: one["by_rule"] for name, one in read("error_kinds")["rules"].items()}
    uses: dict[str, list[int]] = {}
    for one in found.values():
        for kind, counts in one["precision_by_kind"].items():
            uses[kind] = [sum(both) for both in zip(counts, uses.get(kind, [0, 0]), strict=True)]
    right, given = (sum(counts[at] for counts in uses.values()) for at in (0, 1))
    shares = [f"{kind} {hits / of:.2f}" for kind, (hits, of) in uses.items() if of]
    named = {"minimal pairs": "minimal pairs", "bump": "BUMP", "summedits": "SummEdits"}
    return [
        *shares,
        f"all {right / given:.2f}",
        *(f"{100 * found[name]['recall']:.0f} % ({text})" for name, text in named.items()),
    ]


def forms() -> list[str]:
    """Return the rows of mark-up and hostile answers."""
    both = read("forms/base"), read("forms/large")

    def row(text: str, *keys: str) -> str:
        return f"{text} | {' | '.join(str(one[keys[0]][keys[1]]) for one in both)} |"

    answers = both[0]["answers"]

    def silent(one: dict[str, Any]) -> str:
        hostile = one["hostile_answers"]
        return f"{hostile['called_faithful']}, {len(hostile['silent'])} of them without a note"

    return [
        f"called faithful, of {both[0]['hostile_answers']['answers']} | "
        f"{' | '.join(map(silent, both))} |",
        row(f"true statements flagged, of {answers['true_statements']}", "answers", "true_flagged"),
        row(f"false statements missed, of {answers['false_statements']}", "answers",
            "false_missed"),
        row(f"verdicts changed, of {both[0]['dressings']['dressed']:,}", "dressings", "changed"),
        row("hostile answers called faithful, of 300", "injections", "called_faithful"),
    ]  # fmt: skip


def repairs() -> list[str]:
    """Return the rows of repaired summaries."""
    found = read("repair")["verifiers"]
    lines = []
    for name, judge in (("large", "base"), ("base", "large")):

        def cells(way: str, *keys: str, digits: int = 0, of: Any = found[name]) -> str:
            values = []
            for dataset in SETS:
                value = of[way][dataset]
                for key in keys:
                    value = value[key]
                values.append(f"{100 * value:.{digits}f}")
            return ", ".join(values)

        before = cells("rules", "judged_by", judge, "faithful_before")
        lines.append(f"| `{name}`, unchanged | {before} | | |")
        for text, way in WAYS.items():
            after = cells(way, "judged_by", judge, "faithful_after")
            empty, kept = cells(way, "no_text"), cells(way, "words_left_in_faithful", digits=1)
            lines.append(f"| `{name}`{text} | {after} | {empty} | {kept} |")
    return lines


def batches() -> list[str]:
    """Return the figures of batches, streams and indexes."""
    rates = {name: one["rows_a_second"] for name, one in read("batch")["throughput"].items()}
    hold, repaired = (read("stream")[key] for key in ("hold", "repair"))
    found = read("knowledge")
    wice, check = found["recall"]["wice"], found["check"]

    def areas(name: str) -> str:
        keys = ("knowledge", "gold_source")
        return " instead of ".join(f"{check[name][key]['auroc']:.3f}" for key in keys)

    return [
        f"{rates['local, short, all threads']:.0f} rows a second with sources of four sentences, "
        f"{rates['local, typical, all threads']:.0f} with ten, "
        f"{rates['local, short, from the cache']:,.0f} from the cache",
        f"reach {read('batch')['nodes']['2 nodes']['of_linear']:.2f} of twice the rate of one",
        f"waits {hold['seconds_median']:.2f} s in the median and {hold['seconds_95']:.1f} s at the "
        f"95th percentile; {repaired['seconds_95']:.1f} s with repair",
        f"five best of {wice['passages']:,} passages",
        f"for {wice['evidence_at_5']:.0%} of {wice['claims']} claims".replace("%", " %"),
        f"AUROC {areas('large')} with `large`, {areas('base')} with `base`",
    ]


def stored(file: str) -> str:
    """Return a file of an earlier commit, as the pages name them."""
    command = ["git", "show", file]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("the history of the repository is not here")
    return found.stdout


def speed() -> list[str]:
    one = read("batch")["gpu"]["large"]
    price, other = (read(f"price-{name}") for name in ("openvino", "onnxruntime"))
    first, again = (
        [file[key]["seconds"] for file in (price, other)]
        for key in ("large over base", "second answer, large over base")
    )
    memory = (file["start"]["large"]["peak_mib"] * 2**20 / 1e9 for file in (price, other))
    return [
        f"answers for {one['alone_rows_a_second']:.0f} mixed rows a second, and `batch` checks "
        f"{one['rows_a_second']:.0f}",
        f"took {first[0]:.0f} times as long as `base` with OpenVINO, and {again[0]:.1f} times for "
        "a second answer",
        f"took {first[1]:.0f} times as long, and {again[1]:.1f} times for a second answer",
        "takes {:.1f} GB, with onnxruntime {:.1f} GB".format(*memory),
    ]


def scale() -> list[str]:
    large, base = (read("batch")["gpu"][name] for name in ("large", "base"))
    assert large["rows"] == base["rows"] == 2000
    return [
        f"`large` checks {large['rows_a_second']:.0f} rows a second, "
        f"{100 * large['of_alone']:.0f} % of what the verifier alone reaches, and `base` "
        f"{base['rows_a_second']:.0f}, {100 * base['of_alone']:.0f} %",
        *million(),
    ]


def million() -> list[str]:
    """Return what a million answers cost, by verifier."""
    rows, rates = read("price-openvino")["rows"], read("batch")["gpu"]
    asked = read("cascade")["rules"]["shipped"]["other"]["mean"]["asked"]
    base, large, again = (
        fmean(row[name]["seconds"] for row in rows)
        for name in ("base", "large", "large, second answer")
    )
    hours = {name: f"{1e6 / rates[name]['rows_a_second'] / 3600:.1f} |" for name in rates}
    return [
        f"means of {len(rows)} checks",
        f"about {100 * asked:.0f} % of responses",
        *(
            f"| `{name}` | {seconds:.2f} | {seconds * 1e6 / 86400:.1f} | {hours.get(name, '|')}"
            for name, seconds in
            (("base", base), ("auto", base + asked * large), ("large", large))
        ),
        f"takes `large` {again:.2f} s",
    ]  # fmt: skip


def results() -> list[str]:
    rows = csv.DictReader(stored("c623cdb:docs/results/ablations.csv").splitlines())
    found = {
        (row["claims"], row["granularities"]): f"{float(row['AUROC']):.3f}"
        for row in rows
        if (row["verifier"], row["scoring"]) == ("base", "support")
    }
    names = {
        "whole": "the whole response",
        "sentences, groups of 2": "two sentences",
        "clauses": "one sentence or clause",
    }
    work = ablated_work()
    saved = 1 - work["sentences, groups of 2"][0] / work["clauses"][0]
    assert round(3 * saved) == 1, "two sentences as one claim save a third of the pairs"
    table = [
        f"| {text} | {found[name, '1']} | {found[name, 'all']} | {pairs:.1f} | {tokens:,.0f} |"
        for name, text in names.items()
        for pairs, tokens in [work[name]]
    ]
    return [beside_selfcheck(), *beside_paper(), *table]


def apart(folder: str) -> tuple[Evidence, list[str]]:
    """Return the results of a method apart and its label, after those of our verifiers."""
    place = ROOT / "benchmarks" / "results" / folder
    evidence = Evidence(read_all(place), read_settings(place))
    ours = [evidence.find("halldetect", name) or "" for name in ("base", "large")]
    return evidence, [folder, *ours]


def beside_selfcheck() -> str:
    """Return the AUROC of SelfCheck and of the detector on its rows."""
    evidence, labels = apart("selfcheck")
    scope = evidence.on_shared_rows
    means = [scope.mean(label, "AUROC") for label in labels]
    texts = [f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})" for one in means]
    assert len(scope.shared) == 6
    return (
        f"On the {scope.count} rows of the six sets that it shares with the detector "
        "(`../selfcheck`) its AUROC is {}; `base` has {} and `large` {}.".format(*texts)
    )


def beside_paper() -> list[str]:
    """Return the lines of the paper's method, `base` and `large` on the same rows."""
    evidence, labels = apart("paper")
    scope = evidence.on_shared_rows
    lines = []
    for name, rows in scope.rows.items():
        cells = [
            [scope.cell(name, label, metric).value for metric in ("AUROC", "balanced accuracy")]
            for label in labels
        ]
        figures = " | ".join(f"{auroc:.3f} / {accuracy:.3f}" for auroc, accuracy in cells)
        lines.append(f"| {name}, {len(rows.ids)} | {figures} |")
    assert len(lines) == 3
    tokens: dict[str, list[int]] = {}
    for one in read_all(ROOT / "benchmarks" / "results" / "paper"):
        name = f"{one.header.method['name']} {one.header.method['verifier']['name']}"
        spent = (item.cost.get("verifier_tokens", 0) for item in one.predictions)
        tokens.setdefault(name, []).extend(spent)
    work = (
        f"{fmean(tokens['paper base']):,.0f} tokens of the verifier; `halldetect` with `base` "
        f"takes {fmean(tokens['halldetect base']):,.0f}."
    )
    return [*lines, work]


def ablated_work() -> dict[str, list[float]]:
    """Return pairs and tokens per response by kind of claim."""
    folder = "benchmarks/results/bench"
    command = ["git", "archive", "--format=tar", "c623cdb", folder]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    spent: dict[str, list[list[int]]] = {}
    with tarfile.open(fileobj=io.BytesIO(made)) as files:
        for member in files:
            # The means of `ablations.csv` are without the adversarial rows.
            if "/ablation-" in member.name and "adversarial" not in member.name:
                content = json.loads(lzma.decompress(files.extractfile(member).read()))  # type: ignore[union-attr]
                method, columns = content["header"]["method"], content["columns"]
                if method["verifier"]["name"] == "base":
                    keys = ("pairs_judged", "verifier_tokens")
                    counts = zip(*(columns[key] for key in keys), strict=True)
                    spent.setdefault(method["extractor"]["name"], []).extend(map(list, counts))
    return {name: [fmean(column) for column in zip(*one, strict=True)]
            for name, one in spent.items()}  # fmt: skip


def languages() -> list[str]:
    """Return the rows by language, MEMERAG's included, and the means."""
    found = read("languages")["groups"]

    def cells(*codes: str) -> str:
        values = ((found[code][key]["value"] for code in codes) for key in LANGUAGE_FIGURES)
        return " | ".join(f"{fmean(of):.3f}" for of in values)

    own = [code for code in found if "-" not in code]
    across = [code for code in found if "-" in code and not code.startswith("memerag")]
    return [
        *(f"| {code} | {cells(code)} |" for code in own),
        *(f"| `{code}` | {found[code]['rows']} | {cells(code)} |"
          for code in found if code.startswith("memerag")),
        "The mean is {} and {}".format(*cells(*own).split(" | ")),
        "it is {} and {}".format(*cells(*across).split(" | ")),
    ]  # fmt: skip


LANGUAGE_FIGURES = ("balanced accuracy", "AUROC")
NAMES = {
    "test-qa": "RAGTruth questions", "test-summary": "RAGTruth summaries",
    "data2txt": "RAGTruth data2txt", "clearfacts": "ClearFacts",
}  # fmt: skip
SIX = ("qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto-test")


def card(verifier: str) -> list[str]:
    """Return the tables of a model card."""
    found = read(f"{verifier}/report")

    def area(one: dict[str, Any]) -> str:
        return "{:.3f} ({:.3f} to {:.3f})".format(one["auroc"], *one["auroc_interval"])

    def rates(one: dict[str, Any], digits: int = 0) -> str:
        return " | ".join(f"{100 * one[key]:.{digits}f} %" for key in ("recall", "false_alarms"))

    def alarms(one: dict[str, Any]) -> str:
        return f"{100 * one['false_alarms']:.0f} %"

    def row(name: str, part: str) -> str:
        one = found[part][name]
        return f"| {NAMES.get(name, name)} | {one['rows']:,} | {area(one)} | "

    six, points = found["means"]["six"], ("recall", "balanced", "default", "precision")
    mean = f"{six['auroc']:.3f} | {six['balanced_accuracy']:.3f} | {alarms(six)} |"
    return [
        *(
            f"{row(name, 'responses')}{one['balanced_accuracy']:.3f} | {alarms(one)} |"
            for name in (*SIX, *NAMES)
            for one in [found["responses"][name]]
        ),
        f"| mean of the six | | {mean}",
        *(
            row(name, "sentences") + f"{rates(found['sentences'][name])} |"
            for name in ("test-qa", "test-summary", "data2txt")
        ),
        f"(`contexts`), it finds {100 * found['responses']['contexts']['recall']:.1f} %",
        *(
            f"| {name} | {found['six'][name]['threshold']:g} | "
            + " | ".join(rates(found[part][name], 1) for part in ("development", "six"))
            + " |"
            for name in points
        ),
    ]


def states(verifier: str) -> str:
    """Return the shares of right states in our own suites."""
    suites = read(f"suites/{verifier}")["suites"]
    keys = ("cases", "checks", "everyday", "hostile")
    shares = [f"{100 * suites[key]['right_state_share']:.1f} %" for key in keys]
    return "{} of cases, {} of checks, {} of everyday and {} of hostile claims".format(*shares)


def through_detector(verifier: str) -> str:
    """Return AUROC and balanced accuracy of the detector on long answers and on ClearFacts."""
    folder = ROOT / "benchmarks" / "results" / "rag"
    evidence = Evidence(read_all(folder), read_settings(folder))
    scores = evidence.scores[evidence.find("halldetect", verifier)]
    sets = {
        "RAGTruth questions": "ragtruth-selection-qa", "summaries": "ragtruth-selection-summary",
        "data2txt": "ragtruth-selection-data2txt", "ClearFacts": "clearfacts",
    }  # fmt: skip
    texts = []
    for name, dataset in sets.items():
        found = evidence.compare({dataset: scores[dataset]}).by_dataset[dataset]
        both = (found[metric].value for metric in ("AUROC", "balanced accuracy"))
        texts.append("{} {:.3f} / {:.3f}".format(name, *both))
    return ", ".join(texts[:3]) + f"; {texts[3]}"


def own_answers(name: str, end: str = "") -> list[str]:
    """Return how a verifier does on our own long answers and on those to two documents."""
    two = read(f"suites/{name}")["suites"][f"two_documents{end}"]
    right = f"flags {two['true_claims_flagged']} of {two['true_claims']} right answers"
    return [
        long_answers(name, f"long_answers{end}"),
        f"{right} and finds {found_of(two)} wrong ones",
    ]


def long_answers(name: str, suite: str) -> str:
    """Return how a verifier does on a suite of long answers."""
    one = read(f"suites/{name}")["suites"][suite]
    right = f"flags {one['true_claims_flagged']} of {one['true_claims']} right ones"
    return f"{right} and finds {found_of(one)} wrong ones at 0.5"


def found_of(one: dict[str, Any]) -> str:
    return f"{one['false_claims'] - one['false_claims_passed']} of {one['false_claims']}"


def weak_spots() -> list[str]:
    """Return how `large` does on conclusions, on two documents and in other languages."""
    found = read("large/report")
    sentences, mean = found["sentences"], found["means"]["memerag"]
    return [
        *own_answers("large-long"),
        *own_answers("large-independent", "_independent"),
        long_answers("large-independent", "long_answers_fresh"),
        ", ".join(
            f"{sentences[f'memerag_{code}']['auroc']:.3f} ({code})"
            for code in ("en", "de", "es", "fr", "hi")
        ),
        f"{100 * mean['recall']:.0f} % of the wrong ones are found, and "
        f"{100 * mean['false_alarms']:.0f} % of the right ones flagged",
    ]


@pytest.mark.parametrize(
    ("name", "verifier"), [("model-card", "base"), ("model-card-large", "large")]
)
def test_card_has_the_figures_of_the_report(name: str, verifier: str) -> None:
    text = page(name)
    expected = [*card(verifier), states(verifier), through_detector(verifier)]
    if verifier == "large":
        expected += weak_spots()
    else:
        expected += own_answers("base-long") + own_answers("base-independent", "_independent")
        expected.append(long_answers("base-independent", "long_answers_fresh"))
    assert [words for words in expected if words not in text] == []


def comparison() -> list[str]:
    """Return the F1 of marked words on RAGTruth."""
    large = read("findings")["words large"]
    words, removal, sentences = (large[of]["f1"] for of in ("words", "removal", "sentences"))
    return [
        f"test parts is {words:.3f}, with `--words` {removal:.3f}; whole sentences have "
        f"{sentences:.3f}"
    ]


PAGES = [comparison, design, languages, measured, results, scale, security, speed]


@pytest.mark.parametrize("expected", PAGES, ids=lambda one: one.__name__)
def test_page_has_the_figures_of_the_files(expected: Any) -> None:
    text = page(expected.__name__)
    assert [words for words in expected() if words not in text] == []
