"""The Spark sink: tables in the lake."""
