"""Language models and embedders of the evaluation, and the decoder for PyTorch."""
