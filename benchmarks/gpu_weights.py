"""The weights of `base` in a form that a machine without ONNX reads, and their names afterwards.

A folder holds the network, the tokenizer and a description. It is made of the weights in the
package (`prepare_base`), or of a student that was just trained (`prepare_student`): its weights
are rounded as the package will round them. Which files the student is shipped in is not known
then, so predictions name the digest of the student, and `student.json` says what it answers to
some fixed pairs. `shipped_names` compares these answers with those of the exported weights and
gives the description to put in its place.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from halldetect.models.integrity import digest_of
from halldetect.verification.verifiers.encoding import reading_limit
from halldetect.verification.verifiers.labels import Labels
from halldetect.verification.verifiers.wordpiece import WordPieceEncoder

if TYPE_CHECKING:
    from training.base.encoder import Encoder

# The name of the verifier, and of its folder.
BASE = "base"
STUDENT = "student.json"
DESCRIPTION, TOKENIZER, CONFIG = "description.json", "tokenizer.json", "config.json"
_ARRAYS, _PACKED, _SHAPE = "initializers.npz", "model.onnx.npz", "shape.json"
# Pairs on which two networks are compared. Logits of another round of training differ by 0.4 to
# 2.0, those of weights that were rounded twice by 0.05.
PROBES = (
    ("The ferry leaves at nine from the old harbour.", "The ferry leaves at nine."),
    ("The ferry leaves at nine from the old harbour.", "The ferry leaves at ten."),
    ("The ferry leaves at nine from the old harbour.", "The ferry is cheap."),
    ("Mara sold the mill to her brother in 1994.", "Her brother bought the mill."),
    ("Mara sold the mill to her brother in 1994.", "Mara bought the mill."),
    ("Mara sold the mill to her brother in 1994.", "The mill was sold for 1,994 crowns."),
    ("Nobody was hurt when the roof fell in.", "The roof fell in and nobody was hurt."),
    ("Nobody was hurt when the roof fell in.", "Several people were hurt."),
)
MOST_APART = 0.25


def prepare_base(shipped: Path, out: Path) -> None:
    """Write what the network and the workers need of the weights in the package.

    shipped: the folder of the weights. out: where to write; its name is part of the verifier's.
    """
    import onnx
    from onnx import numpy_helper

    out.mkdir(parents=True, exist_ok=True)
    for name in (TOKENIZER, CONFIG, _PACKED):
        (out / name).write_bytes((shipped / name).read_bytes())
    model = onnx.load(str(shipped / "model.onnx"), load_external_data=False)
    arrays = {
        item.name: numpy_helper.to_array(item)
        for item in model.graph.initializer
        if item.data_location != onnx.TensorProto.EXTERNAL
    }
    np.savez(out / _ARRAYS, **arrays)  # type: ignore[arg-type]
    name = BASE if out.name == BASE else f"{BASE}-{out.name}"
    _write(out / DESCRIPTION, shipped_description(shipped, name))


def prepare_student(student: Path, shipped: Path, out: Path, temperature: float = 1.0) -> None:
    """Write what the network and the workers need of a trained student.

    student: what `training.base.train` wrote. shipped: a folder with the tokenizer and the
    configuration it will have. out: where to write. temperature: as for `training.base.export`.
    """
    import torch

    from training.base.encoder import Encoder
    from training.base.rounded import RoundedWeights

    model = Encoder.load(student)
    with torch.no_grad():
        model.classify.weight /= temperature
        model.classify.bias /= temperature
    RoundedWeights(model).round()
    model.save(out)
    for name in (TOKENIZER, CONFIG):
        (out / name).write_bytes((shipped / name).read_bytes())
    config = json.loads((out / CONFIG).read_text(encoding="utf-8"))
    encoder = _encoder(out)
    digest = digest_of(student / "model.safetensors")
    description = {
        "name": BASE,
        "digest": digest,
        "tokenizer_digest": digest_of(out / TOKENIZER),
        "max_tokens": reading_limit(config) - encoder.special_tokens,
        "labels": list(Labels.from_config(config, BASE).meanings),
        "languages": config.get("languages"),
        "calibration": config.get("calibration"),
        "operating_points": None,
    }
    _write(out / DESCRIPTION, description)
    _write(out / STUDENT, {"digest": digest, "answers": probed(model, encoder).tolist()})


def network_of(folder: Path) -> Encoder:
    """The network of a folder that `prepare_base` or `prepare_student` wrote.

    folder: the folder.
    """
    from training.base.encoder import Encoder
    from training.base.unpack import student_of

    if (folder / _SHAPE).is_file():
        return Encoder.load(folder)
    with np.load(folder / _ARRAYS) as file:
        stored = {name: file[name] for name in file.files}
    return student_of(stored, folder / _PACKED)


def probed(model: Encoder, encoder: WordPieceEncoder) -> NDArray[np.float32]:
    """The logits of the fixed pairs.

    model: the network. encoder: its tokenizer.
    """
    import torch

    found = []
    with torch.inference_mode():
        for item in encoder.encode(PROBES):
            ids = torch.tensor([list(item.ids)])
            found.append(model.eval()(ids, torch.ones_like(ids))[0].numpy())
    return np.array(found, np.float32)


def shipped_names(student: Path, shipped: Path) -> dict[str, dict[str, Any]]:
    """The description of shipped weights by their digest, and by that of their student.

    student: the `student.json` of the student, if there is one. shipped: the folder of the weights.
    Raises ValueError where the weights answer otherwise than the student.
    """
    from training.base.unpack import student as unpacked

    named = shipped_description(shipped, BASE)
    found = {str(named["digest"]): named}
    if student.is_file():
        stated = json.loads(student.read_text(encoding="utf-8"))
        answers = probed(unpacked(shipped), _encoder(shipped))
        apart = float(np.abs(answers - np.array(stated["answers"])).max())
        if apart > MOST_APART:
            raise ValueError(
                f"the weights in {shipped} are not those of the student {stated['digest'][:16]}: "
                f"their logits are up to {apart:.2f} apart"
            )
        found[stated["digest"]] = named | {"student_digest": stated["digest"]}
    return found


def shipped_description(shipped: Path, name: str) -> dict[str, Any]:
    """What a report says of shipped weights, without where they run.

    shipped: the folder of the weights. name: of the verifier.
    """
    from halldetect.verification.verifiers.onnx import OnnxVerifier

    described = OnnxVerifier(shipped, name=name).description
    return {key: value for key, value in described.items() if key not in ("kind", "runtime")}


def _encoder(folder: Path) -> WordPieceEncoder:
    encoder = WordPieceEncoder.from_file(folder / TOKENIZER)
    if encoder is None:
        raise ValueError(f"{folder} has another tokenizer than the one of the package")
    return encoder


def _write(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
