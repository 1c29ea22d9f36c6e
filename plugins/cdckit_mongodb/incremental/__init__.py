"""Collections read again, in chunks, while the stream is followed."""
