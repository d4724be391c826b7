"""The guard: what a response asserts, and whether a claim says only what its sentence says."""
