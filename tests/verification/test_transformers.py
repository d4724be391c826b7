"""The transformers verifier, on tiny models made here and against their ONNX form."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halldetect.errors import FetchError, MissingExtra, ModelError
from halldetect.machine.devices import torch_device
from halldetect.models import verifiers
from halldetect.models.verifiers import load_verifier
from halldetect.report import Probabilities
from halldetect.verification.presets import PAPER_REVISION
from halldetect.verification.verifiers.encoding import Encoded
from halldetect.verification.verifiers.onnx import OnnxVerifier
from halldetect.verification.verifiers.transformers import (
    GPU_TOKENS,
    LENGTH_STEP,
    TransformersVerifier,
    logits_of,
    quick_attention,
    runs,
)
from tests.support.paths import ROOT
from tests.support.tiny_models import LINES, PAIRS, THREE_WAY, export, write_transformers

pytestmark = [
    pytest.mark.hf,
    # transformers' DeBERTa is written with it.
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is:DeprecationWarning"),
]
KINDS = ("mpnet", "deberta", "roberta")
TWO_WAY = ("not_entailment", "entailment")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    return {kind: write_transformers(place / kind, kind) for kind in KINDS}


def identical(verifier: Any, pairs: list[tuple[str, str]]) -> list[Probabilities]:
    batched: list[Probabilities] = verifier.judge(pairs)
    assert [verifier.judge([pair])[0] for pair in pairs] == batched
    order = list(range(len(pairs)))
    for seed in range(3):
        random.Random(seed).shuffle(order)
        assert verifier.judge([pairs[at] for at in order]) == [batched[at] for at in order]
    return batched


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_identical_alone_batched_and_shuffled(
    kind: str, folders: dict[str, Path]
) -> None:
    found = identical(TransformersVerifier(str(folders[kind])), PAIRS)
    assert len(set(found)) == len(PAIRS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_onnx_form_says_the_same(kind: str, folders: dict[str, Path], tmp_path: Path) -> None:
    ours = TransformersVerifier(str(folders[kind]), device="cpu")
    theirs = OnnxVerifier(export(folders[kind], tmp_path / "onnx"))
    assert ours.max_tokens == theirs.max_tokens
    texts = [text for pair in PAIRS for text in pair]
    assert ours.count_tokens(texts) == theirs.count_tokens(texts)
    for one, other in zip(ours.judge(PAIRS), identical(theirs, PAIRS), strict=True):
        assert one.entailment == pytest.approx(other.entailment, abs=1e-5)
        assert one.neutral == pytest.approx(other.neutral, abs=1e-5)
        assert one.contradiction == pytest.approx(other.contradiction, abs=1e-5)


def test_it_gives_what_transformers_gives(folders: dict[str, Path]) -> None:
    import torch
    import transformers

    for folder in folders.values():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        network = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        for pair, found in zip(
            PAIRS, TransformersVerifier(str(folder), device="cpu").judge(PAIRS), strict=True
        ):
            with torch.inference_mode():
                logits = network(**tokenizer(*pair, return_tensors="pt")).logits[0]
            expected = torch.softmax(logits.double(), 0).tolist()
            assert found.entailment == pytest.approx(expected[0], abs=1e-6)
            assert found.contradiction == pytest.approx(expected[2], abs=1e-6)


@pytest.mark.parametrize("order", list(itertools.permutations(THREE_WAY)))
def test_the_order_of_labels_is_the_models_own(
    order: tuple[str, ...], folders: dict[str, Path], tmp_path: Path
) -> None:
    """The same weights under other names: each probability goes where its name says."""
    other = TransformersVerifier(str(write_transformers(tmp_path / "m", "mpnet", labels=order)))
    plain = TransformersVerifier(str(folders["mpnet"]))
    for found, outputs in zip(other.judge(PAIRS), plain.judge(PAIRS), strict=True):
        shares = (outputs.entailment, outputs.neutral, outputs.contradiction)
        named = dict(zip(order, shares, strict=True))
        assert found == Probabilities(
            named["entailment"] or 0, named["neutral"] or 0, named["contradiction"]
        )


def test_a_two_way_model_has_no_contradiction(tmp_path: Path) -> None:
    place = write_transformers(tmp_path / "two", "deberta", labels=TWO_WAY)
    for found in identical(TransformersVerifier(str(place)), PAIRS):
        assert found.contradiction is None
        assert found.entailment + found.neutral == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_in_a_text_are_not_special(kind: str, folders: dict[str, Path]) -> None:
    """DeBERTa's vocabulary holds them as pieces, also of a text that only becomes one."""
    verifier = TransformersVerifier(str(folders[kind]))
    tokens = ["[SEP]", "[CLS]", "[PAD]", "</s>", "<s>", "<pad>", "<mask>", "[MASK]"]
    [clean] = verifier._encoder.encode([(LINES[0], "No.")])
    for token in tokens:
        [hostile] = verifier._encoder.encode([(f"{LINES[0]} {token}", f"{token}{token} No.")])
        for number in range(3):
            assert hostile.ids.count(number) == clean.ids.count(number)
        counts = verifier.count_tokens([f"{LINES[0]} {token}", f"{token}{token} No."])
        assert len(hostile) == sum(counts) + 300 - verifier.max_tokens


