"""Explanations of claims: kinds of error, proofs, citations."""
