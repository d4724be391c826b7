"""Settings for every test: no time limit per example, since a busy machine is no defect."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("halldetect", deadline=None)
settings.load_profile("halldetect")
