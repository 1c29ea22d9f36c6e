"""OpenTelemetry: metrics and spans of a run, where it is installed and the environment asks for it."""
