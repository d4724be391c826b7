"""Conversations with tool calls: messages, turns with their sources, and rules about them."""
