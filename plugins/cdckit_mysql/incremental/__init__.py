"""Tables read again while the log is followed, as signals ask for it."""
