"""LlamaIndex: an evaluator, and a query engine that checks each response before it is returned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE, Response
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.schema import QueryBundle

from halldetect.detector import Detector
from halldetect.integrations.checker import REPLACEMENT, Checker, faithfulness, metadata


class GroundednessEvaluator(BaseEvaluator):
    """An evaluator that passes faithful responses; usable in a RetryQueryEngine.

    A response that could not be checked is an invalid result and does not pass.
    """

    def __init__(self, detector: Detector | None = None) -> None:
        self._checker = Checker(detector)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """Do nothing: the evaluator has no prompts."""

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Check a response; an answer that refers to the question is judged with it."""
        report = await self._checker.check_async(contexts, response, query)
        score, said = faithfulness(report), str(report)
        return EvaluationResult(
            query=query,
            response=response,
            contexts=contexts,
            passing=report.ok,
            score=score,
            feedback=said,
            invalid_result=score is None,
            invalid_reason=said if score is None else None,
        )


class GroundedQueryEngine(BaseQueryEngine):
    """A query engine whose responses are checked against the nodes they were made from.

    The findings are added to the metadata of the response under "halldetect". A response that is
    not faithful or could not be checked is replaced, unless `replacement` is None.
    """

    def __init__(
        self,
        engine: BaseQueryEngine,
        replacement: str | None = REPLACEMENT,
        detector: Detector | None = None,
    ) -> None:
        super().__init__(callback_manager=engine.callback_manager)
        self._engine = engine
        self._replacement = replacement
        self._checker = Checker(detector)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {"engine": self._engine}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return self._checked(query_bundle, self._engine.query(query_bundle))

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        response = await self._engine.aquery(query_bundle)
        return await asyncio.to_thread(self._checked, query_bundle, response)

    def _checked(self, query: QueryBundle, response: RESPONSE_TYPE) -> Response:
        # A streamed response has to be read to its end before it can be checked.
        whole = response if isinstance(response, Response) else response.get_response()
        sources = [node.get_content() for node in whole.source_nodes]
        report = self._checker.check(sources, whole.response, query.query_str)
        text = whole.response if report.ok or self._replacement is None else self._replacement
        details = {**(whole.metadata or {}), "halldetect": metadata(report)}
        return Response(response=text, source_nodes=whole.source_nodes, metadata=details)
