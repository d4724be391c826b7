"""Claims from any language model of the evaluation, asked as the GGUF extractor asks its own."""

from __future__ import annotations

from typing import Any

from halldetect.claims.extraction import Draft
from halldetect.claims.extractors import prompt
from halldetect.claims.extractors.gguf import MAX_NEW_TOKENS, STOP, TEMPERATURE
from halldetect.errors import ExtractionError
from halldetect_bench.llm import Llm, TooLong

# A list that copies its text is about as long as the text; a word is seldom over two tokens.
_TOKENS_A_WORD = 4
_TOKENS_MARGIN = 48


class LlmExtractor:
    """Proposes the claims of a block in the words of a language model."""

    def __init__(self, llm: Llm, *, seed: int = 0) -> None:
        self._llm = llm
        self._seed = seed

    @property
    def description(self) -> dict[str, Any]:
        made = self._llm.description
        return {
            "name": made["name"],
            **{f"model_{key}": value for key, value in made.items() if key != "name"},
            "prompt_digest": prompt.digest(),
            "temperature": TEMPERATURE,
            "seed": self._seed,
        }

    def draft(self, block: str, limit: int) -> Draft:
        text = prompt.prepare(block)
        if not text or limit < 1:
            return Draft(())
        room = min(MAX_NEW_TOKENS, _TOKENS_A_WORD * len(text.split()) + _TOKENS_MARGIN)
        try:
            reply = self._llm.ask(
                prompt.messages(text),
                max_tokens=room,
                temperature=TEMPERATURE,
                seed=self._seed,
                stop=STOP,
            )
        except TooLong as error:
            raise ExtractionError(str(error)) from error
        # A line that was broken off says something else than was meant.
        lines = reply.text if reply.finished else reply.text.rpartition("\n")[0]
        return Draft(prompt.parse(lines, limit), 1, reply.tokens_in, reply.tokens_out)
