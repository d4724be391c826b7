"""Guard a response while it is written: judge each sentence before it is passed on."""
