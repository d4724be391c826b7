"""The evaluation on a machine with a GPU: its rows, its workers and its jobs, on tiny models."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import gpu_bench, gpu_judges
from benchmarks.gpu_bench import FIT, ROWS, read_rows, write_rows
from benchmarks.gpu_drafts import DraftedExtractor
from benchmarks.gpu_judges import BaseTexts, Failure, Judges, Work, ask, length_batches
from benchmarks.pack import pack_folder
from halldetect.errors import ExtractionError
from halldetect.models.integrity import WEIGHTS
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.predictions import read_all, row_digest

SOURCE = "Norvik opened a plant in 1994. The plant makes doors. It closed in 2011. Ada ran it."


def row(number: int, response: str, wrong: bool) -> Row:
    source = f"{SOURCE} It had {number} doors."
    return Row("d", f"r{number}", source, response, wrong, document=str(number))


ROWS_OF_SET = [
    row(1, "The plant makes doors. It closed in 2011.", False),
    row(2, "The plant makes windows.", True),
    row(3, "Ada ran it.", False),
]


def test_rows_taken_to_another_machine_are_the_same_rows(tmp_path: Path) -> None:
    rows = [
        Row("d", "1", ("One.", "Two."), "One.", False, 4.5, (("One.", False),), None, "x", "Why?"),
        Row("d", "2", "Ünïcode \u2028 text.", "Yes.", True, kind="number", document="y"),
    ]
    path = tmp_path / ROWS
    with lzma.open(path, "wt", encoding="utf-8") as file:
        write_rows(file, "d", rows)
    assert read_rows(path) == {"d": rows}
    assert [row_digest(one) for one in read_rows(path)["d"]] == [row_digest(one) for one in rows]


def test_batches_hold_every_pair_once_and_little_padding() -> None:
    lengths = np.array([500, 30, 499, 31, 8, 300])
    order = np.argsort(-lengths, kind="stable")
    found = [places.tolist() for places in length_batches(lengths, order)]
    assert found == [[0, 2], [5], [3, 1], [4]]


def test_workers_are_answered_together_and_a_failure_costs_only_its_own_work() -> None:
    def score(work: Work) -> Any:
        if work.rows == (1,):
            raise ValueError("no such row")
        return ask("double", work.rows[0])

    asked: list[list[int]] = []

    def double(requests: list[int]) -> list[int]:
        asked.append(requests)
        return [2 * number for number in requests]

    found: dict[int, Any] = {}
    work = iter([Work(0, "d", (number,)) for number in range(5)])
    Judges(2, score).run(
        work, {"double": double}, lambda done, result: found.update({done.rows[0]: result})
    )
    assert found == {0: 0, 1: Failure("ValueError: no such row"), 2: 4, 3: 6, 4: 8}
    assert sorted(number for requests in asked for number in requests) == [0, 2, 3, 4]


class FakeNetwork(gpu_judges.BaseNetwork):
    """Longer pairs are entailed more; nothing is loaded."""

    def __init__(self, folder: Path, device: str) -> None:
        self._known: dict[bytes, int] = {}
        self._answers = np.zeros((1, 3), np.float32)
        self.pairs = self.tokens = 0

    def _computed(self, pieces: Any) -> Any:
        self.pairs += len(pieces)
        return np.array([[len(piece) % 7, 1.0, len(piece) % 3] for piece in pieces], np.float32)


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    folder = tmp_path / "prepared"
    (folder / "base").mkdir(parents=True)
    with lzma.open(folder / ROWS, "wt", encoding="utf-8") as file:
        for name in ("qags-cnndm", "wice", f"{FIT}factcg"):
            write_rows(file, name, ROWS_OF_SET)
    for name in ("tokenizer.json", "config.json"):
        (folder / "base" / name).write_bytes((WEIGHTS / "base" / name).read_bytes())
    described = {"name": "base", "digest": "1", "max_tokens": 508, "languages": ["en"]}
    (folder / "base" / "description.json").write_text(json.dumps(described))
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *words: Any) -> None:
    monkeypatch.setattr(gpu_bench, "BaseNetwork", FakeNetwork)
    monkeypatch.setattr(sys, "argv", ["gpu_bench", *map(str, words)])
    gpu_bench.main()


def large_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("tokenizers")
    pytest.importorskip("torch")
    from tests.support.tiny_qwen import write_tiny

    weights = folder / "weights" / "large"
    weights.mkdir(parents=True)
    tiny = write_tiny(weights)
    (weights / "config.json").write_text("{}")
    monkeypatch.setattr(gpu_bench, "WEIGHTS", folder / "weights")
    monkeypatch.setenv("HALLDETECT_HOME", str(folder / "home"))  # for what is converted
    return tiny.base


@pytest.mark.slow
def test_all_methods_on_verifiers_score_all_rows_and_a_second_call_adds_nothing(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = large_model(tmp_path, monkeypatch)
    out = tmp_path / "out"
    call = ("judge", "--from", prepared, "--out", out, "--device", "cpu", "--large", base)
    # What runs on `large` alone does not keep the layer of SummaC-Conv from being fitted.
    run(monkeypatch, *call, "--workers", 1, "--parts", "one-prompt, large")
    run(monkeypatch, *call, "--workers", 2)
    results = read_all(out)
    names = {
        (one.header.method["name"], one.header.method.get("verifier", {}).get("name"))
        for one in results
    }
    on_base = ("halldetect", "nli-only", "minicheck", "alignscore", "summac-zs", "summac-conv")
    assert names == {
        *((name, "base") for name in (*on_base, "ablation")),
        *((name, "large") for name in ("halldetect", "nli-only", "one-prompt", "ablation")),
        ("rouge-l", None),
    }
    for one in results:
        assert {item.id for item in one.predictions} == {"r1", "r2", "r3"}
        assert all(item.score is not None for item in one.predictions), one.header.method
        assert not any(item.cost["seconds"] for item in one.predictions)
        assert one.header.sample == {"rows": 3, "of": 3, "seed": 0}
        assert one.header.code
        assert "judge" in one.header.command
    before = {path: path.read_bytes() for path in out.rglob("*.jsonl")}
    run(monkeypatch, *call, "--workers", 1)
    assert {path: path.read_bytes() for path in out.rglob("*.jsonl")} == before


def test_scores_without_explanations_are_those_of_a_whole_check(
    prepared: Path, tmp_path: Path
) -> None:
    network = FakeNetwork(tmp_path, "cpu")
    base = BaseTexts(prepared / "base", {}, network.answer)
    short = gpu_bench.detecting(base).score_many(ROWS_OF_SET)
    whole = gpu_bench.detecting(base, explanations=True).score_many(ROWS_OF_SET)
    assert [one.score for one in short] == [one.score for one in whole]
    assert [one.claims for one in short] == [one.claims for one in whole]
    assert sum(one.cost.pairs_judged for one in short) <= sum(
        one.cost.pairs_judged for one in whole
    )


def language_model(folder: Path) -> Path:
    """A llama with random weights that reads bytes, as a folder of transformers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    from tests.support.tiny_qwen import SPECIAL, vocabulary

    tokens, merges = vocabulary()
    pairs = [(one, two) for one, _, two in (merge.partition(" ") for merge in merges)]
    tokenizer = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=SPECIAL, pad_token=SPECIAL
    )
    fast.chat_template = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokens), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, eos_token_id=len(tokens) - 1,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_methods_on_a_language_model_share_their_rows(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.tiny_models import write_sentence_model

    llm = language_model(tmp_path / "llm")
    embedder = write_sentence_model(tmp_path / "embedder", "mean")
    out = tmp_path / "out"
    run(
        monkeypatch, "generate", "--from", prepared, "--out", out, "--device", "cpu",
        "--llm", llm, "--embedder", embedder, "--shared-rows", 2,
    )  # fmt: skip
    found = {
        (one.header.method["name"], one.header.dataset): {item.id for item in one.predictions}
        for one in read_all(out)
    }
    every = {"r1", "r2", "r3"}
    asked = ("long-context", "llm-cot", "qafacteval", "selfcheck", "acueval", "factscore")
    for name in (*asked, "embedding"):
        assert found[name, "qags-cnndm"] == every, name
    (drawn,) = {frozenset(found[name, "wice"]) for name in asked}
    assert len(drawn) == 2
    assert found["embedding", "wice"] == every


@pytest.mark.slow
def test_drafted_claims_are_judged_later_with_and_without_the_guard(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = language_model(tmp_path / "llm")
    out, drafts = tmp_path / "out", tmp_path / "drafts.jsonl"
    shared = ("--from", prepared, "--device", "cpu", "--shared-rows", 2)
    call = ("extract", *shared, "--llm", llm, "--drafts", drafts, "--guard")
    run(monkeypatch, *call)
    before = drafts.read_bytes()
    run(monkeypatch, *call)
    assert drafts.read_bytes() == before  # what was drafted is not drafted again
    known = DraftedExtractor(drafts)
    assert known.responses == {one.response for one in ROWS_OF_SET}
    with pytest.raises(ExtractionError, match="drafted no claims"):
        known.draft("another text", 4)
    run(
        monkeypatch, "judge", *shared, "--drafts", drafts, "--parts", "paper", "guard", "no-guard",
        "--out", out, "--workers", 1,
    )  # fmt: skip
    found = {
        (one.header.method["name"], one.header.method["configuration"]["guard"]): one
        for one in read_all(out)
        if one.header.dataset == "wice"
    }
    assert set(found) == {("paper", False), ("halldetect", True), ("halldetect", False)}
    guarded = found["halldetect", True]
    assert guarded.header.method["extractor"] == known.description
    assert len(guarded.predictions) == 2
    assert all(item.cost["generative_passes"] for item in guarded.predictions)


@pytest.mark.hf
def test_latency_is_measured_one_row_at_a_time(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = large_model(tmp_path, monkeypatch)
    out = tmp_path / "out"
    run(
        monkeypatch, "latency", "--from", prepared, "--out", out, "--device", "cpu",
        "--large", base, "--latency-rows", 1, "--latency-name", "trial",
    )  # fmt: skip
    for one in read_all(out / "latency-trial"):
        quick = one.header.method["name"] == "minicheck" or (
            one.header.method["name"] == "nli-only"
            and one.header.method["verifier"]["name"] == "base"
        )
        assert len(one.predictions) == (3 if quick else 1)
        for item in one.predictions:
            assert item.resources["joules"] >= 0
            assert sum(item.cost["seconds"].values()) > 0
    # A machine on which nothing but times was taken has no other results.
    packed = list(pack_folder(out, tmp_path / "packed"))
    assert packed
    assert {path.parent.parent.name for path in packed} == {"latency-trial"}
