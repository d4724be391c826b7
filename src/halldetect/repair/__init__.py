"""Repair: replace, rewrite or remove unsupported text, and verify the result."""
