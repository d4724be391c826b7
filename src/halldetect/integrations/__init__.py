"""Adapters for other frameworks, one module each.

Each module is imported by name only and imports its framework at once: only
`import halldetect.integrations.ragas` needs RAGAS. `docs/integrations.md` has an example of each
and the tested versions.
"""
