"""The list of options, and the paper's settings."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest

from halldetect import Detector, render
from halldetect.claims.extractors import describe_extractor, extractor_table, load_extractor
from halldetect.claims.extractors.by_rule import SentenceExtractor
from halldetect.config import Configuration, Overrides, options
from halldetect.errors import ConfigurationError
from halldetect.scoring import OPERATING_POINTS
from halldetect.verification.presets import PRESETS, describe_verifier, verifier_table
from tests.support.fakes import OverlapVerifier

NAMES = [field.name for field in fields(Configuration)]


def test_every_field_is_an_option_and_may_be_overridden() -> None:
    assert [option.name for option in options()] == NAMES
    assert set(Overrides.__annotations__) == set(NAMES)
    assert all(option.help for option in options())
    assert Configuration(**{option.name: option.default for option in options()}) == Configuration()


def test_flags_are_unique_and_parse_their_own_defaults() -> None:
    flags = [option.flag for option in options() if option.flag]
    assert len(set(flags)) == len(flags)
    for option in options():
        if option.default_text is not None:
            assert option.parse(option.default_text) == option.default


@pytest.mark.parametrize(("name", "text"), [("granularities", "1,x"), ("exact", "perhaps")])
def test_a_value_that_does_not_parse_says_so(name: str, text: str) -> None:
    (option,) = (option for option in options() if option.name == name)
    with pytest.raises(ValueError, match=text):
        option.parse(text)


def test_the_paper_fixes_what_it_states_and_leaves_the_rest() -> None:
    paper = Configuration.paper(seed=7, granularities=[1, 2])
    assert paper.to_dict() == {
        **Configuration().to_dict(),
        "extractor": "qwen2.5-coder-1.5b",
        "verifier": "deberta-v3-large",
        "fallback": "base",
        "scoring": "fed",
        "threshold": 0.5,
        "guard": False,
        "truncate": True,
        "exact": True,
        "seed": 7,
        "granularities": [1, 2],
    }
    assert Configuration.paper(scoring="fed", threshold=0.5) == Configuration.paper()
    chosen = Configuration.paper(extractor="gemma-2-9b", verifier="large")
    assert (chosen.extractor, chosen.verifier, chosen.fallback) == ("gemma-2-9b", "large", None)
    with pytest.raises(ConfigurationError, match="fix threshold"):
        Configuration.paper(threshold=0.4)


def test_a_detector_takes_a_configuration_and_overrides() -> None:
    config = Configuration(threshold=0.3, seed=4, extractor="sentences", verifier="v")
    assert Detector(config=config).configuration == config
    assert Detector(config=config, seed=5).configuration == config.replaced(seed=5)
    given = Detector(SentenceExtractor(), OverlapVerifier(), config=config).configuration
    assert given.extractor == "object:SentenceExtractor"
    assert given.verifier == "object:OverlapVerifier"
    assert Detector.paper().configuration == Configuration.paper()
    with pytest.raises(TypeError, match="colour"):
        Detector(colour=1)  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match="fix exact"):
        Detector.paper(exact=False)


def test_extractors_of_the_table_can_be_loaded_or_say_what_they_need() -> None:
    for name, text in extractor_table():
        assert describe_extractor(name) == text
        if name.isalpha() and name != "gguf":
            assert inspect.ismethod(load_extractor(name).draft)
    assert describe_extractor("openai:some-model") == describe_extractor("openai:MODEL")
    assert describe_extractor("smollm2-135m") == "a language model in this process"


def test_verifiers_of_the_table_have_every_preset() -> None:
    table = dict(verifier_table())
    assert set(PRESETS) < set(table)
    assert describe_verifier(None) == describe_verifier("base") == table["base"]
    assert describe_verifier("hf:a/b") == table["hf:NAME"]
    assert describe_verifier("./folder") == table["FOLDER"]


@pytest.mark.parametrize("name", OPERATING_POINTS)
def test_a_threshold_may_be_an_operating_point(name: str) -> None:
    (option,) = (option for option in options() if option.name == "threshold")
    assert Configuration(threshold=option.parse(name)).threshold == name
    with pytest.raises(ConfigurationError, match="give a number"):
        Configuration(threshold=name, scoring="fed")


def test_other_words_are_no_threshold() -> None:
    (option,) = (option for option in options() if option.name == "threshold")
    with pytest.raises(ValueError, match="neither a number nor one of recall"):
        option.parse("strict")
    with pytest.raises(ConfigurationError, match="strict"):
        Configuration(threshold="strict")


class Tuned(OverlapVerifier):
    """A verifier with operating points."""

    @property
    def description(self) -> dict[str, Any]:
        points = {"recall": 0.125, "balanced": 0.5, "precision": 0.875}
        return {**super().description, "operating_points": points}


def test_the_verifier_gives_an_operating_point_its_number() -> None:
    source = "The pump was repaired in May. It had failed in April."
    for name, number in (("recall", 0.125), ("precision", 0.875)):
        report = Detector(SentenceExtractor(), Tuned(), threshold=name).check(source, source)
        assert report.threshold == number
        assert report.provenance.configuration["threshold"] == name
        assert f"threshold {number:.2f} ({name})" in render.terminal(report)
        again = Detector.from_provenance(report, extractor=SentenceExtractor(), verifier=Tuned())
        assert again.check(source, source).threshold == number


def test_a_verifier_without_operating_points_takes_numbers_only() -> None:
    detector = Detector(SentenceExtractor(), OverlapVerifier(), threshold="recall")
    with pytest.raises(ConfigurationError, match="no operating point 'recall'"):
        detector.check("The pump failed.", "The pump failed.")


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown device 'gpu'"):
        Configuration(device="gpu")
