"""The state store `kafka`: the states of pipelines in topics."""
