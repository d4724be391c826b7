"""The rules that tell what is wrong with a claim; a new rule is its file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from halldetect.faults.fault import Fault, FaultRule, lower_support
from halldetect.faults.identifiers import InventedIdentifiers
from halldetect.faults.numbers import UnknownNumbers
from halldetect.faults.quotations import VerbatimSource, WrongQuotations
from halldetect.models.loading import Models
from halldetect.protocols import Rule
from halldetect.reading.reader import Reading
from halldetect.report import ClaimReport
from halldetect.scoring import Scored
from halldetect.verification.asking import Asking

# In their order: a rule sees what the rules before it have found.
RULES: list[Callable[[Reading], FaultRule]] = [
    UnknownNumbers,
    WrongQuotations,
    InventedIdentifiers,
]


def check_facts(
    items: Sequence[Scored], asking: Asking, models: Models
) -> list[tuple[ClaimReport, ...]]:
    """Return the claims of each response with their quotations and the faults of all rules.

    Only the rules of the caller come from the models; the arguments are those of every step.
    """
    return [_checked(item, models.rules) for item in items]


def _checked(item: Scored, own_rules: Sequence[Rule]) -> tuple[ClaimReport, ...]:
    reading, claims = item.reading, []
    texts = [document.text for document in reading.documents]
    source, rules = VerbatimSource(texts), [rule(reading) for rule in RULES]
    for at, claim in enumerate(item.claims):
        if not reading.is_translated(at):
            cited = [document for _, document in reading.cited(at)]
            quoted = source.quotations(claim.text, cited, reading.question)
            claim = replace(claim, quotations=tuple(quoted))
        for rule in rules:
            found = rule.faults(claim, at)
            claim = lower_support(claim, found, reading.pair.response, item.calibration)
        own = _own_faults(own_rules, claim, texts)
        claims.append(lower_support(claim, own, reading.pair.response, item.calibration))
    return tuple(claims)


def _own_faults(rules: Sequence[Rule], claim: ClaimReport, texts: Sequence[str]) -> Iterator[Fault]:
    """Yield what the rules of the caller find; together they lower a support once."""
    for rule in rules:
        for word in rule(claim, texts):
            kind, instead = word.kind, word.source_words
            yield Fault(kind, word.words, word.span, instead, certain=True, label=word.label)
