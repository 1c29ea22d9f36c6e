"""What is wrong with a pipeline, and what will go wrong: gathered from its parts, put by how much it matters."""
