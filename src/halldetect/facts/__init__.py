"""Facts in a text, found by rule: numbers, units, dates, names."""

from __future__ import annotations

from halldetect.facts.recogniser import Fact, FactKind, WordUsage, find_facts, has_number

__all__ = ["Fact", "FactKind", "WordUsage", "find_facts", "has_number"]
