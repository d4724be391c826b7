"""The effect of an answer's form: our own suites and the command that measures them."""
