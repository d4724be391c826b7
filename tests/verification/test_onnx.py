"""The ONNX verifier, on tiny models made here and on the weights in the package."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halldetect.errors import ConfigurationError, HallDetectError, ModelError
from halldetect.machine.devices import physical_cores
from halldetect.machine.integrity import SHIPPED_DIGESTS, file_digests, joint_digest
from halldetect.models import verifiers
from halldetect.models.verifiers import load_verifier
from halldetect.report import Probabilities
from halldetect.verification.presets import PAPER, check_verifier_name
from halldetect.verification.verifiers.classifier import Labels
from halldetect.verification.verifiers.onnx import OnnxVerifier
from tests.support.paths import ROOT
from tests.support.tiny_models import LINES, PAIRS, THREE_WAY, write_onnx

pytest.importorskip("onnx", reason="the tiny models are built with onnx")

KINDS: dict[str, Any] = {
    "fp32": None,
    "per tensor": "per tensor",
    "4 bit": {"bits": 4},
    "4 bit, fp32 activations": {"bits": 4, "accuracy_level": 0},
    "4 bit, 4-bit table": {"bits": 4, "block": 32, "embeddings": "int4"},
    "8 bit": {"bits": 8},
    "packed": {"packed": True, "block": 16},
}
WEIGHTS = verifiers.WEIGHTS / verifiers.DEFAULT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_onnx(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    verifiers._loaded.clear()
    yield
    verifiers._loaded.clear()


def identical(verifier: OnnxVerifier, pairs: list[tuple[str, str]]) -> list[Probabilities]:
    """What the verifier says, after a look that company and order make no difference."""
    batched = verifier.judge(pairs)
    assert [verifier.judge([pair])[0] for pair in pairs] == batched
    order = list(range(len(pairs)))
    for seed in range(3):
        random.Random(seed).shuffle(order)
        assert verifier.judge([pairs[at] for at in order]) == [batched[at] for at in order]
    assert verifier.judge(pairs * 2)[len(pairs) :] == batched
    return batched


@pytest.mark.parametrize("kind", KINDS)
def test_results_equal_alone_batched_shuffled_any_threads(kind: str, tmp_path: Path) -> None:
    place = write_onnx(tmp_path / "model", quantisation=KINDS[kind])
    found = identical(OnnxVerifier(place, threads=2), PAIRS)
    assert len(set(found)) == len(PAIRS)
    for threads in (1, 5):
        assert OnnxVerifier(place, threads=threads).judge(PAIRS) == found


@pytest.mark.parametrize("threads", [2, 3])
def test_few_and_many_pairs_give_equal_bits(threads: int, tmp_path: Path) -> None:
    """Only with packed weights: sums of other models may depend on the threads."""
    place = write_onnx(tmp_path / "model", quantisation=KINDS["packed"])
    long = " ".join(LINES)
    pairs = [*PAIRS, (long, PAIRS[0][1]), (f"{long} {long}", PAIRS[1][1])]
    alone = OnnxVerifier(place, threads=1).judge(pairs)
    verifier = OnnxVerifier(place, threads=threads)
    assert [verifier.judge([pair])[0] for pair in pairs] == alone
    assert verifier._one_thread_session is None, "not worth it for a few pairs"
    times = 1 + 128 // len(PAIRS)
    assert verifier.judge(PAIRS * times) == alone[: len(PAIRS)] * times
    assert verifier._one_thread_session is not None


def test_a_padded_batch_would_change_results(tmp_path: Path) -> None:
    """The reason for one pair a run; if this fails one day, batches may be thought of again."""
    verifier = OnnxVerifier(write_onnx(tmp_path / "model", quantisation="per tensor"))
    encoded = verifier._encoder.encode(PAIRS[:4])
    shape = (4, max(map(len, encoded)))
    feeds = {"input_ids": np.ones(shape, np.int64), "attention_mask": np.zeros(shape, np.int64)}
    for row, pair in enumerate(encoded):
        feeds["input_ids"][row, : len(pair)] = pair.ids
        feeds["attention_mask"][row, : len(pair)] = 1
    batched = verifier._session.run(None, feeds)[0]
    assert verifier._labels.read(batched, "test") != verifier.judge(PAIRS[:4])


def test_embedded_weights_judge_well_on_any_threads() -> None:
    verifier = OnnxVerifier(WEIGHTS, threads=2)
    pairs = [
        (LINES[0], "A bridge was closed."),
        (LINES[0], "The bridge stayed open."),
        (LINES[0], "The bridge was built by the Romans."),
        (" ".join(LINES[:3]), "Forty-one families had to leave."),
    ]
    found = verifier.judge(pairs)
    assert found[0].entailment > 0.8
    assert (found[1].contradiction or 0) > 0.8
    assert found[2].neutral > 0.5
    assert verifier.judge(pairs[::-1]) == found[::-1]
    assert OnnxVerifier(WEIGHTS, threads=1).judge(pairs) == found
    assert verifier.max_tokens == 512 - 4
    assert sum(verifier.count_tokens(pairs[0])) + 4 == len(verifier._encoder.encode(pairs[:1])[0])


def test_probabilities_add_up(folder: Path) -> None:
    for found in OnnxVerifier(folder).judge(PAIRS):
        assert found.contradiction is not None
        assert found.entailment + found.neutral + found.contradiction == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("order", list(itertools.permutations(THREE_WAY)))
def test_labels_may_come_in_any_order(order: tuple[str, ...], folder: Path, tmp_path: Path) -> None:
    other = OnnxVerifier(write_onnx(tmp_path / "other", labels=order))
    for found, expected in zip(other.judge(PAIRS), OnnxVerifier(folder).judge(PAIRS), strict=True):
        assert found.entailment == pytest.approx(expected.entailment, abs=1e-6)
        assert found.contradiction == pytest.approx(expected.contradiction, abs=1e-6)


@pytest.mark.parametrize(
    "labels",
    [
        ("not_entailment", "entailment"),
        ("SUPPORTED", "Unsupported"),
        ("hallucinated", "consistent"),
        ("Not Supported", "supports"),
    ],
)
def test_a_two_way_model_has_no_contradiction(labels: tuple[str, ...], tmp_path: Path) -> None:
    verifier = OnnxVerifier(write_onnx(tmp_path / "two", labels=labels))
    for found in identical(verifier, PAIRS):
        assert found.contradiction is None
        assert found.entailment + found.neutral == pytest.approx(1, abs=1e-12)


def test_labels_by_name() -> None:
    config = {"id2label": {"2": "ENTAILMENT", "0": "Contradiction", "1": "neutral"}}
    assert Labels.from_config(config, "x").meanings == ("contradiction", "neutral", "entailment")
    two_way = {"id2label": {"0": "not_entailment", "1": "entailment"}}
    assert Labels.from_config(two_way, "x").meanings == ("rest", "entailment")
    found = Labels(("rest", "entailment")).read(np.zeros((2, 2), np.float16), "x")
    assert found == [Probabilities(0.5, 0.5, None)] * 2
    assert Labels(("contradiction", "entailment")).read(np.zeros((1, 2)), "x") == [
        Probabilities(0.5, 0.0, 0.5)
    ]
    [one] = Labels(("contradiction", "neutral", "entailment")).read(np.array([[0, 0, 99.0]]), "x")
    assert (one.entailment, one.contradiction) == (1.0, pytest.approx(0, abs=1e-40))


def test_rows_are_read_together_as_alone() -> None:
    labels = Labels(("neutral", "entailment", "contradiction"))
    logits = np.random.default_rng(0).normal(0, 5, (1001, 3)).astype(np.float32)
    found = labels.read(logits, "x")
    assert found == [labels.read(row[None], "x")[0] for row in logits]
    for row, one in zip(logits.astype(np.float64), found, strict=True):
        powers = np.exp(row - row.max())
        shares = (powers / powers.sum()).tolist()
        assert [one.neutral, one.entailment, one.contradiction] == shares


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}},
        {"id2label": {"0": "entailment", "1": "neutral"}},
        {"id2label": {"0": "entailment", "1": "entails", "2": "contradiction"}},
        {"id2label": {"1": "entailment", "2": "neutral", "3": "contradiction"}},
        {"id2label": {"zero": "entailment"}},
        {"id2label": ["entailment", "neutral", "contradiction"]},
        {"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction", "3": "rest"}},
    ],
)
def test_labels_nobody_can_read_are_an_error(config: dict[str, Any], copy: Path) -> None:
    (copy / "config.json").write_text(json.dumps(config))
    assert "label" in one_line(lambda: OnnxVerifier(copy))


def test_outputs_and_labels_must_agree_in_number(copy: Path) -> None:
    labels = {"id2label": {"0": "entailment", "1": "not_entailment"}}
    (copy / "config.json").write_text(json.dumps(labels))
    line = one_line(lambda: OnnxVerifier(copy).judge(PAIRS))
    assert "3 outputs but 2 labels" in line


def one_line(call: Callable[[], Any], kind: type[HallDetectError] = ModelError) -> str:
    with pytest.raises(kind) as caught:
        call()
    line = str(caught.value)
    assert "\n" not in line
    assert line
    return line


def test_nothing_is_cut_off_in_silence(copy: Path) -> None:
    (copy / "config.json").write_text(json.dumps({"id2label": dict(enumerate(THREE_WAY))}))
    verifier = OnnxVerifier(copy)
    assert verifier.max_tokens == 508
    room = verifier.max_tokens - sum(verifier.count_tokens(["No."]))
    [fits] = verifier.judge([("water " * room, "No.")])
    assert fits.entailment > 0
    line = one_line(lambda: verifier.judge([*PAIRS, ("water " * (room + 1), "No.")]))
    assert "513 tokens" in line
    assert "512" in line


def test_limits_come_from_the_configuration(copy: Path) -> None:
    labels = {"id2label": dict(enumerate(THREE_WAY))}
    for stated, expected in (
        ({"max_tokens": 100}, 100),
        ({"model_max_length": 1e30, "max_position_embeddings": 256}, 256),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "mpnet", "max_position_embeddings": 514, "max_tokens": 384}, 384),
    ):
        (copy / "config.json").write_text(json.dumps(labels | stated))
        assert OnnxVerifier(copy).max_tokens == expected - 4
    (copy / "tokenizer_config.json").write_text('{"model_max_length": 77}')
    assert OnnxVerifier(copy).max_tokens == 77 - 4


def test_special_tokens_in_a_text_are_plain_characters(folder: Path) -> None:
    verifier = OnnxVerifier(folder)
    [ids] = verifier._encoder.encode([(f"{LINES[0]}</s></s>The bridge fell.", "<s>No.<pad>")])
    assert ids.ids.count(2) == 3
    assert ids.ids.count(0) == 1
    assert 1 not in ids.ids
    assert verifier.count_tokens(["</s>"]) != [1]


def test_odd_texts_are_judged(folder: Path) -> None:
    verifier = OnnxVerifier(folder)
    odd = ["", " ", "\ud800 water", "a\0b", "😀字\u0301", "\n\n"]
    pairs = [(premise, hypothesis) for premise in odd for hypothesis in odd]
    assert len(identical(verifier, pairs)) == len(pairs)
    assert verifier.judge([]) == []
    assert verifier.count_tokens([]) == []


def test_token_types_are_passed_if_wanted(tmp_path: Path) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    verifier = OnnxVerifier(write_onnx(tmp_path / "typed", inputs=inputs))
    assert len(identical(verifier, PAIRS)) == len(PAIRS)


def test_the_description_names_the_bytes(folder: Path) -> None:
    found = OnnxVerifier(folder).description
    assert found["name"] == "tiny"
    assert found["digest"] == sha256(folder / "model.onnx")
    assert found["tokenizer_digest"] == sha256(folder / "tokenizer.json")
    assert found["folder_digest"] == joint_digest(file_digests(folder))
    assert found["calibration"] is None
    assert json.loads(json.dumps(found)) == found


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_what_the_configuration_adds_is_described(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    config |= {"languages": ["en"], "calibration": {"slope": 1.5}}
    (copy / "config.json").write_text(json.dumps(config))
    found = OnnxVerifier(copy, name="other").description
    assert found["name"] == "other"
    assert found["languages"] == ["en"]
    assert found["calibration"] == {"slope": 1.5}


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "garbage"])
def test_damage_is_one_line_that_names_the_file(name: str, damage: str, copy: Path) -> None:
    file = copy / name
    data = file.read_bytes()
    file.unlink()
    if damage != "missing":
        file.write_bytes(
            {"empty": b"", "cut": data[: len(data) // 2], "garbage": b"\xff" * 99}[damage]
        )
    line = one_line(lambda: OnnxVerifier(copy))
    assert name in line or (name, damage) == ("model.onnx", "missing")


def test_weights_that_are_no_numbers_are_noticed(tmp_path: Path) -> None:
    import onnx
    from onnx import numpy_helper

    place = write_onnx(tmp_path / "broken")
    model = onnx.load(str(place / "model.onnx"))
    for item in model.graph.initializer:
        if item.name == "bias":
            item.CopyFrom(numpy_helper.from_array(np.full(3, np.nan, np.float32), "bias"))
    onnx.save(model, str(place / "model.onnx"))
    assert "damaged" in one_line(lambda: OnnxVerifier(place).judge(PAIRS))


def test_models_of_another_kind_are_refused(tmp_path: Path) -> None:
    import onnx

    place = write_onnx(tmp_path / "other")
    model = onnx.load(str(place / "model.onnx"))
    original = model.SerializeToString()
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 128
    onnx.save(model, str(place / "model.onnx"))
    assert "invalid dimensions" in one_line(lambda: OnnxVerifier(place).judge(PAIRS))
    (place / "model.onnx").write_bytes(original.replace(b"attention_mask", b"position_coder"))
    assert "position_coder" in one_line(lambda: OnnxVerifier(place).judge(PAIRS))


def test_several_models_in_a_folder(copy: Path) -> None:
    shutil.copy(copy / "model.onnx", copy / "another.onnx")
    assert OnnxVerifier(copy).description["digest"] == sha256(copy / "model.onnx")
    (copy / "model.onnx").rename(copy / "third.onnx")
    assert "exist" in one_line(lambda: OnnxVerifier(copy))
    assert OnnxVerifier(copy / "third.onnx").judge(PAIRS)


def test_a_verifier_is_loaded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_verifier(str(folder))
    monkeypatch.chdir(folder.parent)
    assert load_verifier(folder.name) is first
    assert load_verifier(f"./{folder.name}/", threads=1) is not first
    assert load_verifier(str(folder), threads=1) is load_verifier(folder.name, threads=1)


def test_a_model_file_may_be_named(folder: Path) -> None:
    assert load_verifier(str(folder / "model.onnx")).judge(PAIRS) == load_verifier(
        str(folder)
    ).judge(PAIRS)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("bse", "did you mean base?"),
        ("lrge", "did you mean large?"),
        ("hf:", "known names"),
        ("deberta-v3-lrge", "did you mean deberta-v3-large?"),
        ("auot", "did you mean auto?"),
        ("zzz", "known names: base, large, auto"),
        ("", "known names: base"),
        ("some/model", "hf:some/model"),
    ],
)
def test_an_unknown_name_gets_advice(spec: str, words: str) -> None:
    assert words in one_line(lambda: load_verifier(spec), ConfigurationError)
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        check_verifier_name(spec)


@pytest.mark.parametrize("name", [None, "base", "large", "auto", PAPER, "hf:a/b", "."])
def test_names_that_may_exist_pass_the_check(name: str | None) -> None:
    check_verifier_name(name)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    assert "neither" in one_line(lambda: load_verifier(str(tmp_path)), ConfigurationError)
    (tmp_path / "notes.txt").write_text("x")
    line = one_line(lambda: load_verifier(str(tmp_path / "notes.txt")), ConfigurationError)
    assert "neither" in line


def test_missing_embedded_weights_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifiers, "WEIGHTS", tmp_path)
    assert "reinstall" in one_line(lambda: load_verifier(None))


def test_the_embedded_default_is_found(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path / "weights" / verifiers.DEFAULT)
    monkeypatch.setattr(verifiers, "WEIGHTS", tmp_path / "weights")
    digest = joint_digest(file_digests(tmp_path / "weights" / verifiers.DEFAULT))
    monkeypatch.setitem(SHIPPED_DIGESTS, verifiers.DEFAULT, digest)
    default = load_verifier(None)
    assert default is load_verifier(verifiers.DEFAULT)
    assert default.description["name"] == verifiers.DEFAULT


def test_altered_embedded_weights_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two labels swapped in the configuration would turn every verdict round."""
    shutil.copytree(WEIGHTS, tmp_path / verifiers.DEFAULT)
    monkeypatch.setattr(verifiers, "WEIGHTS", tmp_path)
    config = tmp_path / verifiers.DEFAULT / "config.json"
    config.write_text(
        config.read_text()
        .replace("entailment", "?")
        .replace("contradiction", "entailment")
        .replace("?", "contradiction")
    )
    assert "are not those of this version" in one_line(lambda: load_verifier(None))


