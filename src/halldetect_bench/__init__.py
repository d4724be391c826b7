"""The evaluation: datasets, methods, metrics and runs."""
