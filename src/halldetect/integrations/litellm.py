"""A LiteLLM guardrail for its proxy:

    guardrails:
      - guardrail_name: grounded
        litellm_params:
          guardrail: halldetect.integrations.litellm.GroundednessGuardrail
          mode: post_call

The sources come from the metadata of the request (`metadata: {"sources": [...]}`), else from its
tool messages, else from the context in the prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from litellm.integrations.custom_guardrail import CustomGuardrail

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, failure, first_of, one_of
from halldetect_serve.proxy.rag_prompt import request_sources

if TYPE_CHECKING:
    from litellm.types.utils import GenericGuardrailAPIInputs


class GroundednessGuardrail(CustomGuardrail):
    """Blocks responses that are not backed by their sources, or could not be checked.

    The mode must be "post_call": in any other, no response would be checked.
    """

    def __init__(
        self, detector: Detector | None = None, event_hook: Any = None, **options: Any
    ) -> None:
        for hook in event_hook if isinstance(event_hook, list) else [event_hook]:
            if hook is not None:
                one_of("mode", getattr(hook, "value", hook), ("post_call",))
        super().__init__(event_hook=event_hook, **options)
        self._checker = Checker(detector)

    async def apply_guardrail(
        self,
        inputs: GenericGuardrailAPIInputs,
        request_data: dict[str, Any],
        input_type: Literal["request", "response"],
        logging_obj: Any = None,
    ) -> GenericGuardrailAPIInputs:
        """Check the texts of a response; raise UngroundedError or UncheckableError to block it."""
        if input_type == "request":
            return inputs
        names = ("metadata", "litellm_metadata")
        given = (first_of(request_data.get(name), ["sources"]) for name in names)
        sources = next(filter(None, given), None)
        for text in inputs.get("texts", []):
            report = await self._checker.check_async(
                sources or request_sources(request_data.get("messages") or []), text
            )
            if not report.ok:
                raise failure(report)
        return inputs
