"""Spark: the Python Data Source `cdckit`, and what the Spark runner is made of."""
