"""A misspelt policy is an error in every adapter that has one; the frameworks are stand-ins."""

from __future__ import annotations

import ast
import sys
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, TypeVar

import pytest

from halldetect import Detector
from halldetect.errors import ConfigurationError
from halldetect.integrations.checker import one_of
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT

A, B = TypeVar("A"), TypeVar("B")


class Base(Generic[A, B]):
    """Any base class of a framework."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class OnFailAction(StrEnum):
    FIX = "fix"
    EXCEPTION = "exception"


def register_validator(**_: Any) -> Any:
    return lambda kind: kind


STUBS: dict[str, dict[str, Any]] = {
    "langchain.agents.middleware": {"AgentMiddleware": Base, "AgentState": Base},
    "langchain_core.messages": {"AIMessage": Base, "ToolMessage": Base},
    "langchain_core.runnables": {"RunnableLambda": Base},
    "litellm.integrations.custom_guardrail": {"CustomGuardrail": Base},
    "guardrails.types.on_fail": {"OnFailAction": OnFailAction},
    "guardrails.validator_base": {
        **dict.fromkeys(("ErrorSpan", "FailResult", "PassResult", "ValidationResult"), Base),
        "Validator": Base,
        "register_validator": register_validator,
    },
}
# Module, class and argument of each policy, an allowed value, and misspelt ones.
ADAPTERS: list[tuple[str, str, str, object, list[object]]] = [
    ("langchain", "GroundedAnswer", "on_fail", "raise", ["rise", None, "Raise"]),
    ("langchain", "GroundednessMiddleware", "exit_behavior", "error", ["eror", None, 3]),
    ("guardrails", "Grounded", "on_fail", "exception", ["excption", 3, ["fix"]]),
    ("litellm", "GroundednessGuardrail", "event_hook", "post_call", ["post_cal", "pre_call"]),
    ("litellm", "GroundednessGuardrail", "event_hook", ["post_call"], [["post_call", "x"], 3]),
]
POLICY_NAMES = {"on_fail", "on_failure", "exit_behavior", "policy", "mode", "event_hook", "action"}


@pytest.mark.parametrize(("module", "name", "argument", "right", "wrong"), ADAPTERS)
def test_unknown_policy_of_an_adapter_is_an_error(
    module: str,
    name: str,
    argument: str,
    right: object,
    wrong: list[object],
    monkeypatch: pytest.MonkeyPatch,
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
    for value in wrong:
        with pytest.raises(ConfigurationError, match=" cannot be "):
            adapter(**{argument: value})


@pytest.mark.parametrize("value", ["hld", "", "HOLD", None])
def test_unknown_policy_of_a_stream_is_an_error(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="unknown action"):
        Detector(OverlapVerifier()).stream("It rains.", on_failure=value)


def test_every_policy_of_an_adapter_is_tested() -> None:
    found = set()
    for path in (ROOT / "src" / "halldetect" / "integrations").glob("*.py"):
        for kind in ast.parse(path.read_text(encoding="utf-8")).body:
            for node in ast.walk(kind):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    names = {item.arg for item in [*node.args.args, *node.args.kwonlyargs]}
                    named = getattr(kind, "name", node.name)
                    found |= {(path.stem, named, name) for name in names & POLICY_NAMES}
    assert found == {adapter[:3] for adapter in ADAPTERS}


def test_near_value_is_suggested() -> None:
    with pytest.raises(ConfigurationError, match="cannot be 'rise': did you mean raise"):
        one_of("policy", "rise", ("raise", "replace"))
