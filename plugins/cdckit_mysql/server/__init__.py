"""The server beside its log: connections, what it says of itself, rights, readiness."""
