"""A LiteLLM guardrail for its proxy:

    guardrails:
      - guardrail_name: grounded
        litellm_params:
          guardrail: halldetect.integrations.litellm.GroundednessGuardrail
          mode: post_call

The sources come from the metadata of the request (`metadata: {"sources": [...]}`), else from its
tool messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from litellm.integrations.custom_guardrail import CustomGuardrail

from halldetect.detector import Detector
from halldetect.integrations.checker import Checker, failure
from halldetect_serve.proxy.rag_prompt import request_sources

if TYPE_CHECKING:
    from litellm.types.utils import GenericGuardrailAPIInputs


class GroundednessGuardrail(CustomGuardrail):
    """Blocks responses that are not backed by their sources, or could not be checked.

    Args:
        detector: the detector to use; the default one if None.
        options: the options of LiteLLM's CustomGuardrail.
    """

    def __init__(self, detector: Detector | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._checker = Checker(detector)

    async def apply_guardrail(
        self,
        inputs: GenericGuardrailAPIInputs,
        request_data: dict[str, Any],
        input_type: Literal["request", "response"],
        logging_obj: Any = None,
    ) -> GenericGuardrailAPIInputs:
        """Check the texts of a response; requests pass.

        Args:
            inputs: the texts.
            request_data: the request, with metadata and messages.
            input_type: the origin of the texts, request or response.

        Raises:
            UngroundedError: or UncheckableError to block the response.
        """
        if input_type == "request":
            return inputs
        sources = _sources(request_data)
        for text in inputs.get("texts", []):
            report = await self._checker.check_async(sources, text)
            if not report.ok:
                raise failure(report)
        return inputs


def _sources(request: Mapping[str, Any]) -> Any:
    for name in ("metadata", "litellm_metadata"):
        values = request.get(name)
        if isinstance(values, Mapping) and values.get("sources"):
            return values["sources"]
    return request_sources(request.get("messages") or [])
