"""Texts: spans, sentences, words, word overlap, language."""
