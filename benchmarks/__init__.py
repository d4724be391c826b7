"""Measurements that the documentation quotes; each module is a command of its own."""
