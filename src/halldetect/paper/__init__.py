"""The exact method of the paper: one module per phase, and `method` for their order.

Oukelmoun and Semmar, *Decomposed Entailment for Factuality Checking and Hallucination Detection*.
A language model writes the claims (`extract`), the source is cut at five scales (`windows`), every
claim is judged against every window (`contrast`), and the scores become one number (`fed`).
"""
