"""Plain facts: right and wrong sentences that differ in one fact, to train `base` on."""
