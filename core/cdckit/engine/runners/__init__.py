"""Runners: who drives a pipeline."""
