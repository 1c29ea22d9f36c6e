"""Records kept as lines, and chains tried on them: what each step does, and the cases of a pipeline file."""
