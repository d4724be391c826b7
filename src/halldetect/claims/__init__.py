"""Phase I: the claims of a response."""
