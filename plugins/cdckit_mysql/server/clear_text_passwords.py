"""Servers that ask for the password itself: it goes over encrypted connections alone.

`mysql_clear_password` (MySQL manual, "Client-Side Cleartext Pluggable Authentication") and `dialog` (MariaDB knowledge
base, "Authentication Plugin - PAM"): whoever answers in the server's place could ask for it, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit import SourceError
from cdckit_mysql.server.driver import is_secure, read_answer


class DialogPassword:
    """Lets the driver answer `dialog` on an encrypted connection.

    Args:
        connection: the driver's, in the middle of its login.

    Raises:
        SourceError: it is not encrypted.
    """

    def __init__(self, connection: Any) -> None:
        if not is_secure(connection):
            raise SourceError(
                f"{connection.host}:{connection.port} asks for the password in clear text, and the connection is not "
                "encrypted: it was not sent; set up TLS at the server and database.ssl.mode to required, or give the "
                "user another authentication plugin, such as caching_sha2_password",
                number="CDC3204",
            )
        self._connection = connection


class ClearPassword(DialogPassword):
    """Answers `mysql_clear_password`; raises as its base does."""

    def authenticate(self, _packet: object) -> Any:
        """Sends the password; gives the server's answer."""
        connection = self._connection
        connection.write_packet(connection.password + b"\0")
        return read_answer(connection)


AUTHENTICATION: dict[str, Callable[[Any], Any]] = {"mysql_clear_password": ClearPassword, "dialog": DialogPassword}
"""The driver's `auth_plugin_map`."""
