"""Tiny verifiers with random weights, made on the spot: ONNX graphs, and transformers models."""

from __future__ import annotations

import importlib
import json
import re
import struct
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

WIDTH = 256
THREE_WAY = ("entailment", "neutral", "contradiction")

LINES = [
    "The river rose after three days of rain and the lower bridge was closed.",
    "Nobody was hurt, but 41 families left their homes on Tuesday evening.",
    "The mayor said that the water would fall again before the weekend.",
    "A school in the old town gave beds to those who had nowhere else to go.",
    "On Friday the bridge was open again; repairs cost about 2.5 million euros.",
]

PAIRS = [
    (LINES[0], "The bridge was closed."),
    (" ".join(LINES), "Repairs cost 2.5 million euros, the mayor said on Friday evening."),
    (LINES[1], "Families left."),
    (" ".join(LINES[:2]), "It rained for three days."),
    (LINES[3], "The school is in the old town and gave beds to families who had left."),
    (" ".join(LINES * 3), "The water fell."),
    (LINES[4], "The bridge is open."),
    (LINES[2], "No."),
    ("", "The mayor said nothing."),
]


def quantising() -> ModuleType:
    """The module training/base/quantise.py, which is no part of the package."""
    return importlib.import_module("training.base.quantise")


def _pieces() -> tuple[list[str], list[str]]:
    """Words and characters of the lines. A trained vocabulary would differ from run to run."""
    text = " ".join(LINES)
    return sorted(set(re.findall(r"\w\w+", text))), sorted(set(text) - {" "})


def word_piece() -> Any:
    """A tokenizer in the manner of MPNet: <s> premise </s> </s> hypothesis </s>."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]
    known, letters = _pieces()
    small = sorted({piece.lower() for piece in [*known, *letters]})
    pieces = [*special, *small, *sorted({f"##{letter.lower()}" for letter in letters})]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(special)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    # What a careless export leaves behind; a verifier must not let it cut or pad.
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16, pad_id=1, pad_token="<pad>")
    return tokenizer


def unigram() -> Any:
    """A tokenizer in the manner of DeBERTa-v3: [CLS] premise [SEP] hypothesis [SEP]."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    known, letters = _pieces()
    scores = [(piece, 0.0) for piece in special]
    scores += [(f"\u2581{word}", -6.0) for word in known]
    scores += [(letter, -8.0) for letter in ["\u2581", *letters]]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=3))
    tokenizer.add_special_tokens(special)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return tokenizer


def write_onnx(
    folder: Path,
    *,
    labels: tuple[str, ...] = THREE_WAY,
    quantisation: dict[str, Any] | str | None = None,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    limit: int = 300,
    seed: int = 0,
) -> Path:
    """A folder with one attention layer over random embeddings.

    The output row of a label depends on its name alone, so that models which differ in the
    order of their labels judge alike. `quantisation` holds the `block` of `quantise`, or is
    "per tensor" for the usual dynamic kind.
    """
    import onnx
    from onnx import helper, numpy_helper, parser

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = word_piece()
    tokenizer.save(str(folder / "tokenizer.json"))
    random = np.random.default_rng(seed)

    def weight(*shape: int) -> Any:
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    constants = {
        "table": 4 * weight(max(tokenizer.get_vocab_size(), WIDTH), WIDTH),
        "first": weight(WIDTH, WIDTH),
        "second": weight(WIDTH, WIDTH),
        "third": weight(WIDTH, WIDTH),
        "types": 4 * weight(2, WIDTH),
    }
    order = sorted(labels)
    head = 8 * weight(len(order), WIDTH)
    constants["head"] = head[[order.index(label) for label in labels]]
    constants["bias"] = np.zeros(len(labels), np.float32)
    typed = "token_type_ids" in inputs
    graph = parser.parse_graph(
        f"""
        tiny ({", ".join(f"int64[b, t] {name}" for name in inputs)}) => (float[b, c] logits)
        <int64[1] ahead = {{1}}, int64 begin = {{0}}, float far = {{-10000}}, float one = {{1}}>
        {{
            words = Gather(table, input_ids)
            {"kinds = Gather(types, token_type_ids)" if typed else ""}
            {"read = Add(words, kinds)" if typed else "read = Identity(words)"}
            queries = MatMul(read, first)
            values = MatMul(read, second)
            turned = Transpose<perm = [0, 2, 1]>(read)
            raw = MatMul(queries, turned)
            kept = Cast<to = 1>(attention_mask)
            gone = Sub(one, kept)
            push = Mul(gone, far)
            wide = Unsqueeze(push, ahead)
            scores = Add(raw, wide)
            shares = Softmax<axis = -1>(scores)
            mixed = MatMul(shares, values)
            both = Add(mixed, read)
            bent = Tanh(both)
            last = MatMul(bent, third)
            start = Gather<axis = 1>(last, begin)
            logits = Gemm<transB = 1>(start, head, bias)
        }}
        """
    )
    used = {name for node in graph.node for name in node.input}
    for name, value in constants.items():
        if name in used:
            graph.initializer.append(numpy_helper.from_array(value, name))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
    if quantisation is not None:
        _quantise(folder, quantisation)
    config = {"id2label": dict(enumerate(labels)), "max_tokens": limit}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def _quantise(folder: Path, quantisation: dict[str, Any] | str) -> None:
    source = (folder / "model.onnx").rename(folder / "full.bin")
    if quantisation == "per tensor":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(source, folder / "model.onnx", weight_type=QuantType.QUInt8)
    else:
        assert isinstance(quantisation, dict)
        quantising().quantise(source, folder / "model.onnx", quantisation.get("block", 64))
    source.unlink()


