"""The methods that are compared; `halldetect_bench.registry` lists them by name."""
