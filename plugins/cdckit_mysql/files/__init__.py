"""Files of the binary log, read without their server."""
