"""One page of what is promised and measured: `python -m benchmarks.scoreboard`."""
