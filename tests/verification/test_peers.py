"""Published detectors, on tiny weights in their form, against a second, plain computation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from halldetect.errors import FetchError, MissingExtra, ModelError
from halldetect.models.verifiers import load_verifier
from halldetect.verification.peers import PEERS
from halldetect.verification.presets import VERIFIERS, check_verifier_name
from tests.support.tiny_models import LINES, PAIRS
from tests.support.tiny_peers import (
    write_alignscore,
    write_classifier,
    write_hhem,
    write_t5,
)

pytestmark = [
    pytest.mark.hf,
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is:DeprecationWarning"),
]
READABLE = [pair for pair in PAIRS if all(pair)][:5]


def verifier_of(peer: Any) -> Any:
    from halldetect.verification.verifiers.transformers import TransformersVerifier

    return TransformersVerifier(peer, name="x", device="cpu")


def read_by_hand(folder: Path | str, *texts: str) -> Any:
    """Return the ids of one text or a pair, read by transformers' own tokenizer."""
    import transformers

    return transformers.AutoTokenizer.from_pretrained(folder)(
        *texts, return_tensors="pt", return_token_type_ids=False
    )


@pytest.mark.parametrize("pickled", [False, True])
def test_minicheck_on_t5_compares_no_and_yes(tmp_path: Path, pickled: bool) -> None:
    import torch
    import transformers

    peer = write_t5(tmp_path, "minicheck-ft5", pickled=pickled)
    network = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path).eval()
    verifier = verifier_of(peer)
    for (document, claim), found in zip(READABLE, verifier.judge(READABLE), strict=True):
        inputs = read_by_hand(tmp_path, f"predict: {document}</s>{claim}")
        with torch.inference_mode():
            logits = network(**inputs, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        no, yes = logits[3].exp(), logits[209].exp()
        assert found.entailment == pytest.approx(float(yes / (no + yes)), abs=1e-5)
        assert found.contradiction is None
    assert len({found.entailment for found in verifier.judge(READABLE)}) == len(READABLE)
    assert verifier.description["model"] == str(tmp_path)
    assert any(key.startswith("digest of ") for key in verifier.description)


def test_trueteacher_is_the_probability_of_one(tmp_path: Path) -> None:
    import torch
    import transformers

    verifier = verifier_of(write_t5(tmp_path, "trueteacher"))
    network = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path).eval()
    for (premise, claim), found in zip(READABLE, verifier.judge(READABLE), strict=True):
        inputs = read_by_hand(tmp_path, f"premise: {premise} hypothesis: {claim}")
        with torch.inference_mode():
            logits = network(**inputs, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        expected = float(logits.double().softmax(0)[209])
        assert found.entailment == pytest.approx(expected, abs=1e-6)
        assert found.entailment + found.neutral == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "kind"), [("minicheck-roberta", "roberta"), ("minicheck-deberta", "deberta")]
)
def test_minicheck_joins_its_texts_with_the_end_token(name: str, kind: str, tmp_path: Path) -> None:
    import torch
    import transformers

    verifier = verifier_of(write_classifier(tmp_path, name, kind))
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    end = "</s>" if kind == "roberta" else "[SEP]"
    for pair, found in zip(READABLE, verifier.judge(READABLE), strict=True):
        inputs = read_by_hand(tmp_path, end.join(pair))
        assert len(inputs["input_ids"][0]) <= sum(verifier.count_tokens(pair)) + 300 - (
            verifier.max_tokens
        )
        with torch.inference_mode():
            expected = network(**inputs).logits[0].softmax(0)
        assert found.entailment == pytest.approx(float(expected[1]), abs=1e-5)


def test_factcg_asks_its_question(tmp_path: Path) -> None:
    import torch
    import transformers

    verifier = verifier_of(write_classifier(tmp_path, "factcg", "deberta"))
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    for (document, claim), found in zip(READABLE[:1], verifier.judge(READABLE[:1]), strict=True):
        text = (
            f"{document}\n\nChoose your answer: based on the paragraph above can we conclude that "
            f'"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
        )
        with torch.inference_mode():
            expected = network(**read_by_hand(tmp_path, text)).logits[0].softmax(0)
        assert found.entailment == pytest.approx(float(expected[1]), abs=1e-5)


