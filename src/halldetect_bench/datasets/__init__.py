"""Loaders of labelled datasets, one module per dataset; see `halldetect_bench.registry`."""
