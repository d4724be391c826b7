"""Edits that make a faithful text wrong in one known way."""