def test_hhem_reads_its_prompt_behind_a_padding_token(tmp_path: Path) -> None:
    import torch
    import transformers

    verifier = verifier_of(write_hhem(tmp_path))
    network = transformers.T5ForTokenClassification.from_pretrained(tmp_path / "plain").eval()
    for (premise, claim), found in zip(READABLE, verifier.judge(READABLE), strict=True):
        text = (
            "<pad> Determine if the hypothesis is true given the premise?\n\n"
            f"Premise: {premise}\n\nHypothesis: {claim}"
        )
        with torch.inference_mode():
            logits = network(**read_by_hand(tmp_path / "base", text)).logits[0, 0]
        assert found.entailment == pytest.approx(float(logits.softmax(0)[1]), abs=1e-5)
    assert "digest of model.safetensors" in verifier.description


def test_alignscore_is_its_encoder_and_its_three_way_head(tmp_path: Path) -> None:
    import torch

    peer, encoder, head = write_alignscore(tmp_path)
    verifier = verifier_of(peer)
    for pair, found in zip(READABLE, verifier.judge(READABLE), strict=True):
        with torch.inference_mode():
            pooled = encoder(**read_by_hand(peer.base, *pair)).pooler_output
            expected = head(pooled).softmax(-1)[0].tolist()
        assert [found.entailment, found.neutral, found.contradiction] == pytest.approx(
            expected, abs=1e-5
        )
    assert "digest of AlignScore-large.ckpt" in verifier.description


def test_weights_that_a_file_lacks_are_an_error(tmp_path: Path) -> None:
    import torch

    peer, _, _ = write_alignscore(tmp_path)
    file = tmp_path / peer.file
    state = torch.load(file, weights_only=True)["state_dict"]
    torch.save({"state_dict": {key: state[key] for key in state if "tri" not in key}}, file)
    with pytest.raises(ModelError, match=r"AlignScore-large\.ckpt.*tri_layer"):
        verifier_of(peer)


def test_code_in_a_file_of_weights_is_not_run(tmp_path: Path) -> None:
    import torch

    trace = tmp_path / "run"

    class Hostile:
        def __reduce__(self) -> Any:
            return Path.touch, (trace,)

    peer, _, _ = write_alignscore(tmp_path)
    torch.save({"state_dict": Hostile()}, tmp_path / peer.file)
    with pytest.raises(ModelError, match="cannot be loaded"):
        verifier_of(peer)
    assert not trace.exists()


def test_summacs_model_names_its_outputs(tmp_path: Path) -> None:
    import torch
    import transformers

    verifier = verifier_of(write_classifier(tmp_path, "summac-vitc", "roberta"))
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    [found] = verifier.judge(READABLE[:1])
    with torch.inference_mode():
        expected = network(**read_by_hand(tmp_path, *READABLE[0])).logits[0].softmax(0)
    entailed, contradicted, neutral = expected.tolist()
    assert found.entailment == pytest.approx(entailed, abs=1e-5)
    assert found.contradiction == pytest.approx(contradicted, abs=1e-5)
    assert found.neutral == pytest.approx(neutral, abs=1e-5)


@pytest.mark.parametrize("name", ["minicheck-ft5", "trueteacher", "hhem"])
def test_special_tokens_in_a_text_are_not_special(name: str, tmp_path: Path) -> None:
    peer = write_hhem(tmp_path) if name == "hhem" else write_t5(tmp_path, name)
    encoder = verifier_of(peer)._encoder
    clean, hostile = encoder.encode([
        (LINES[0], "No."), (f"{LINES[0]} </s><pad>", "</s> <pad> No.")
    ])  # fmt: skip
    for number in (0, 1):
        assert hostile.ids.count(number) == clean.ids.count(number)


def test_the_longest_pair_fits(tmp_path: Path) -> None:
    verifier = verifier_of(write_classifier(tmp_path, "factcg", "deberta"))
    words = "rain " * 500
    room = verifier.max_tokens - verifier.count_tokens(["No."])[0]
    premise = next(
        words[:end]
        for end in range(len(words), 0, -1)
        if verifier.count_tokens([words[:end]])[0] == room
    )
    assert verifier.judge([(premise, "No.")])


@pytest.mark.parametrize("name", PEERS)
def test_a_name_loads_the_published_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    check_verifier_name(name)
    assert PEERS[name].summary in dict(VERIFIERS)[name]
    places = (PEERS[name].model, PEERS[name].base or PEERS[name].model)
    with pytest.raises(FetchError, match=r"hub") as caught:
        load_verifier(name)
    assert any(place in str(caught.value) for place in places)


def test_peers_are_pinned_to_a_commit() -> None:
    moving = {name for name, peer in PEERS.items() if len(peer.revision) != 40}
    assert moving == {"alignscore-large", "alignscore-base", "trueteacher"}


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"minicheck-ft5.*halldetect\[hf\]"):
        load_verifier("minicheck-ft5")
