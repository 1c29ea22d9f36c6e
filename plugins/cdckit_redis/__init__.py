"""The state store `redis`: the states of pipelines in a Redis or Valkey server."""
