"""The source `mongodb`: a snapshot of the captured collections, then their change stream."""
