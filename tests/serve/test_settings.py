"""Settings that the service refuses to start with."""

from __future__ import annotations

import pytest

from halldetect.errors import ConfigurationError
from halldetect_serve.settings import (
    Limits,
    ServiceSettings,
    StorageSettings,
    UpstreamSettings,
    is_loopback,
)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"host": "0.0.0.0"}, "needs tokens"),
        ({"host": "example.org"}, "needs tokens"),
        ({"port": 99999}, "no port"),
        ({"origins": ("*",)}, "name the origins"),
    ],
)
def test_settings_that_make_no_sense(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ServiceSettings(StorageSettings("sqlite:///x"), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"queue": 5, "max_items": 6}, "largest batch"),
        ({"timeout": 0}, "timeout"),
        ({"batch": 0}, "batch"),
    ],
)
def test_bad_limits(given: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Limits(**given)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file:///etc/passwd", "must look like"),
        ("http://", "must look like"),
        ("http://a/v1?x=1", "must look like"),
        ("http://a:99999/v1", "must look like"),
        ("http://user:secret@a/v1", "HALLDETECT_UPSTREAM_API_KEY"),
    ],
)
def test_an_upstream_that_makes_no_sense(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        UpstreamSettings(url)
    assert "secret" not in str(caught.value)


def test_the_key_of_the_upstream_is_not_shown() -> None:
    assert "k-123" not in repr(UpstreamSettings("http://a/v1", key="k-123"))
    assert (
        UpstreamSettings("http://a/v1/").endpoint("chat/completions")
        == "http://a/v1/chat/completions"
    )


def test_loopback() -> None:
    for host in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"):
        assert is_loopback(host)
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", ""):
        assert not is_loopback(host)
