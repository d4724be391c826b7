"""The models behind one load: verifiers, calibration, index, extractor."""
