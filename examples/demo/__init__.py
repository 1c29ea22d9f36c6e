"""The main job from end to end, as `make demo` runs it."""
