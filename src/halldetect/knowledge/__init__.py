"""Knowledge: a searchable index of documents that claims are checked against.

`readers` reads files, `passages` cuts them, `builder` keeps the index, `index` searches it.
"""
