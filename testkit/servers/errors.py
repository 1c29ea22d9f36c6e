"""What can go wrong between a test and the server it needs."""


class ServerUnavailableError(RuntimeError):
    """No installation of a server was found and none could be made; the message says what to do."""


class ServerStartError(RuntimeError):
    """A server ended or stayed silent while it should have come up; the message holds the end of its log."""
