"""Transforms (SMTs): one module each."""
