"""Sums over the rows that a pipeline has told of: a third witness beside the source and the sink."""