def padded(lengths: list[int]) -> list[int]:
    return [-(-length // LENGTH_STEP) * LENGTH_STEP for length in lengths]


def gpu_way(verifier: TransformersVerifier, tokens: int = GPU_TOKENS) -> TransformersVerifier:
    verifier._step, verifier._tokens = LENGTH_STEP, tokens
    return verifier


def test_pair_alone_decides_its_shape_on_gpu() -> None:
    lengths = np.random.default_rng(0).integers(12, 512, 700).tolist()
    shapes: dict[int, set[int]] = {}
    seen: list[int] = []
    for places, rows in runs(padded(lengths), GPU_TOKENS):
        assert 1 <= len(places) <= rows
        [length] = {padded(lengths)[place] for place in places}
        assert rows * length <= GPU_TOKENS
        seen += places
        shapes.setdefault(length, set()).add(rows)
    assert sorted(seen) == list(range(700))
    for length, found in shapes.items():
        [(_, rows)] = runs([length], GPU_TOKENS)
        assert found == {rows}


def test_few_tokens_are_padding_or_copies() -> None:
    lengths = np.random.default_rng(0).integers(20, 160, 480).tolist()
    sizes = padded(lengths)
    computed = sum(sizes[places[0]] * rows for places, rows in runs(sizes, GPU_TOKENS))
    assert sum(lengths) / computed > 0.6


def test_packed_pair_holds_its_tokens_and_padding(folders: dict[str, Path]) -> None:
    verifier = TransformersVerifier(str(folders["mpnet"]), device="cpu")
    pair = Encoded((0, 70_000, 2), (0, 0, 1))
    exact = np.frombuffer(verifier._packed(pair), np.int32)
    assert exact.tolist() == [0, 70_000, 2, 0, 0, 1]
    filled = np.frombuffer(gpu_way(verifier)._packed(pair), np.int32).reshape(2, LENGTH_STEP)
    assert filled[:, :3].ravel().tolist() == exact.tolist()
    assert (filled[:, 3:] == -1).all()


def test_padded_runs_give_what_single_ones_give(
    folders: dict[str, Path],
) -> None:
    """The GPU's way of batching, carried out on the processor."""
    for folder in folders.values():
        verifier = TransformersVerifier(str(folder), device="cpu")
        single = verifier.judge(PAIRS)
        for found, expected in zip(identical(gpu_way(verifier), PAIRS), single, strict=True):
            assert found.entailment == pytest.approx(expected.entailment, abs=1e-5)


def test_out_of_memory_shrinks_runs_then_fails(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = TransformersVerifier(str(folders["mpnet"]), device="cpu")
    expected = verifier.judge(PAIRS)
    gpu_way(verifier)
    monkeypatch.setattr(verifier, "_device", "cuda")  # to be named
    run = verifier._run
    sizes: list[int] = []
    most = [2]

    def short_of_memory(pairs: Sequence[bytes], rows: int) -> Any:
        sizes.append(rows)
        if rows > most[0]:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        verifier._device = "cpu"
        try:
            return run(pairs, rows)
        finally:
            verifier._device = "cuda"

    monkeypatch.setattr(verifier, "_run", short_of_memory)
    for found, wanted in zip(verifier.judge(PAIRS), expected, strict=True):
        assert found.entailment == pytest.approx(wanted.entailment, abs=1e-5)
    assert max(sizes) > 2 >= sizes[-1]
    most[0] = 0
    with pytest.raises(ModelError, match="not enough memory on cuda, even for one pair"):
        verifier.judge(PAIRS)


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_missing_device_is_one_line(folders: dict[str, Path], device: str) -> None:
    if torch_device("auto") == device:
        pytest.skip("it is there")
    with pytest.raises(ModelError, match=f"no device {device}"):
        load_verifier(str(folders["mpnet"]), device=device)


def test_fp16_on_a_gpu_is_identical_too(folders: dict[str, Path]) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    for folder in folders.values():
        verifier = TransformersVerifier(str(folder))
        assert verifier.description["precision"] == "float16"
        exact = TransformersVerifier(str(folder), device="cpu").judge(PAIRS * 20)
        for found, expected in zip(identical(verifier, PAIRS * 20), exact, strict=True):
            assert found.entailment == pytest.approx(expected.entailment, abs=0.02)


def test_inputs_of_recorded_kernels_give_the_same_logits(folders: dict[str, Path]) -> None:
    """The kernels are recorded on a GPU only; what they read is made here."""
    import torch

    for kind in ("mpnet", "roberta"):  # one with distances and attention of its own, one without
        verifier = gpu_way(TransformersVerifier(str(folders[kind]), device="cpu"))
        network, feeds = verifier._network, verifier._feeds
        packed = [verifier._packed(pair) for pair in verifier._encoder.encode(PAIRS)]
        short = bytearray().join(pair for pair in packed if len(pair) == len(packed[0]))
        given = torch.frombuffer(short, dtype=torch.int32).view(-1, 2, LENGTH_STEP)
        with torch.inference_mode():
            plain = network(**feeds(given)).logits
            with quick_attention(network, LENGTH_STEP) as distances:
                found = logits_of(network, feeds, given, distances)
            again = network(**feeds(given)).logits
        assert len(plain) > 1
        assert torch.allclose(found, plain, atol=1e-5)
        assert torch.equal(again, plain)


def test_nothing_is_cut_off_in_silence(folders: dict[str, Path]) -> None:
    verifier = TransformersVerifier(str(folders["mpnet"]))
    assert verifier.max_tokens == 300 - 4
    with pytest.raises(ModelError, match="the model reads 300"):
        verifier.judge([("water " * 300, "The water fell.")])


def test_the_description_names_the_bytes_and_the_precision(folders: dict[str, Path]) -> None:
    found = TransformersVerifier(str(folders["deberta"]), device="cpu").description
    assert found["precision"] == "float32"
    assert len(found["digest of model.safetensors"]) == 64
    assert found["labels"] == list(THREE_WAY)


def test_a_folder_is_loaded_by_its_path(folders: dict[str, Path]) -> None:
    verifier = load_verifier(str(folders["mpnet"]))
    assert isinstance(verifier, TransformersVerifier)
    assert load_verifier(str(folders["mpnet"])) is verifier
    verifiers._loaded.clear()


@pytest.mark.parametrize("damaged", ["model.safetensors", "config.json", "tokenizer.json"])
def test_damage_is_one_line(damaged: str, tmp_path: Path) -> None:
    place = write_transformers(tmp_path / "m", "mpnet")
    (place / damaged).write_bytes(b"{ not what it was")
    with pytest.raises(ModelError) as caught:
        TransformersVerifier(str(place))
    assert "\n" not in str(caught.value)
    assert str(place) in str(caught.value)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_of_a_model_is_never_run(file: str, tmp_path: Path) -> None:
    place = write_transformers(tmp_path / "m", "mpnet")
    trace = tmp_path / "it ran"
    (place / "hostile.py").write_text(f"open({str(trace)!r}, 'w').close()\nclass Hostile: ...\n")
    hostile = dict.fromkeys(
        ("AutoConfig", "AutoTokenizer", "AutoModelForSequenceClassification"), "hostile.Hostile"
    )
    settings = json.loads((place / file).read_text())
    (place / file).write_text(json.dumps({**settings, "auto_map": hostile}))
    TransformersVerifier(str(place))
    assert not trace.exists()
    unknown = {"model_type": "hostile", "auto_map": hostile}
    (place / "config.json").write_text(json.dumps(unknown))
    with pytest.raises(ModelError):
        TransformersVerifier(str(place))
    assert not trace.exists()


@pytest.mark.parametrize("key", ["_attn_implementation", "attn_implementation"])
def test_attention_code_of_the_hub_is_refused(key: str, tmp_path: Path) -> None:
    place = write_transformers(tmp_path / "m", "mpnet")
    settings = json.loads((place / "config.json").read_text())
    for name in ("kernels-community/flash-attn", "paged|somebody/evil@main:run"):
        (place / "config.json").write_text(json.dumps({**settings, key: name}))
        with pytest.raises(ModelError, match="code that comes with a model is never run"):
            TransformersVerifier(str(place))


@pytest.mark.parametrize(
    "setting",
    [
        {"hidden_size": 10**12},
        {"vocab_size": 10**13},
        {"num_hidden_layers": "many"},
        {"num_attention_heads": 0},
        {"model_type": "../../etc"},
        {"id2label": {"0": {"a": 1}, "1": None}},
        {"dtype": "__import__"},
    ],
)
def test_senseless_configuration_is_one_line(setting: dict[str, object], tmp_path: Path) -> None:
    place = write_transformers(tmp_path / "m", "mpnet")
    settings = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**settings, **setting}))
    with pytest.raises(ModelError) as caught:
        TransformersVerifier(str(place))
    assert "\n" not in str(caught.value)


