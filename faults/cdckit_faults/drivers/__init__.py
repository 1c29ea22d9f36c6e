"""What is driven: a product's pipeline, as a process that is started, harmed and read."""