def test_loading_imports_no_torch_and_no_pool(folder: Path) -> None:
    program = (
        "import sys; from halldetect.models.verifiers import load_verifier; "
        f"load_verifier({str(folder)!r}).judge([('a', 'b')]); "
        "print('torch' in sys.modules, 'transformers' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    assert done.stdout.split() == ["False", "False"]
    assert done.stderr == ""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def test_cores_are_counted_without_their_second_threads(tmp_path: Path) -> None:
    assert 1 <= physical_cores() <= (os.cpu_count() or 1)
    if hasattr(os, "sched_getaffinity"):
        for number in os.sched_getaffinity(0):
            place = tmp_path / f"cpu{number}" / "topology"
            place.mkdir(parents=True)
            (place / "thread_siblings_list").write_text("0-1\n")
        assert physical_cores(tmp_path) == 1
        assert physical_cores(tmp_path / "nowhere") == len(os.sched_getaffinity(0))


def test_the_runtime_leaves_no_usage_data_behind(tmp_path: Path) -> None:
    """onnxruntime keeps a device id and a queue of events in the home folder if it is let."""
    program = (
        "from halldetect.models.verifiers import load_verifier\n"
        "print(load_verifier(None).judge([('It rained.', 'It was wet.')])[0].entailment > 0)"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"
    assert not [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name]


def test_claim_with_an_unreadable_word_is_not_judged() -> None:
    from halldetect import Detector, Verdict

    report = Detector().check("Ann left Rome.", "Ann left Rome \U0001e900\U0001e901.")
    assert report.verdict is Verdict.UNCHECKABLE
    assert "cannot read" in str(report.claims[0].reason)
