"""Training of the large verifier: LoRA on a causal language model that reads the source once."""
