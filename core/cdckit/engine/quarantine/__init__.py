"""Records that cannot be delivered: left out, or kept until they can be."""
