"""The sink `delta`: Delta tables in a lake, kept by the direct runner without a JVM."""
