"""Ways to judge a claim against a window (Phase III), one file each."""

from __future__ import annotations

from halldetect.verification.verifiers.load import load_verifier as load_verifier
