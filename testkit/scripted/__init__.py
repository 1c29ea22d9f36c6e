"""A plugin for tests: a source that plays a script, a sink that fails, a transform, a predicate and a command."""
