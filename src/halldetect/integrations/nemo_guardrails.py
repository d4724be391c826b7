"""A NeMo Guardrails action, and the flow that uses it.

rails = LLMRails(config)          # with FLOW among the colang content of the config and
register(rails)                   # "halldetect check facts" in rails.output.flows
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from nemoguardrails import LLMRails
from nemoguardrails.actions import action
from nemoguardrails.actions.actions import ActionResult

from halldetect.detector import Detector
from halldetect.integrations.checker import REPLACEMENT, Checker, metadata

Action = Callable[..., Awaitable[ActionResult]]

ACTION = "halldetect_check_facts"
# Colang 1.0.
FLOW = f"""
define bot refuse ungrounded answer
  "{REPLACEMENT}"

define flow halldetect check facts
  $grounded = execute {ACTION}
  if not $grounded
    bot refuse ungrounded answer
    stop
"""


def check_facts(detector: Detector | None = None) -> Action:
    """Return an action that is true if the bot's message is faithful to the relevant chunks.

    It is also false if the message could not be checked; `$halldetect` then says so.
    """
    checker = Checker(detector)

    async def check(context: dict[str, Any] | None = None) -> ActionResult:
        values = context or {}
        source = values.get("relevant_chunks_sep") or values.get("relevant_chunks")
        report = await checker.check_async(
            source, values.get("bot_message"), values.get("last_user_message")
        )
        details = {**metadata(report), "explanation": str(report)}
        return ActionResult(return_value=report.ok, context_updates={"halldetect": details})

    return cast(Action, action(name=ACTION, is_system_action=True)(check))


def register(rails: LLMRails, detector: Detector | None = None) -> None:
    """Register the action with the rails that use the flow."""
    rails.register_action(check_facts(detector), ACTION)
