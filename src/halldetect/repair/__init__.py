"""Repair: replace, rewrite or remove unsupported text, and verify the result."""

from __future__ import annotations

from halldetect.repair.outcome import Action, Change, Method, Outcome, Repair

__all__ = ["Action", "Change", "Method", "Outcome", "Repair"]
