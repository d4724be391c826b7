"""A misspelt policy is an error in every adapter that has one; the frameworks are stand-ins."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, TypeVar

import pytest

from halldetect.errors import ConfigurationError
from halldetect.integrations.checker import one_of

A, B = TypeVar("A"), TypeVar("B")


class Base(Generic[A, B]):
    """Any base class of a framework."""

    def __init__(self, on_fail: Any = None) -> None:
        pass


class OnFailAction(StrEnum):
    FIX = "fix"
    EXCEPTION = "exception"


def register_validator(**_: Any) -> Any:
    return lambda kind: kind


STUBS: dict[str, dict[str, Any]] = {
    "langchain.agents.middleware": {"AgentMiddleware": Base, "AgentState": Base},
    "langchain_core.messages": {"AIMessage": Base, "ToolMessage": Base},
    "langchain_core.runnables": {"Runnable": Base, "RunnableConfig": Base},
    "guardrails.types.on_fail": {"OnFailAction": OnFailAction},
    "guardrails.validator_base": {
        **dict.fromkeys(("ErrorSpan", "FailResult", "PassResult", "ValidationResult"), Base),
        "Validator": Base,
        "register_validator": register_validator,
    },
}
ADAPTERS = [
    ("langchain", "GroundedAnswer", "on_fail", "raise", "rise"),
    ("langchain", "GroundednessMiddleware", "exit_behavior", "error", "eror"),
    ("guardrails", "Grounded", "on_fail", "exception", "excption"),
]


@pytest.mark.parametrize(("module", "name", "argument", "right", "wrong"), ADAPTERS)
def test_an_unknown_policy_is_an_error(
    module: str, name: str, argument: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, values in STUBS.items():
        stub = ModuleType(path)
        vars(stub).update(values)
        monkeypatch.setitem(sys.modules, path, stub)
        package = path.partition(".")[0]
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.delitem(sys.modules, f"halldetect.integrations.{module}", raising=False)
    adapter = getattr(import_module(f"halldetect.integrations.{module}"), name)
    monkeypatch.delitem(sys.modules, f"halldetect.integrations.{module}")
    adapter(**{argument: right})
    with pytest.raises(
        ConfigurationError, match=f"{argument} is one of .*; did you mean '{right}'"
    ):
        adapter(**{argument: wrong})


@pytest.mark.parametrize("value", [None, 3, "", "Raise"])
def test_only_listed_values_are_policies(value: object) -> None:
    with pytest.raises(ConfigurationError, match="policy is one of raise, replace"):
        one_of("policy", value, ("raise", "replace"))
