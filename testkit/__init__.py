"""What tests, demo and benchmarks share: real servers, pipelines run by the command, a scripted source."""
