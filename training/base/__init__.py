"""The verifier in the package: its data, training, evaluation and export."""
