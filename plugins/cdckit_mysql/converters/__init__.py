"""Converters: what a column's values and schema become by the option `converters`."""
