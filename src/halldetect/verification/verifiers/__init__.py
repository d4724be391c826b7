"""Models that judge a claim against a window, one file each."""
