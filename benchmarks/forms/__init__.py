"""How much the form of an answer matters: suites of our own and the command that measures them."""
