"""Tiny weights of published detectors, in the form in which their authors publish them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from halldetect.verification.peers import PEERS, Peer
from tests.support.tiny_models import unigram, word_piece, write_transformers

NAMES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
SHAPE = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}


def sentence_piece() -> Any:
    """A tokenizer in the manner of T5: words from 3 on, </s> at the end."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = [(piece, 0.0) for piece in ("<pad>", "</s>", "<unk>")]
    known = {piece for piece, number in unigram().get_vocab().items() if number > 4}
    extra = {f"\u2581{word}" for word in ("predict:", "Premise:", "Hypothesis:", "premise:")}
    letters = set(map(chr, range(33, 127))) | {"\u2581", "\n"}
    pieces += [(piece, -6.0 if len(piece) > 1 else -8.0) for piece in sorted(known | extra)]
    pieces += [(piece, -8.0) for piece in sorted(letters - known)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return tokenizer


def write_tokenizer(folder: Path) -> None:
    import transformers

    own = transformers.PreTrainedTokenizerFast(tokenizer_object=sentence_piece(), **NAMES)
    own.save_pretrained(folder)


def write_t5(folder: Path, name: str, *, pickled: bool = False) -> Peer:
    """A model that writes, with the vocabulary's place of T5's digits."""
    import torch
    import transformers

    torch.manual_seed(4)
    config = transformers.T5Config(
        vocab_size=260, **SHAPE, decoder_start_token_id=0, tie_word_embeddings=False
    )
    network = transformers.T5ForConditionalGeneration(config)
    torch.nn.init.normal_(network.lm_head.weight)
    network.save_pretrained(folder)
    if pickled:
        (folder / "model.safetensors").unlink()
        torch.save(network.state_dict(), folder / "pytorch_model.bin")
    write_tokenizer(folder)
    return replace(PEERS[name], model=str(folder))


def write_hhem(folder: Path) -> Peer:
    """The encoder of a T5 with a classifier, under the prefix of the published file."""
    import torch
    import transformers
    from safetensors.torch import save_file

    torch.manual_seed(5)
    config = transformers.T5Config(vocab_size=260, **SHAPE, num_labels=2)
    network = transformers.T5ForTokenClassification(config)
    torch.nn.init.normal_(network.classifier.weight)
    config.save_pretrained(folder / "base")
    write_tokenizer(folder / "base")
    network.save_pretrained(folder / "plain")
    stored = {f"t5.{name}": value.clone() for name, value in network.state_dict().items()}
    stored.pop("t5.transformer.encoder.embed_tokens.weight", None)
    save_file(stored, folder / "model.safetensors")
    return replace(PEERS["hhem-2.1-open"], model=str(folder), base=str(folder / "base"))


def write_alignscore(folder: Path) -> tuple[Peer, Any, Any]:
    """The detector, its encoder and its three-way head; two more heads are in the file."""
    import torch
    import transformers

    base = write_transformers(folder / "base", "roberta")
    torch.manual_seed(3)
    encoder = transformers.RobertaModel(transformers.AutoConfig.from_pretrained(base)).eval()
    heads = {name: torch.nn.Linear(32, size) for name, size in (("tri", 3), ("bin", 2), ("reg", 1))}
    state = {f"base_model.{name}": value for name, value in encoder.state_dict().items()}
    for name, head in heads.items():
        state[f"{name}_layer.weight"], state[f"{name}_layer.bias"] = head.weight, head.bias
    torch.save({"state_dict": state, "epoch": 3}, folder / "AlignScore-large.ckpt")
    peer = replace(PEERS["alignscore-large"], model=str(folder), base=str(base), limit=300)
    return peer, encoder, heads["tri"]


def write_classifier(folder: Path, name: str, kind: str) -> Peer:
    """A tiny sequence classifier in the place of a published one, without names of labels."""
    count = len(PEERS[name].labels)
    write_transformers(folder, kind, labels=tuple(f"LABEL_{number}" for number in range(count)))
    return replace(PEERS[name], model=str(folder), limit=300)


def write_lettuce(folder: Path) -> Path:
    """A token classifier of the architecture of LettuceDetect."""
    import torch
    import transformers

    tokenizer = word_piece()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    torch.manual_seed(6)
    config = transformers.ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, intermediate_size=48,
        num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=400, num_labels=2,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, cls_token_id=0, sep_token_id=2,
        initializer_range=0.5,
    )  # fmt: skip
    transformers.ModernBertForTokenClassification(config).save_pretrained(folder)
    names = {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"}
    own = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    own.save_pretrained(folder)
    return folder
