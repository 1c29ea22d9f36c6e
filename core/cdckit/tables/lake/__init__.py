"""What sinks of tables in a lake share, whatever the format, where the process that has the rows writes them."""
