"""What single adapters do beyond the cases that all of them are held to."""

from __future__ import annotations

import asyncio
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.cases import CASES, QUESTION, SOURCE, detector

pytestmark = [pytest.mark.integrations, pytest.mark.filterwarnings("default")]
SUPPORTED, CONTRADICTED, _, UNCHECKABLE = CASES


@pytest.mark.xdist_group("langchain")
@pytest.mark.parametrize(
    ("answer", "kept"), [(SUPPORTED.response, True), (CONTRADICTED.response, False)]
)
def test_langchain_agents_are_guarded_by_their_tool_results(answer: str, kept: bool) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    from halldetect.integrations.checker import UngroundedError
    from halldetect.integrations.langchain import REPLACEMENT, GroundednessMiddleware

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    @tool
    def search(query: str) -> str:
        """Search the timetable."""
        return SOURCE

    call = {"name": "search", "args": {"query": "price"}, "id": "1", "type": "tool_call"}

    def ask(*replies: AIMessage, behavior: Any = "replace") -> str:
        guard = GroundednessMiddleware(exit_behavior=behavior, detector=detector())
        agent = create_agent(Model(messages=iter(replies)), tools=[search], middleware=[guard])
        return str(agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1].text)

    said = ask(AIMessage("", tool_calls=[call]), AIMessage(answer))
    assert said == (answer if kept else REPLACEMENT)
    assert ask(AIMessage(answer)) == REPLACEMENT  # no tool was called: nothing says so
    assert ask(AIMessage(greeting := "Hello! How can I help you?")) == greeting
    with pytest.raises(UngroundedError):
        ask(AIMessage(answer), behavior="error")


@pytest.mark.xdist_group("langchain")
def test_langchain_chains_replace_or_annotate_an_answer() -> None:
    from halldetect.integrations.langchain import REPLACEMENT, GroundedAnswer

    values = {"context": SOURCE, "answer": CONTRADICTED.response}
    replaced = GroundedAnswer(on_fail="replace", detector=detector()).invoke(values)
    assert replaced["answer"] == REPLACEMENT
    annotated = asyncio.run(GroundedAnswer(detector=detector()).ainvoke(values))
    assert annotated["answer"] == CONTRADICTED.response
    assert not annotated["grounded"].ok


@pytest.mark.xdist_group("llama_index")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_llama_index_engines_return_no_unchecked_answer(case: Any) -> None:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.schema import TextNode

    from halldetect.integrations.llama_index import REPLACEMENT, GroundedQueryEngine

    class Scripted(MockLLM):
        def complete(self, prompt: str, formatted: bool = False, **options: Any) -> Any:
            answer = super().complete(prompt, formatted, **options)
            answer.text = case.response
            return answer

    nodes = [TextNode(text=text) for text in case.sources]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))
    engine = GroundedQueryEngine(index.as_query_engine(llm=Scripted()), detector=detector())
    answer = engine.query(QUESTION)
    assert answer.response == (case.response if case.passed else REPLACEMENT)
    assert answer.metadata["halldetect"]["verdict"] in ("faithful", "hallucinated", "uncheckable")


@pytest.mark.xdist_group("haystack")
def test_haystack_pipelines_save_and_load_their_options() -> None:
    from haystack import Pipeline

    from halldetect import Detector
    from halldetect.integrations.haystack import GroundednessEvaluator

    pipeline = Pipeline()
    pipeline.add_component("check", GroundednessEvaluator(Detector(threshold=0.3)))
    trusted = ["halldetect.integrations.haystack"]
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=trusted)
    assert loaded.get_component("check").to_dict() == pipeline.get_component("check").to_dict()
    inputs = {"contexts": [["It rains."], [" "]], "predicted_answers": ["It rains.", "It rains."]}
    result = loaded.run({"check": inputs})["check"]
    assert [item["status"] for item in result["results"]] == ["evaluated", "error"]
    assert result["score"] == result["individual_scores"][0] > 0.5
    assert result["individual_scores"][1] is None


@pytest.mark.xdist_group("guardrails")
def test_guardrails_gets_spans_and_a_repaired_text() -> None:
    from guardrails import Guard

    from halldetect.integrations.guardrails import Grounded

    guard = Guard().use(Grounded(on_fail="fix", detector=detector()))
    outcome = guard.validate(CONTRADICTED.response, metadata={"sources": [SOURCE]})
    assert outcome.validated_output.startswith("A ticket costs 4 euros.")
    assert "at 9" not in outcome.validated_output
    (summary,) = outcome.validation_summaries
    span, *words = summary.error_spans
    assert CONTRADICTED.response[span.start : span.end] == "The boat leaves at 9."
    assert "The boat leaves at 6." in span.reason
    assert [CONTRADICTED.response[item.start : item.end] for item in words] == ["9"]


@pytest.mark.xdist_group("mlflow")
def test_mlflow_takes_the_source_from_trace_retrievers(tmp_path: Path) -> None:
    import mlflow
    from mlflow.entities import Document, SpanType

    from halldetect.integrations.mlflow import Groundedness

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieve(question: str) -> list[Document]:
        return [Document(page_content=SOURCE)]

    @mlflow.trace
    def answer(question: str) -> str:
        retrieve(question)
        return CONTRADICTED.response

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    answer(QUESTION)
    mlflow.flush_trace_async_logging()
    trace = mlflow.get_trace(mlflow.get_last_active_trace_id())
    overall, *claims = Groundedness(detector())(outputs=CONTRADICTED.response, trace=trace)
    assert overall.value < 0.5
    assert [claim.value for claim in claims] == ["supported", "contradicted"]


@pytest.mark.xdist_group("mlflow")
def test_mlflow_takes_the_source_from_trace_tools(tmp_path: Path) -> None:
    import mlflow
    from mlflow.entities import SpanType

    from halldetect.integrations.mlflow import Groundedness

    @mlflow.trace(span_type=SpanType.TOOL)
    def search(query: str) -> str:
        return SOURCE

    @mlflow.trace
    def answer(question: str) -> str:
        search(question)
        return CONTRADICTED.response

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    answer(QUESTION)
    mlflow.flush_trace_async_logging()
    trace = mlflow.get_trace(mlflow.get_last_active_trace_id())
    overall, *_ = Groundedness(detector())(outputs=CONTRADICTED.response, trace=trace)
    assert overall.value < 0.5


@pytest.mark.xdist_group("litellm")
def test_litellm_takes_the_source_from_a_rag_prompt() -> None:
    from halldetect.integrations.checker import UngroundedError
    from halldetect.integrations.litellm import GroundednessGuardrail

    guardrail = GroundednessGuardrail(detector(), guardrail_name="grounded")
    prompt = f"<context>{SOURCE}</context>\nQuestion: {QUESTION}"
    request = {"messages": [{"role": "user", "content": prompt}]}

    def check(text: str, kind: Any = "response") -> Any:
        return asyncio.run(guardrail.apply_guardrail({"texts": [text]}, request, kind))

    assert check(SUPPORTED.response) == {"texts": [SUPPORTED.response]}
    assert check("anything", "request") == {"texts": ["anything"]}
    with pytest.raises(UngroundedError, match="The boat leaves at 9"):
        check(CONTRADICTED.response)


@pytest.mark.parametrize("group", ["inspect_ai", "pytest11"])
def test_frameworks_find_us_by_entry_point(group: str) -> None:
    (point,) = (point for point in entry_points(group=group) if point.name == "halldetect")
    assert point.load() is not None
