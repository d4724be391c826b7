"""How many changes to the code the tests notice; `python -m tests.mutation --help`."""
