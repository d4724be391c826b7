"""Published detectors with their own weights, and what their authors do around a pair of texts.

Sentences are those of this package; the originals use other splitters.
"""
