"""The evaluation: datasets, methods, metrics and the runs that join them."""
