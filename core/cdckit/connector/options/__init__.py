"""Options that the sources of databases share."""
