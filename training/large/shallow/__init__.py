"""The large verifier with fewer layers, narrower layers and a shorter question."""
