"""The sink `iceberg`: Iceberg tables in a catalog, kept by the direct runner without a JVM."""
