"""Pages of the docs, run as their readers run them."""