def write_transformers(folder: Path, kind: str, *, labels: tuple[str, ...] = THREE_WAY) -> Path:
    """A tiny `mpnet`, `roberta` or `deberta` with random weights, saved as the hub has them."""
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = unigram() if kind == "deberta" else word_piece()
    shape = {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        # Random weights of the usual size make every logit almost the same.
        "initializer_range": 0.5,
        "id2label": dict(enumerate(labels)),
        "label2id": {label: number for number, label in enumerate(labels)},
    }
    if kind == "deberta":
        config: Any = transformers.DebertaV2Config(
            **shape,
            max_position_embeddings=300,
            type_vocab_size=0,
            pad_token_id=0,
            relative_attention=True,
            position_buckets=32,
            norm_rel_ebd="layer_norm",
            share_att_key=True,
            pos_att_type=["p2c", "c2p"],
            position_biased_input=False,
        )
        network: Any = transformers.DebertaV2ForSequenceClassification(config)
        names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    else:
        places = {"max_position_embeddings": 302, "pad_token_id": 1}
        chosen = {
            "mpnet": (transformers.MPNetConfig, transformers.MPNetForSequenceClassification),
            "roberta": (transformers.RobertaConfig, transformers.RobertaForSequenceClassification),
        }
        configuration, classifier = chosen[kind]
        config = configuration(**shape, **places)
        network = classifier(config)
        names = {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"}
    network.save_pretrained(folder)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    fast.save_pretrained(folder)
    return folder


def export(folder: Path, out: Path) -> Path:
    """The ONNX form of a transformers model, in a folder of its own."""
    import torch
    import transformers

    out.mkdir()
    network = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager"
    ).eval()

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.network(input_ids=ids, attention_mask=mask).logits

    ids = torch.randint(5, 60, (2, 9))
    axes = {0: "batch", 1: "length"}
    names = ["input_ids", "attention_mask"]
    with warnings.catch_warnings():  # about tracing, and about this exporter's age
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Logits(),
            (ids, torch.ones_like(ids)),
            str(out / "model.onnx"),
            input_names=names,
            output_names=["logits"],
            dynamic_axes={**dict.fromkeys(names, axes), "logits": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
    for name in ("config.json", "tokenizer.json"):
        (out / name).write_bytes((folder / name).read_bytes())
    return out


def _gguf_text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf_bytes(
    *, layers: int = 1, cut: int = 0, version: int = 3, vocabulary: bool = True
) -> bytes:
    """The smallest file with a header like a real model's: one layer of one 32-weight tensor."""
    text = _gguf_text
    values = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("llama.block_count") + struct.pack("<II", 4, layers),
        text("tokenizer.chat_template") + struct.pack("<I", 8) + text("{{ x }}"),
    ]
    if vocabulary:
        tokens = b"".join(map(text, ("a", "b", "<|end|>")))
        values += [
            text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + tokens,
            text("tokenizer.ggml.token_type") + struct.pack("<IIQ3i", 9, 5, 3, 1, 1, 3),
        ]
    tensor = text("blk.0.weight") + struct.pack("<IQIQ", 1, 32, 3, 0)
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(values)) + b"".join(values) + tensor
    head += b"\0" * (-len(head) % 32)
    return (head + b"\0" * 20)[: len(head) + 20 - cut]


def write_sentence_model(folder: Path) -> Path:
    """Write a model for sentence vectors with random weights, as sentence-transformers does."""
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_piece(), pad_token="<pad>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    settings = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 48}))
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(kinds.items())
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder
