"""LangChain: a runnable that checks an answer in a chain, and middleware that guards an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, get_args

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from halldetect.detector import Detector
from halldetect.inputs import ASSERTS_NOTHING
from halldetect.integrations.checker import REPLACEMENT, Checker, failure, one_of

OnFail = Literal["annotate", "raise", "replace"]
ExitBehavior = Literal["error", "replace"]


class GroundedAnswer(RunnableLambda[Mapping[str, Any], dict[str, Any]]):
    """Checks the answer of a chain against its context: `chain | GroundedAnswer()`.

    The input is a mapping. The output adds the report under `grounded`.

    Args:
        context, answer, question: the keys of the source (a text, texts or documents), of the
            answer (a text or a message) and of the question, with which a short answer is judged.
        on_fail: the action if an answer is not faithful or could not be checked: "annotate" keeps
            it, "raise" raises UngroundedError or UncheckableError, "replace" replaces it.
        replacement: the text that replaces it.
    """

    def __init__(
        self,
        *,
        context: str = "context",
        answer: str = "answer",
        question: str = "question",
        on_fail: OnFail = "annotate",
        replacement: str = REPLACEMENT,
        detector: Detector | None = None,
    ) -> None:
        super().__init__(self._checked, name="GroundedAnswer")
        self._keys = (context, answer, question)
        self._on_fail = one_of("on_fail", on_fail, get_args(OnFail))
        self._replacement = replacement
        self._checker = Checker(detector)

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        context, answer, question = self._keys
        said = values.get(answer)
        text = getattr(said, "text", said)  # of a message
        report = self._checker.check(values.get(context), text, values.get(question))
        result = {**values, "grounded": report}
        if not report.ok and self._on_fail == "raise":
            raise failure(report)
        if not report.ok and self._on_fail == "replace":
            result[answer] = self._replacement
        return result


class GroundednessMiddleware(AgentMiddleware[Any, Any]):
    """Guards the answers of an agent, with the conversation before them as the source.

    Sources are the results of its tools and the user's words. `exit_behavior` "error" raises
    UngroundedError or UncheckableError, "replace" replaces the answer.
    """

    def __init__(
        self,
        exit_behavior: ExitBehavior = "replace",
        replacement: str = REPLACEMENT,
        detector: Detector | None = None,
    ) -> None:
        super().__init__()
        self._exit_behavior = one_of("exit_behavior", exit_behavior, get_args(ExitBehavior))
        self._replacement = replacement
        self._checker = Checker(detector)

    def after_model(self, state: AgentState[Any], runtime: Any) -> dict[str, Any] | None:
        """Check the last message if it is an answer."""
        message = state["messages"][-1]
        if not isinstance(message, AIMessage) or message.tool_calls:
            return None
        report = self._checker.check_answer(list(map(_plain, state["messages"])))
        # A greeting, a question or "I do not know" asserts nothing that could be wrong.
        if report.ok or (report.reason in ASSERTS_NOTHING and not report.left_out):
            return None
        if self._exit_behavior == "error":
            raise failure(report)
        details = {**message.response_metadata, "halldetect": str(report)}
        # The same id replaces the answer.
        replaced = AIMessage(self._replacement, id=message.id, response_metadata=details)
        return {"messages": [replaced]}

    async def aafter_model(self, state: AgentState[Any], runtime: Any) -> dict[str, Any] | None:
        """Check the last message as `after_model` does."""
        return await asyncio.to_thread(self.after_model, state, runtime)


def _plain(message: Any) -> dict[str, Any]:
    """Return a message as `check_conversation` takes it."""
    names = ("content", "tool_calls", "tool_call_id", "name", "status")
    return {"role": message.type, **{name: getattr(message, name, None) for name in names}}
