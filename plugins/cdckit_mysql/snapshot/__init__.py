"""Tables as they are now: at one consistent point, or in chunks which the log completes."""
