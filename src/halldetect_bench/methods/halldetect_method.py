"""`halldetect` and `paper`: this package's detector as a method of the evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from halldetect.claims.extraction import Draft, extract_claims
from halldetect.claims.extractors import prompt
from halldetect.claims.extractors.gguf import MAX_NEW_TOKENS, STOP, TEMPERATURE

from halldetect.detector import Detector
from halldetect.errors import ExtractionError
from halldetect.inputs import Pair
from halldetect.reading.response import read_response
from halldetect.report import Report
from halldetect.scoring import window_rule
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored
from halldetect_bench.models.llm import Llm, Question, Reply, TooLong

# A list of claims that copies its text is about as long as the text, and a word is seldom more
# than two tokens.
_TOKENS_PER_WORD = 4
_EXTRA_TOKENS = 48


class HallDetect:
    """The detector, with any extractor, verifier and settings."""

    name: str

    def __init__(self, detector: Detector, name: str = "halldetect") -> None:
        """detector: checks the rows. name: of the method in tables."""
        self.detector = detector
        self.name = name

    @property
    def description(self) -> dict[str, Any]:
        """The method's name, the configuration, the rules and the models' descriptions."""
        detector = self.detector
        rule = window_rule(detector)
        return {
            "name": self.name,
            "configuration": detector.configuration.to_dict(),
            "extractor": detector.extractor.description,
            "verifier": detector.verifier.description,
            "calibration": asdict(detector.calibration),
            "threshold": detector.threshold,
            "rule": None if rule is None else rule.to_dict(),
        }

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Check all rows together.

        rows: the rows to score.
        """
        extractor = self.detector.extractor
        if isinstance(extractor, LlmExtractor):
            extractor.prepare([row.response for row in rows])
        pairs = [Pair(_source(row), row.response, row.question) for row in rows]
        return [_scored(report) for report in self.detector.check_many(pairs)]


def _source(row: Row) -> str | list[str]:
    return row.source if isinstance(row.source, str) else list(row.source)


def _scored(report: Report) -> Scored:
    claims = tuple(
        (claim.text, None if claim.support is None else 1 - claim.support)
        for claim in report.claims
    )
    return Scored(report.score, report.reason, claims, report.cost)


class LlmExtractor:
    """The paper's extractor on any language model of the evaluation, in batches."""

    def __init__(self, llm: Llm, *, seed: int = 0) -> None:
        """llm: the model to ask. seed: of its answers."""
        self._llm = llm
        self._seed = seed
        self._known: dict[tuple[str, int], Reply | TooLong] = {}

    @property
    def description(self) -> dict[str, Any]:
        """The model's description, the prompt's digest and the settings."""
        model = self._llm.description
        return {
            "name": model["name"],
            **{f"model_{key}": value for key, value in model.items() if key != "name"},
            "prompt_digest": prompt.digest(),
            "temperature": TEMPERATURE,
            "seed": self._seed,
        }

    def prepare(self, responses: Sequence[str]) -> None:
        """Ask about many responses in one batch; `draft` then has the answers.

        responses: the texts to split.
        """
        noted = _NotingExtractor()
        for response in responses:
            extract_claims(read_response(response), noted, guard=False)
        wanted = [key for key in noted.blocks if key not in self._known]
        self._known.update(zip(wanted, self._asked(wanted), strict=True))

    def draft(self, block: str, limit: int) -> Draft:
        """Return the claims of a block, asked for now unless `prepare` has.

        block: a part of a response. limit: the greatest number of claims.
        """
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


class _NotingExtractor:
    """Proposes nothing, and notes what it was asked about."""

    description = {"name": "noting"}  # noqa: RUF012

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, int], None] = {}

    def draft(self, block: str, limit: int) -> Draft:
        """Note a block and its limit."""
        if prompt.prepare(block) and limit > 0:
            self.blocks[block, limit] = None
        return Draft(())
