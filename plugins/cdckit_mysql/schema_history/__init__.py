"""The definitions of tables at positions of the log."""
