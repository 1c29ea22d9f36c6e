"""Metrics and status: what the lifecycle hooks tell, added up, and shown to people and to Prometheus."""
