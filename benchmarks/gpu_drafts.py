"""The claims that a language model drafts, kept in a file and judged later.

Drafting needs no verifier, so it can run while the verifier is still being trained; judging then
takes seconds. The first line of a file describes the extractor, every other line holds a response
and the drafts of its blocks: of the whole response, as the paper asks, and of the blocks that the
guard asks for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from halldetect.claims.extraction import Draft, extract_claims
from halldetect.errors import ExtractionError
from halldetect.reading.response import read_response
from halldetect_bench.methods.claim_splitters import KeepingExtractor, LlmExtractor
from halldetect_bench.models.llm import BatchLlm, Llm
from halldetect_bench.models.question_batches import run_together

# Of a block of a response and a limit on its claims.
Drafts = dict[tuple[str, int], Draft]


class DraftedExtractor:
    """An extractor that looks up what a language model drafted."""

    def __init__(self, file: Path) -> None:
        """file: what `write_drafts` wrote."""
        first, *lines = file.read_text(encoding="utf-8").splitlines()
        head = json.loads(first)
        self.description: dict[str, Any] = head["extractor"]
        self.for_guard: bool = head["guard"]
        self.responses: set[str] = set()
        self._known: Drafts = {}
        for record in map(json.loads, lines):
            self.responses.add(record["response"])
            for block, limit, draft in record["drafts"]:
                claims = tuple(draft.pop("claims"))
                self._known[block, limit] = Draft(claims, **draft)

    def draft(self, block: str, limit: int) -> Draft:
        """The claims of a block.

        block: a part of a response. limit: the greatest number of claims.
        """
        try:
            return self._known[block, limit]
        except KeyError:
            raise ExtractionError("the model drafted no claims of this text") from None


def write_drafts(
    file: Path,
    llm: BatchLlm,
    responses: Sequence[str],
    *,
    guard: bool,
    seed: int,
    at_once: int,
    is_up: Callable[[], bool],
) -> int:
    """Append the drafts of the responses that the file lacks; returns how many it then holds.

    file: where to write. llm: drafts. responses: in order of importance.
    guard: draft the blocks that the guard asks for too. seed: of the model's answers.
    at_once: responses per batch. is_up: whether the time is up.
    """
    if file.is_file():
        done = DraftedExtractor(file).responses
    else:
        head = {"extractor": LlmExtractor(llm, seed=seed).description, "guard": guard}
        file.write_text(json.dumps(head) + "\n", encoding="utf-8")
        done = set()
    todo = [text for text in dict.fromkeys(responses) if text not in done]
    for at in range(0, len(todo), at_once):
        if is_up():
            break
        part = todo[at : at + at_once]
        found = run_together(llm, part, partial(_drafts, guard=guard, seed=seed))
        lines = [
            json.dumps({"response": text, "drafts": [[*key, asdict(one)] for key, one in kept]})
            for text, kept in zip(part, (drafts.items() for drafts in found), strict=True)
        ]
        with file.open("a", encoding="utf-8") as opened:
            opened.write("".join(f"{line}\n" for line in lines))
        done.update(part)
    return len(done)


def _drafts(response: str, llm: Llm, *, guard: bool, seed: int) -> Drafts:
    kept: Drafts = {}
    asking = KeepingExtractor(LlmExtractor(llm, seed=seed), kept)
    for guarded in (False, True) if guard else (False,):
        # What cannot be extracted is found out again, and reported, when it is asked for.
        with suppress(ExtractionError):
            extract_claims(read_response(response), asking, guard=guarded)
    return kept
