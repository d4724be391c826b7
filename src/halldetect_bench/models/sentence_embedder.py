"""Models made for sentence vectors, in PyTorch: a folder, or a name of the hub.

They come as sentence-transformers publishes them: `modules.json` names the steps, the folder of
the pooling says which vectors of the tokens make the text's. Known are the three poolings that
such models use: the mean (MiniLM), the first token (bge) and the last token (Qwen's).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.errors import FetchError, MissingExtra, ModelError, one_line
from halldetect.models.integrity import digest_of
from halldetect.verification.verifiers.encoding import encodable
from halldetect_bench.models.decoding import batches
from halldetect_bench.models.embedders import Embedding

HUB = "hf:"
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
}
# Padded tokens of a batch.
_ROOM = {"cpu": 4096, "cuda": 131_072}
# What a model reads whose files do not say.
_USUAL_LIMIT = 512


class SentenceEmbedder:
    """A model of sentence-transformers; texts are cut off where the model stops reading."""

    def __init__(self, spec: str, *, device: str | None = None) -> None:
        """spec: a folder, or `hf:NAME` for a model of the hub.
        device: `cpu` or `cuda`; default is the GPU where there is one.
        """
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtra(f"the embedder {spec}", "hf") from error
        self._torch = torch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._spec = spec
        self._folder = _folder(spec)
        self._pooling = pooling_of(self._folder)
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder)
            network = transformers.AutoModel.from_pretrained(
                self._folder, dtype=torch.float32, trust_remote_code=False, use_safetensors=True
            )
        except Exception as error:  # transformers raises OSError and many others
            raise ModelError(f"{spec} cannot be loaded: {one_line(error)}") from error
        self._network = network.to(self._device).eval()
        stated = _json(self._folder / "sentence_bert_config.json").get("max_seq_length")
        self._limit = int(stated or min(self._tokenizer.model_max_length, _USUAL_LIMIT))

    @cached_property
    def description(self) -> dict[str, Any]:
        """Name, digest, pooling and context."""
        weights = sorted(self._folder.glob("*.safetensors"))
        return {
            "name": self._spec.removeprefix(HUB)
            if self._spec.startswith(HUB)
            else self._folder.resolve().name,
            "kind": "sentence-transformers",
            "digest": " ".join(f"sha256:{digest_of(file)}" for file in weights),
            "pooling": self._pooling,
            "context": self._limit,
        }

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector per text; see `Embedder.embed`."""
        encoded = [
            self._tokenizer(encodable(text) or " ", truncation=True, max_length=self._limit)
            for text in texts
        ]
        sizes = [len(item["input_ids"]) for item in encoded]
        room = _ROOM["cuda" if self._device.startswith("cuda") else "cpu"]
        found: dict[int, Embedding] = {}
        for places in batches(sizes, room):
            for place, vector in zip(
                places, self._vectors([encoded[p] for p in places]), strict=True
            ):
                found[place] = Embedding(vector, sizes[place])
        return [found[place] for place in range(len(texts))]

    def _vectors(self, encoded: Sequence[Any]) -> Any:
        torch = self._torch
        self._tokenizer.padding_side = "right"
        padded = self._tokenizer.pad(list(encoded), return_tensors="pt").to(self._device)
        with torch.inference_mode():
            states = self._network(**padded).last_hidden_state
            mask = padded["attention_mask"]
            if self._pooling == "first":
                pooled = states[:, 0]
            elif self._pooling == "last":
                rows = torch.arange(len(states), device=states.device)
                pooled = states[rows, mask.sum(1) - 1]
            else:
                weights = mask[:, :, None].to(states.dtype)
                pooled = (states * weights).sum(1) / weights.sum(1)
        return pooled.float().cpu().numpy().astype(np.float64)


def pooling_of(folder: Path) -> str:
    """Which of the tokens' vectors make the text's: mean, first or last.

    folder: of the model.
    """
    settings = _json(folder / "1_Pooling" / "config.json")
    chosen = [name for key, name in _POOLINGS.items() if settings.get(key)]
    if len(chosen) != 1:
        raise ModelError(f"{folder} does not say how vectors of tokens become one of the text")
    return chosen[0]


def is_sentence_model(spec: str) -> bool:
    """Whether a name or folder is a model of sentence-transformers.

    spec: of an embedder.
    """
    folder = Path(spec).expanduser()
    return spec.startswith(HUB) or (folder / "1_Pooling" / "config.json").is_file()


def _folder(spec: str) -> Path:
    if not spec.startswith(HUB):
        return Path(spec).expanduser()
    from halldetect.models import offline

    try:
        from huggingface_hub import snapshot_download

        return Path(
            snapshot_download(
                spec.removeprefix(HUB),
                allow_patterns=["*.json", "*.safetensors", "*.txt", "1_Pooling/*"],
                local_files_only=offline(),
            )
        )
    except Exception as error:  # the hub's errors share no base class
        raise FetchError(f"{spec} could not be fetched from the hub: {one_line(error)}") from error


def _json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {one_line(error)}") from error
    return found
