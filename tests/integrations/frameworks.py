"""Each adapter in a real run of its framework, reduced to what the framework says in the end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.integrations.cases import QUESTION, Case, Finding, detector

Run = Callable[[Case, Path], Finding]

# No telemetry, no update checks, no downloads of price lists.
os.environ.update(
    {
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "RAGAS_DO_NOT_TRACK": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "HAYSTACK_TELEMETRY_ENABLED": "False",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LANGSMITH_TRACING": "false",
        "LANGCHAIN_TRACING_V2": "false",
        "NEMO_GUARDRAILS_TELEMETRY_ENABLED": "false",
    }
)


def deepeval(case: Case, folder: Path) -> Finding:
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    from halldetect.integrations.deepeval import GroundednessMetric

    asked = LLMTestCase(
        input=QUESTION, actual_output=case.response, retrieval_context=list(case.sources)
    )
    result = evaluate(
        [asked],
        [GroundednessMetric(detector=detector())],
        async_config=AsyncConfig(run_async=True),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        cache_config=CacheConfig(write_cache=False),
    )
    (found,) = result.test_results[0].metrics_data
    assert result.test_results[0].success is bool(case.passed)
    return Finding(None if found.error else found.success, found.error or found.reason)


def ragas(case: Case, folder: Path) -> Finding:
    from pydantic import BaseModel
    from ragas import Dataset, experiment

    from halldetect.integrations.ragas import Groundedness

    metric = Groundedness(detector=detector())

    class Row(BaseModel):
        value: float | None
        reason: str

    @experiment(Row, backend="inmemory")
    async def run(row: dict[str, Any]) -> Row:
        result = await metric.ascore(
            user_input=QUESTION,
            response=row["response"],
            retrieved_contexts=list(case.sources),
        )
        return Row(value=result.value, reason=result.reason or "")

    dataset = Dataset(name="answers", backend="inmemory")
    dataset.append({"response": case.response})
    (row,) = asyncio.run(run.arun(dataset))
    return Finding(None if row.value is None else row.value > 0.5, row.reason)


def inspect(case: Case, folder: Path) -> Finding:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    from halldetect.integrations.inspect import grounded

    @solver
    def application() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("application", case.response)
            return state

        return solve

    (log,) = eval(
        Task(
            dataset=[Sample(input=QUESTION, metadata={"source": list(case.sources)})],
            solver=application(),
            scorer=grounded(detector=detector()),
        ),
        model="mockllm/model",
        log_dir=str(folder),
        display="none",
    )
    assert log.status == "success", log.error
    (sample,) = log.samples
    score = sample.scores["grounded"]
    counted = log.results.scores[0].scored_samples
    assert counted == (0 if case.passed is None else 1)
    return Finding(None if counted == 0 else score.value == "C", score.explanation)


def mlflow(case: Case, folder: Path) -> Finding:
    import mlflow

    from halldetect.integrations.mlflow import Groundedness

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    row = {"inputs": {"context": list(case.sources)}, "outputs": case.response}
    result = mlflow.genai.evaluate(data=[row], scorers=[Groundedness(detector=detector())])
    (trace,) = mlflow.search_traces(run_id=result.run_id, return_type="list")
    found = {item.name: item for item in trace.info.assessments if item.name != "inputs"}
    overall = found["groundedness"]
    claims = [name for name in found if name.startswith("groundedness/claim_")]
    assert len(claims) == {"contradicted": 2, "uncheckable": 0}.get(case.name, 1)
    if overall.feedback.error is not None:
        return Finding(None, overall.feedback.error.error_message)
    return Finding(overall.feedback.value > 0.5, overall.rationale)


def langsmith(case: Case, folder: Path) -> Finding:
    from datetime import UTC, datetime
    from uuid import uuid4

    from langsmith import Client, evaluate
    from langsmith.schemas import Example

    from halldetect.integrations.langsmith import grounded

    example = Example(
        id=uuid4(),
        dataset_id=uuid4(),
        created_at=datetime.now(UTC),
        inputs={"question": QUESTION, "context": list(case.sources)},
        outputs={},
    )
    results = evaluate(
        lambda inputs: {"answer": case.response},
        data=[example],
        evaluators=[grounded(detector=detector())],
        client=Client(api_url="http://127.0.0.1:9", api_key="none"),
        upload_results=False,
        max_concurrency=0,
    )
    (row,) = results
    (found,) = row["evaluation_results"]["results"]
    return Finding(None if found.score is None else found.score > 0.5, found.comment)


def trulens(case: Case, folder: Path) -> Finding:
    from trulens.core import Metric
    from trulens.core.metric.metric import SkipEval

    from halldetect.integrations.trulens import groundedness

    metric = Metric(implementation=groundedness(detector()), name="groundedness")
    try:
        score, details = metric(source=list(case.sources), statement=case.response)
    except SkipEval as skipped:
        return Finding(None, skipped.reason)
    return Finding(score > 0.5, details["reason"])


def promptfoo(case: Case, folder: Path) -> Finding:
    """With the program where there is one, else by the call that it makes of an assertion."""
    from halldetect.integrations import promptfoo as ours
    from halldetect.integrations.checker import Checker

    variables = {"context": "\n".join(case.sources), "answer": case.response}
    program = os.environ.get("HALLDETECT_PROMPTFOO") or shutil.which("promptfoo")
    if program is None:
        with patch.object(ours, "_checker", Checker(detector())):
            found = ours.get_assert(case.response, {"vars": variables})
    else:
        found = _run_promptfoo(program, variables, folder)
    # promptfoo knows pass and fail only: what could not be checked fails, and says so.
    uncheckable = found["reason"].startswith("uncheckable")
    assert not (uncheckable and found["pass"])
    return Finding(None if uncheckable else found["pass"], found["reason"])


def _run_promptfoo(program: str, variables: dict[str, str], folder: Path) -> dict[str, Any]:
    """Run a test of one assertion, on the verifier of the package."""
    (folder / "grounded.py").write_text(
        "from halldetect.integrations.promptfoo import get_assert as get_assert\n"
    )
    assertion = {"type": "python", "value": "file://grounded.py"}
    config = {
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "tests": [{"vars": variables, "assert": [assertion]}],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    command = [program, "eval", "-c", "promptfooconfig.json", "--no-cache", "-o", "out.json"]
    environment = {
        **os.environ,
        "PROMPTFOO_CONFIG_DIR": str(folder / "settings"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_PYTHON": sys.executable,
    }
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert (folder / "out.json").exists(), run.stderr
    (row,) = json.loads((folder / "out.json").read_text())["results"]["results"]
    (found,) = row["gradingResult"]["componentResults"]
    assert row["success"] is found["pass"]
    result: dict[str, Any] = found
    return result


def langchain(case: Case, folder: Path) -> Finding:
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableLambda

    from halldetect.integrations.checker import UncheckableError, UngroundedError
    from halldetect.integrations.langchain import GroundedAnswer

    def rag(question: str) -> dict[str, Any]:
        context = [Document(page_content=text) for text in case.sources]
        return {"question": question, "context": context, "answer": AIMessage(case.response)}

    chain = RunnableLambda(rag) | GroundedAnswer(on_fail="raise", detector=detector())
    try:
        report = chain.invoke(QUESTION)["grounded"]
    except UngroundedError as error:
        return Finding(False, str(error))
    except UncheckableError as error:
        return Finding(None, str(error))
    return Finding(report.ok, str(report))


def llama_index(case: Case, folder: Path) -> Finding:
    from llama_index.core.base.response.schema import Response
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.schema import NodeWithScore, TextNode

    from halldetect.integrations.llama_index import GroundednessEvaluator

    class Engine(CustomQueryEngine):
        def custom_query(self, query_str: str) -> Response:
            nodes = [NodeWithScore(node=TextNode(text=text)) for text in case.sources]
            return Response(response=case.response, source_nodes=nodes)

    response = Engine().query(QUESTION)
    found = GroundednessEvaluator(detector()).evaluate_response(query=QUESTION, response=response)
    return Finding(None if found.invalid_result else found.passing, found.feedback)


def haystack(case: Case, folder: Path) -> Finding:
    from haystack import Pipeline

    from halldetect.integrations.haystack import GroundednessEvaluator

    pipeline = Pipeline()
    pipeline.add_component("groundedness", GroundednessEvaluator(detector()))
    inputs = {
        "questions": [QUESTION],
        "contexts": [list(case.sources)],
        "predicted_answers": [case.response],
    }
    result = pipeline.run({"groundedness": inputs})["groundedness"]
    (found,) = result["results"]
    assert result["individual_scores"] == [found["score"]]
    assert result["score"] == found["score"]
    return Finding(None if found["status"] == "error" else found["score"] > 0.5, found["reason"])


def guardrails(case: Case, folder: Path) -> Finding:
    from guardrails import Guard
    from guardrails.settings import settings

    from halldetect.integrations.guardrails import Grounded

    settings.disable_tracing = True
    settings.rc.enable_metrics = False
    guard = Guard().use(Grounded(on_fail="noop", detector=detector()))
    outcome = guard.validate(case.response, metadata={"sources": list(case.sources)})
    if outcome.validation_passed:
        return Finding(True, "")
    # Guardrails knows pass and fail only: what could not be checked fails, and says so.
    (summary,) = outcome.validation_summaries
    uncheckable = summary.failure_reason.startswith("uncheckable")
    return Finding(None if uncheckable else False, summary.failure_reason)


def nemo_guardrails(case: Case, folder: Path) -> Finding:
    from langchain_core.language_models import FakeListLLM
    from nemoguardrails import LLMRails, RailsConfig

    from halldetect.integrations.nemo_guardrails import FLOW, register

    config = RailsConfig.from_content(
        colang_content=FLOW,
        yaml_content="models: []\nrails:\n  output:\n    flows:\n      - halldetect check facts\n",
    )
    rails = LLMRails(config, llm=FakeListLLM(responses=[case.response]))
    register(rails, detector())
    messages = [
        {"role": "context", "content": {"relevant_chunks": "\n".join(case.sources)}},
        {"role": "user", "content": QUESTION},
    ]
    result = rails.generate(messages=messages, options={"output_vars": ["halldetect"]})
    said = result.response[-1]["content"]
    details = result.output_data["halldetect"]
    assert (said == case.response) is bool(case.passed), said
    uncheckable = details["verdict"] == "uncheckable"
    return Finding(None if uncheckable else said == case.response, details["explanation"])


def litellm(case: Case, folder: Path) -> Finding:
    from litellm.types.guardrails import GuardrailEventHooks
    from litellm.types.utils import ModelResponse

    from halldetect.integrations.checker import UncheckableError, UngroundedError
    from halldetect.integrations.litellm import GroundednessGuardrail

    guardrail = GroundednessGuardrail(
        detector(),
        guardrail_name="grounded",
        event_hook=GuardrailEventHooks.post_call,
        default_on=True,
    )
    message = {"role": "assistant", "content": case.response}
    response = ModelResponse(choices=[{"index": 0, "message": message}], model="m")
    asked = [{"role": "user", "content": QUESTION}]
    request = {"model": "m", "messages": asked, "metadata": {"sources": list(case.sources)}}
    try:
        asyncio.run(_through_proxy(guardrail, request, response))
    except UngroundedError as error:
        return Finding(False, str(error))
    except UncheckableError as error:
        return Finding(None, str(error))
    return Finding(True, "")


async def _through_proxy(guardrail: Any, request: dict[str, Any], response: Any) -> Any:
    """The hook that LiteLLM's proxy calls after each call of a model, with our guardrail on."""
    import litellm
    from litellm.caching import DualCache
    from litellm.proxy._types import UserAPIKeyAuth
    from litellm.proxy.utils import ProxyLogging

    litellm.callbacks = [guardrail]
    try:
        proxy = ProxyLogging(user_api_key_cache=DualCache())
        return await proxy.post_call_success_hook(
            data=request, response=response, user_api_key_dict=UserAPIKeyAuth(api_key="key")
        )
    finally:
        litellm.callbacks = []


FRAMEWORKS: dict[str, Run] = {
    "deepeval": deepeval,
    "ragas": ragas,
    "inspect": inspect,
    "mlflow": mlflow,
    "langsmith": langsmith,
    "trulens": trulens,
    "promptfoo": promptfoo,
    "langchain": langchain,
    "llama_index": llama_index,
    "haystack": haystack,
    "guardrails": guardrails,
    "nemo_guardrails": nemo_guardrails,
    "litellm": litellm,
}
