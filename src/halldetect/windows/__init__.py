"""Phase II: the windows of a source."""
