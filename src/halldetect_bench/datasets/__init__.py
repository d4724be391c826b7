"""Loaders of labelled datasets, by the form of the data; see `halldetect_bench.registry`."""
