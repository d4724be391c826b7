"""The list of options, every refusal, and the paper's settings."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest

from halldetect import Detector
from halldetect.config import PAPER_EXTRACTOR, Configuration, Settings, options
from halldetect.errors import ConfigurationError
from halldetect.scoring import OPERATING_POINTS
from halldetect.verification.presets import PAPER, VERIFIERS, describe_verifier
from tests.support.fakes import OverlapVerifier, SentenceExtractor

NAMES = [field.name for field in fields(Configuration)]
OPTIONS = {option.name: option for option in options()}


def test_every_field_is_an_overridable_option() -> None:
    assert list(OPTIONS) == NAMES
    models = {"verifier", "knowledge", "paper", "extractor"}
    assert set(Settings.__annotations__) == set(NAMES) - models
    assert all(option.help for option in options())
    assert Configuration(**{option.name: option.default for option in options()}) == Configuration()


def test_flags_are_unique_and_parse_their_defaults() -> None:
    flags = [option.flag for option in options() if option.flag]
    assert len(set(flags)) == len(flags)
    shown = {option.name: option.default_text for option in options()}
    assert {name for name, text in shown.items() if text is None} == {
        *("verifier", "fallback", "threads", "knowledge", "extractor", "paper", "error_types")
    }
    for option in options():
        if option.default_text is not None:
            assert option.parse(option.default_text) == option.default


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("threshold", "0.3", 0.3),
        ("threshold", "recall", "recall"),
        ("threads", "4", 4),
        ("error_types", "number=E1", {"number": "E1"}),
        (
            "error_types",
            "number = E1, wrong figure,invented detail=E2",
            {"number": "E1, wrong figure", "invented detail": "E2"},
        ),
    ],
)
def test_texts_are_parsed(name: str, text: str, value: object) -> None:
    assert OPTIONS[name].parse(text) == value


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("threshold", "strict", "'strict' is not a number, one of recall, balanced"),
        ("seed", "x", "'x'"),
    ],
)
def test_text_that_does_not_parse_says_why(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OPTIONS[name].parse(text)


WHOLE = "must be a whole number from 1 up"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"threshold": -0.1}, "threshold must lie between 0 and 1, not -0.1"),
        ({"threshold": 1.1}, "threshold must lie between 0 and 1"),
        ({"threshold": math.nan}, "threshold must lie between 0 and 1"),
        ({"threshold": True}, "threshold must lie between 0 and 1"),
        ({"threshold": None}, "threshold must lie between 0 and 1"),
        ({"threshold": "strict"}, "threshold must be a number, one of recall, .* not 'strict'"),
        ({"threshold": "recall", "paper": True}, "recall was not fitted .* give a number"),
        ({"device": "gpu"}, "unknown device 'gpu': use one of auto, cpu, cuda, mps"),
        ({"seed": -1}, "seed must be a whole number below 2"),
        ({"seed": 2**32}, "seed must be a whole number below 2"),
        ({"seed": True}, "seed must be a whole number below 2"),
        ({"threads": 0}, f"threads {WHOLE}, not 0"),
        ({"threads": 1.5}, f"threads {WHOLE}, not 1.5"),
        ({"max_source": 0}, f"max_source {WHOLE}"),
        ({"max_response": True}, f"max_response {WHOLE}"),
        ({"error_types": {"colour": "E1"}}, "cannot label 'colour' as 'E1'; kinds: number, date, "),
        ({"error_types": {"number": " "}}, "cannot label 'number' as ' '"),
        ({"error_types": {"number": 7}}, "cannot label 'number' as 7"),
        ({"error_types": {None: "E1"}}, "cannot label None as 'E1'"),
        ({"error_types": ["number"]}, r"cannot label \['number'\] as None"),
        ({"error_types": OPTIONS["error_types"].parse("")}, "cannot label '' as ''"),
        ({"extractor": "gguf"}, "an extractor is used by the paper's method only: add --paper"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Configuration(**values)


def test_paper_sets_its_models_and_leaves_the_rest() -> None:
    changed = {
        "paper": True,
        "extractor": PAPER_EXTRACTOR,
        "verifier": PAPER,
        "fallback": "base",
    }
    paper = Configuration.for_paper(seed=7, threshold=None)  # type: ignore[arg-type]
    assert paper.to_dict() == {**Configuration().to_dict(), **changed, "seed": 7}
    chosen = Configuration.for_paper(extractor="gemma-2-9b", verifier="large", paper=False)
    assert (chosen.extractor, chosen.verifier, chosen.fallback) == ("gemma-2-9b", "large", None)
    assert chosen.paper


def test_dict_comes_back_equal() -> None:
    config = Configuration(
        threshold="recall", verifier="v", threads=2, max_source=9, error_types={"number": "E1"}
    )
    assert list(config.to_dict()) == NAMES
    assert Configuration.from_dict(config.to_dict()) == config
    assert hash(Configuration.from_dict(config.to_dict())) == hash(config)
    assert config.replaced(error_types={}) == config.replaced(error_types=None) != config
    assert Configuration(threshold=1).to_dict()["threshold"] == 1.0


def test_dict_of_another_version_is_refused() -> None:
    known = Configuration().to_dict()
    missing = {name: value for name, value in known.items() if name != "seed"}
    for values, odd in (({**known, "colour": 1}, "colour"), (missing, "seed"), ({}, "device")):
        with pytest.raises(ConfigurationError, match=f"does not fit this version: .*{odd}"):
            Configuration.from_dict(values)
    with pytest.raises(TypeError, match=r"unknown option colour; known names: .*threshold"):
        Configuration().replaced(colour=1)  # type: ignore[call-arg]


def test_detector_takes_a_configuration_and_overrides() -> None:
    config = Configuration(threshold=0.3, seed=4, verifier="base")
    assert Detector(config=config).configuration == config
    assert Detector(config=config, seed=5).configuration == config.replaced(seed=5)
    assert Detector(OverlapVerifier(), config=config).configuration == config.replaced(
        verifier="object:OverlapVerifier"
    )
    with pytest.raises(TypeError, match="colour"):
        Detector(colour=1)  # type: ignore[call-arg]


def test_detector_of_the_paper_has_its_configuration() -> None:
    assert Detector.paper().configuration == Configuration.for_paper()
    given = Detector.paper(SentenceExtractor(), OverlapVerifier(), seed=3).configuration
    assert given == Configuration(
        paper=True,
        extractor="object:SentenceExtractor",
        verifier="object:OverlapVerifier",
        seed=3,
    )
    with pytest.raises(ConfigurationError, match="add --paper"):
        Detector(OverlapVerifier(), extractor=SentenceExtractor())
    with pytest.raises(ConfigurationError, match="needs an extractor"):
        Detector(OverlapVerifier(), config=Configuration(paper=True)).check("A.", "A.")


def test_names_of_models_are_described() -> None:
    table = dict(VERIFIERS)
    assert describe_verifier(PAPER) == table[PAPER]
    assert describe_verifier(None) == describe_verifier("base") == table["base"]
    assert describe_verifier("hf:a/b") == table["hf:NAME"]
    assert describe_verifier("./folder") == table["FOLDER"]


class Tuned(OverlapVerifier):
    """A verifier with operating points."""

    @property
    def description(self) -> dict[str, Any]:
        points = {"recall": 0.125, "balanced": 0.5, "precision": 0.875}
        return {**super().description, "operating_points": points}


@pytest.mark.parametrize(
    ("name", "number"), list(zip(OPERATING_POINTS, (0.125, 0.5, 0.875), strict=True))
)
def test_verifier_gives_an_operating_point_its_number(name: str, number: float) -> None:
    source = "The pump was repaired in May. It had failed in April."
    checker = Detector(Tuned(), threshold=name)
    report = checker.check(source, source)
    assert (report.threshold, checker.models.threshold) == (number, number)
    assert report.provenance.configuration["threshold"] == name
    again = Detector.from_provenance(report, verifier=Tuned())
    assert again.check(source, source).threshold == number
    assert Detector(Tuned(), threshold=name).check(source, "").threshold == number


def test_verifier_without_operating_points_takes_numbers_only() -> None:
    with pytest.raises(ConfigurationError, match="no operating point 'recall'"):
        Detector(OverlapVerifier(), threshold="recall").check("The pump failed.", "It failed.")
