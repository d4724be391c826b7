"""How the options of a request become the configuration of its check."""

from __future__ import annotations

from typing import Any

import pytest

from halldetect.config import Configuration, options
from halldetect.errors import ServiceError
from halldetect_serve.request_schemas import BatchRequest, CheckOptions, CheckRequest, Defaults
from halldetect_serve.settings import EMBEDDED, CheckSettings
from halldetect_serve.submission import resolve_options

PER_REQUEST = {option.name for option in options() if option.per_request}
SETTINGS = CheckSettings(
    Configuration(extractor="sentences", verifier="some-model", threshold=0.3, seed=7),
    more_extractors=("clauses",),
    more_verifiers=(EMBEDDED,),
)


def resolve(**chosen: Any) -> Configuration:
    return resolve_options(SETTINGS, CheckOptions.model_validate(chosen))


def test_requests_take_the_options_that_the_configuration_lets_them_set() -> None:
    own = {"store", "timeout_seconds"}
    assert set(CheckOptions.model_fields) == PER_REQUEST | own
    for model in (CheckRequest, BatchRequest):
        assert set(CheckOptions.model_fields) < set(model.model_fields)
    assert set(Defaults.model_fields) == PER_REQUEST - {"extractor", "verifier"}


def test_a_request_overrides_the_service() -> None:
    assert resolve() == SETTINGS.configuration
    chosen = {"scoring": "fed", "threshold": 0.9, "exact": True, "extractor": "clauses"}
    assert resolve(**chosen) == SETTINGS.configuration.replaced(**chosen)  # type: ignore[arg-type]
    assert resolve(exact=False) == SETTINGS.configuration
    assert resolve(verifier=EMBEDDED).verifier is None
    assert resolve(verifier="some-model") == SETTINGS.configuration


@pytest.mark.parametrize("chosen", [{"extractor": "gguf"}, {"verifier": "hf:a/b"}])
def test_models_that_are_not_on_offer_are_refused(chosen: dict[str, Any]) -> None:
    with pytest.raises(ServiceError, match=r"GET /v1/models") as caught:
        resolve(**chosen)
    assert caught.value.code == "unknown_model"