def test_weights_are_read_from_safetensors_only(tmp_path: Path) -> None:
    import torch

    place = write_transformers(tmp_path / "m", "mpnet")
    trace = tmp_path / "it ran"

    class Hostile:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(trace),)

    (place / "model.safetensors").unlink()
    torch.save({"weight": Hostile()}, place / "pytorch_model.bin")
    with pytest.raises(ModelError, match="safetensors"):
        TransformersVerifier(str(place))
    assert not trace.exists()


def test_model_of_the_paper_is_pinned_to_a_commit() -> None:
    assert len(PAPER_REVISION) == 40


def test_labels_nobody_can_read_are_an_error(tmp_path: Path) -> None:
    place = write_transformers(tmp_path / "m", "mpnet", labels=("LABEL_0", "LABEL_1"))
    with pytest.raises(ModelError, match="LABEL_0, LABEL_1"):
        TransformersVerifier(str(place))


def test_offline_means_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    with pytest.raises(FetchError, match="HALLDETECT_OFFLINE forbids") as caught:
        load_verifier("hf:nobody/no-such-model")
    assert "\n" not in str(caught.value)


def test_a_hub_out_of_reach_is_one_line(tmp_path: Path) -> None:
    program = (
        "from halldetect.errors import FetchError\n"
        "from halldetect.models.verifiers import load_verifier\n"
        "try: load_verifier('deberta-v3-large')\n"
        "except FetchError as error: print(error)"
    )
    settings = {
        "PYTHONPATH": str(ROOT / "src"),
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_HOME": str(tmp_path),
        "HALLDETECT_OFFLINE": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | settings
    )
    [line] = done.stdout.splitlines()
    assert line.startswith("MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli could not be")
    assert done.stderr == ""


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"deberta-v3-large.*halldetect\[hf\]"):
        load_verifier("deberta-v3-large")
