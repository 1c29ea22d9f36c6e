"""What drives a pipeline: its file, chain, runners, state, serializers and metrics. No plugin imports it."""
