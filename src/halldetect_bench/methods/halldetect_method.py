"""`halldetect` and `paper`: this package's detector as a method of the evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from halldetect.detector import Detector
from halldetect.errors import ExtractionError
from halldetect.inputs import Pair, clean_pair
from halldetect.paper import prompt
from halldetect.paper.extract import claim_limit
from halldetect.paper.prompt import MAX_NEW_TOKENS, STOP, TEMPERATURE
from halldetect.protocols import Draft
from halldetect.reading.reader import read_texts
from halldetect.reading.sentences import sentences
from halldetect.report import Report
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, pair_of
from halldetect_bench.models.llm import Llm, Question, Reply, TooLong

# A list of claims that copies the text is about as long as the text, and a word seldom has more
# than two tokens.
_TOKENS_PER_WORD = 4
_EXTRA_TOKENS = 48


class HallDetect:
    """The detector, with any verifier and settings, or with the paper's method."""

    def __init__(self, detector: Detector, name: str = "halldetect") -> None:
        self.detector = detector
        self.name = name

    @property
    def description(self) -> dict[str, Any]:
        """Return the name, the configuration, and the models with their numbers."""
        detector = self.detector
        described = {
            "name": self.name,
            "configuration": detector.configuration.to_dict(),
            "verifier": detector.verifier.description,
        }
        if detector.configuration.paper:
            return {**described, "extractor": detector.models.description()["extractor"]}
        return {
            **described,
            "calibration": asdict(detector.models.calibration),
            "threshold": detector.models.threshold,
        }

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Check all rows together."""
        pairs = list(map(pair_of, rows))
        if self.detector.configuration.paper:
            extractor = self.detector.models.extractor
            if isinstance(extractor, LlmExtractor):
                extractor.prepare(pairs)
        return [_scored(report) for report in self.detector.check_many(pairs)]


def _scored(report: Report) -> Scored:
    claims = tuple(
        (claim.text, None if claim.support is None else 1 - claim.support)
        for claim in report.claims
    )
    return Scored(report.score, report.reason, claims, report.cost)


class LlmExtractor:
    """The paper's extractor on any language model of the evaluation, in batches."""

    def __init__(self, llm: Llm, *, seed: int = 0) -> None:
        self._llm = llm
        self._seed = seed
        self._known: dict[tuple[str, int], Reply | TooLong] = {}

    @property
    def description(self) -> dict[str, Any]:
        """Return the model's description, the prompt's digest and the settings."""
        model = self._llm.description
        return {
            "name": model["name"],
            **{f"model_{key}": value for key, value in model.items() if key != "name"},
            "prompt_digest": prompt.digest(),
            "temperature": TEMPERATURE,
            "seed": self._seed,
        }

    def prepare(self, pairs: Sequence[Pair]) -> None:
        """Ask about the responses of many pairs in one batch, for later calls of `draft`."""
        responses = [read_texts(clean_pair(pair))[1] for pair in pairs]
        blocks = ((one.text, claim_limit(len(sentences(one.text)))) for one in responses)
        wanted = [key for key in dict.fromkeys(blocks) if self._is_new(*key)]
        self._known.update(zip(wanted, self._asked(wanted), strict=True))

    def _is_new(self, block: str, limit: int) -> bool:
        return limit > 0 and bool(prompt.prepare(block)) and (block, limit) not in self._known

    def draft(self, block: str, limit: int) -> Draft:
        """Return at most `limit` claims of a response, from `prepare` or from the model."""
        if not prompt.prepare(block) or limit < 1:
            return Draft(())
        reply = self._known.get((block, limit)) or self._asked([(block, limit)])[0]
        if isinstance(reply, TooLong):
            raise ExtractionError(str(reply)) from reply
        claims = prompt.parse(reply.complete_lines, limit)
        return Draft(claims, 1, reply.tokens_in, reply.tokens_out)

    def _asked(self, blocks: Sequence[tuple[str, int]]) -> list[Reply | TooLong]:
        questions = []
        for block, limit in blocks:
            text = prompt.prepare(block)
            room = min(MAX_NEW_TOKENS, _TOKENS_PER_WORD * len(text.split()) + _EXTRA_TOKENS)
            turns = prompt.messages(text, limit)
            questions.append(Question(turns, room, TEMPERATURE, self._seed, stop=STOP))
        return self._llm.ask_many(questions)
