"""Decoders: one for each protocol, from messages to events."""
