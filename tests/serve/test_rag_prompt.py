"""Where the proxy finds the source in the prompts that RAG applications send."""

from __future__ import annotations

import time

import pytest

from halldetect.errors import ConfigurationError
from halldetect_serve.proxy.rag_prompt import SourcePlaces, prompt_sources, request_sources

TEXT = "A ticket costs four euros."
MORE = "The boat leaves at six."


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        (f"<context>\n{TEXT}\n</context>\nWhat does it cost?", [TEXT]),
        (
            f"<documents><document id='1'>{TEXT}</document>\n<doc>{MORE}</doc></documents>",
            [TEXT, MORE],
        ),
        (f"Use the context.\nQuestion: What does it cost?\nContext: {TEXT}\nAnswer:", [TEXT]),
        (
            "Context information is below.\n---------------------\n"
            f"{TEXT}\n\n{MORE}\n---------------------\n"
            "Given the context information and not prior knowledge, answer the query.\n"
            "Query: What does it cost?\nAnswer: ",
            [f"{TEXT}\n\n{MORE}"],
        ),
        (f"## Retrieved documents:\n\n{TEXT}\n\n## Question\nWhat does it cost?", [TEXT]),
        ("What does it cost?", []),
        ("In this context: nothing", []),
        ("<context> </context>", []),
        ("Context:\n\nQuestion: What?", []),
    ],
)
def test_the_context_of_a_prompt(prompt: str, found: list[str]) -> None:
    assert prompt_sources(prompt) == found


@pytest.mark.parametrize(
    "part", ["\n", " ", "*", "<context>", "</context>", "<context ", "context ", "[[KB]]", "-\n"]
)
@pytest.mark.parametrize("start", ["", "Hi", "Context:"])
def test_time_is_linear(start: str, part: str) -> None:
    prompt = start + part * (400_000 // len(part)) + "x"
    began = time.process_time()
    prompt_sources(prompt)
    message = {"role": "user", "content": prompt}
    SourcePlaces(markers=(("[[KB]]", "[[/KB]]"),)).find({"messages": [message]})
    assert time.process_time() - began < 3


def test_messages_that_are_sources_come_before_prompts() -> None:
    prompt = {"role": "system", "content": f"Context: {MORE}"}
    asked = {"role": "user", "content": [{"type": "text", "text": "What does it cost?"}]}
    tool = {"role": "tool", "content": TEXT}
    assert request_sources([prompt, asked]) == [MORE]
    assert request_sources([prompt, asked, tool]) == [TEXT]
    assert request_sources([prompt, {**asked, "name": "source"}]) == ["What does it cost?"]
    assert request_sources([{"role": "assistant", "content": f"Context: {MORE}"}, asked]) == []


def test_markers_say_where_an_application_puts_its_sources() -> None:
    prompt = f"Answer.\n[[KB]] {TEXT} [[/KB]] [[KB]]{MORE}[[/KB]]\nContext: nothing of ours"
    request = {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": prompt}]},
            {"role": "assistant", "content": "[[KB]]said before[[/KB]]"},
        ]
    }
    places = SourcePlaces(markers=(("[[KB]]", "[[/KB]]"),))
    assert places.find(request) == [TEXT, MORE]
    assert places.find({"messages": [{"role": "user", "content": f"Context: {TEXT}"}]}) == []


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("metadata.documents.text", [TEXT, MORE]),
        ("metadata.context", [MORE]),
        ("metadata.documents", []),
        ("metadata.none.text", []),
        ("metadata.documents.page", []),
    ],
)
def test_path_to_sources(path: str, found: list[str]) -> None:
    documents = [{"text": TEXT, "page": 1}, {"text": f" {MORE}"}, {"title": "none"}]
    request = {
        "messages": [{"role": "user", "content": f"Context: {TEXT}"}],
        "metadata": {"documents": documents, "context": MORE},
    }
    assert SourcePlaces(path=path).find(request) == found


def test_places_that_make_no_sense() -> None:
    with pytest.raises(ConfigurationError, match="join names"):
        SourcePlaces(path="metadata..text")
    with pytest.raises(ConfigurationError, match="can be empty"):
        SourcePlaces(markers=(("<kb>", " "),))
