"""The guarding proxy: the chat messages it reads and changes, and the upstream it calls."""
