"""Repair: replace, rewrite or remove what the source does not support, and verify the result."""

from __future__ import annotations

from halldetect.repair.outcome import Action, Change, Method, Outcome, Repair

__all__ = ["Action", "Change", "Method", "Outcome", "Repair"]
