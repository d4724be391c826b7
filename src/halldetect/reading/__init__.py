"""Reading of texts: spans, sentences, words, word overlap, language."""
