"""Adapters for frameworks that people already use, one module each.

No module here is imported unless it is named, and each imports its framework when it is itself
imported, so `import halldetect.integrations.ragas` needs RAGAS and nothing else does.
`docs/integrations.md` has an example of each and the versions they were tested with.
"""
