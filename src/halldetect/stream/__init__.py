"""Guarding a response while it is written: each sentence is judged before it is passed on."""
