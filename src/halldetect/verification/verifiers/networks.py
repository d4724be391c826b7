"""Networks of PyTorch by their names on the hub, also those that transformers does not build alone.

The networks of published detectors are built from transformers' own parts, and filled with the
published weights. No code of a repository is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halldetect.errors import FetchError, MissingExtra, ModelError, one_line
from halldetect.machine.store import offline
from halldetect.verification.peers import Head, Peer


def from_hub(kind: Any, model: str, revision: str, **options: Any) -> Any:
    """Call `kind.from_pretrained` with one-line errors: transformers raises OSError for all.

    Code that comes with a model is never run.
    """
    local = Path(model).is_dir()
    if not local:
        options["revision"] = revision
    try:
        return kind.from_pretrained(
            model, local_files_only=local or offline(), trust_remote_code=False, **options
        )
    except ImportError as error:  # a tokenizer that needs sentencepiece or protobuf
        raise MissingExtra(f"the verifier {model} ({one_line(error)[:80]})", "hf") from error
    except Exception as error:
        reason = one_line(error).split(". ")[0][:200]
        if local:
            raise ModelError(f"{model} cannot be loaded: {reason}") from error
        if offline():
            raise FetchError(
                f"{model} is not in the hub's cache, and HALLDETECT_OFFLINE forbids fetching it"
            ) from error
        raise FetchError(f"{model} could not be fetched from the hub: {reason}") from error


def weights_file(peer: Peer) -> Path:
    """Return the file of a peer's weights, in its folder or fetched from the hub."""
    folder = Path(peer.model)
    if folder.is_dir():
        return folder / peer.file
    from huggingface_hub import hf_hub_download

    try:
        found = hf_hub_download(
            peer.model, peer.file, revision=peer.revision, local_files_only=offline()
        )
    except Exception as error:  # the hub's errors share no base class
        reason = one_line(error).split(". ")[0][:200]
        raise FetchError(
            f"{peer.file} of {peer.model} could not be fetched from the hub: {reason}"
        ) from error
    return Path(found)


def build_network(peer: Peer, config: Any) -> Any:
    """Return a network with the weights of a peer; its output has `logits`, a row per pair.

    Args:
        peer: Names weights and head.
        config: The configuration of the model, or of its base.
    """
    import transformers

    # Without safetensors, transformers uses PyTorch's reader for plain values and tensors.
    options = {"use_safetensors": None if peer.pickled else True}
    if peer.head is Head.CLASSIFIER:
        kind = transformers.AutoModelForSequenceClassification
        return from_hub(kind, peer.model, peer.revision, **options)
    if peer.head is Head.FIRST_TOKEN:
        writer = from_hub(transformers.AutoModelForSeq2SeqLM, peer.model, peer.revision, **options)
        return _first_token(writer, peer.answers)
    file = weights_file(peer)
    try:
        return (_alignscore if peer.head is Head.ALIGNSCORE else _hhem)(file, config)
    except Exception as error:  # other weights, or a file that holds more than weights
        raise ModelError(
            f"{peer.model}: {file.name} cannot be loaded: {one_line(error)[:200]}"
        ) from error


def _first_token(writer: Any, answers: tuple[int, ...]) -> Any:
    """Return a T5 whose outputs are the tokens that answer, as the first to be written.

    A single answer is compared with all other tokens.
    """
    import torch
    from transformers.modeling_outputs import SequenceClassifierOutput

    start = int(writer.config.decoder_start_token_id)

    class FirstToken(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.writer = writer

        def forward(self, **inputs: Any) -> SequenceClassifierOutput:
            ids = inputs["input_ids"]
            inputs["decoder_input_ids"] = ids.new_full((len(ids), 1), start)
            logits = self.writer(**inputs).logits[:, 0]
            chosen = logits[:, list(answers)]
            if len(answers) == 1:
                others = logits.index_fill(1, ids.new_tensor(answers), -torch.inf)
                chosen = torch.cat([others.logsumexp(1, keepdim=True), chosen], 1)
            return SequenceClassifierOutput(logits=chosen)

    return FirstToken()


def _alignscore(file: Path, config: Any) -> Any:
    """Return RoBERTa with its pooler and AlignScore's three-way head."""
    import torch
    from transformers import RobertaModel
    from transformers.modeling_outputs import SequenceClassifierOutput

    class AlignScore(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.base_model = RobertaModel(config)
            self.tri_layer = torch.nn.Linear(config.hidden_size, 3)

        def forward(self, **inputs: Any) -> SequenceClassifierOutput:
            pooled = self.base_model(**inputs).pooler_output
            return SequenceClassifierOutput(logits=self.tri_layer(pooled))

    # The restricted reader refuses anything but plain values and tensors.
    stored = torch.load(file, map_location="cpu", weights_only=True)["state_dict"]
    return _filled(AlignScore(), stored)


def _hhem(file: Path, config: Any) -> Any:
    """Return the encoder of Flan-T5 with HHEM's classifier, read at the first token."""
    import torch
    from safetensors.torch import load_file
    from transformers import T5ForTokenClassification
    from transformers.modeling_outputs import SequenceClassifierOutput

    config.num_labels = 2

    class Hhem(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.t5 = T5ForTokenClassification(config)

        def forward(self, **inputs: Any) -> SequenceClassifierOutput:
            return SequenceClassifierOutput(logits=self.t5(**inputs).logits[:, 0])

    stored = load_file(file)
    # One matrix under two names, of which a file may hold either.
    shared, tied = "t5.transformer.shared.weight", "t5.transformer.encoder.embed_tokens.weight"
    for name, other in ((shared, tied), (tied, shared)):
        if name not in stored and other in stored:
            stored[name] = stored[other]
    return _filled(Hhem(), stored)


def _filled(network: Any, stored: dict[str, Any]) -> Any:
    """Return a network with its weights of a file; those of other heads are left out."""
    wanted = network.state_dict()
    missing = [name for name in wanted if name not in stored]
    if missing:
        raise ModelError(f"it lacks {len(missing)} weights, such as {missing[0]}")
    network.load_state_dict({name: stored[name] for name in wanted})
    return network
