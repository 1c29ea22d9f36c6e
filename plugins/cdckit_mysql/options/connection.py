"""Options: the server and how to log in, or the log files that are read instead."""

from __future__ import annotations

import random
import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, NonNegativeInt, PositiveInt, SecretStr, model_validator

from cdckit import LocalPath, PluginConfig
from cdckit.connector.options.logical_name import LogicalName

_SSL_MODES = {
    "disable": "disabled",
    "trust": "required",
    "verify-ca": "verify_ca",
    "verify-full": "verify_identity",
}

_PLACE = re.compile(r"(?P<file>[^:/\s]+)(?::(?P<pos>\d+))?")

SslMode = Annotated[
    Literal["disabled", "preferred", "required", "verify_ca", "verify_identity"],
    BeforeValidator(lambda value: _SSL_MODES.get(value, value)),
]


def _split_statements(value: object) -> object:
    """The statements of a text, in which `;;` stands for a semicolon that ends none."""
    if not isinstance(value, str):
        return value
    parts = (part.replace("\0", ";").strip() for part in value.replace(";;", "\0").split(";"))
    return tuple(part for part in parts if part)


Statements = Annotated[tuple[str, ...], BeforeValidator(_split_statements)]


def _without_login(host: str) -> str:
    if "@" in host or "/" in host:
        raise ValueError("should be a host's name or address alone: the user, password and port have their own options")
    return host


HostName = Annotated[str, AfterValidator(_without_login)]


def random_server_id() -> int:
    """One of those that Debezium's connector takes where none is given."""
    return random.randint(5400, 6400)  # noqa: S311 - an address, no secret


def server_id_beside(taken: int) -> int:
    """One for a reading beside a pipeline: none of `random_server_id`'s, and not the one that is taken."""
    return random.choice([number for number in range(6401, 7401) if number != taken])  # noqa: S311 - as above


def split_place(text: str) -> tuple[str, int | None]:
    """The file and the position of `FILE:POS`; None for the position of `FILE` alone.

    Raises:
        ValueError: it is neither.
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' does not look like binlog.000012 or binlog.000012:157")
    return found["file"], int(found["pos"]) if found["pos"] else None


def _checked(text: str) -> str:
    if text:
        split_place(text)
    return text


LogPlaceText = Annotated[str, AfterValidator(_checked)]
"""`FILE` or `FILE:POS`; empty for none."""


class ServerOptions(PluginConfig):
    """A server, and how to log in there."""

    database_hostname: HostName = "localhost"
    """The server's host name or address."""
    database_port: Annotated[int, Field(ge=1, le=65535)] = 3306
    """The server's TCP port."""
    database_user: str = ""
    """The user to log in as; not needed where `binlog.files` names files to read."""
    database_password: SecretStr = SecretStr("")
    """The user's password."""
    database_ssl_mode: SslMode = "preferred"
    """`disabled`, `preferred` (encrypted when the server can), `required`, `verify_ca` (its certificate is checked),
    `verify_identity` (the host's name too).
    """
    database_ssl_truststore: LocalPath | None = None
    """File of the certificate authorities to trust: PEM, or a key store (PKCS12)."""
    database_ssl_truststore_password: SecretStr | None = None
    """The password of that key store."""
    database_ssl_keystore: LocalPath | None = None
    """File with the client's certificate and private key: PEM, or a key store (PKCS12)."""
    database_ssl_keystore_password: SecretStr | None = None
    """The password of that key store, or of the private key."""
    connect_timeout_ms: PositiveInt = 30000
    """How long to wait for a connection, and for answers that a server gives at once, in milliseconds."""


class ConnectionOptions(ServerOptions, LogicalName):
    """The server and the connections to it, or files of its log."""

    database_server_id: Annotated[int, Field(ge=1, le=4294967295, default_factory=random_server_id)]
    """The number under which the pipeline reads the log as a replica would; no other replica may have it.

    By default a random number from 5400 to 6400.
    """
    database_server_id_offset: PositiveInt = 10000
    """How far apart the server ids are when several processes read the log at the same time (Spark): piece n of a batch
    is read under `database.server.id` plus n times this, and another attempt at it half as far further on.
    """
    database_initial_statements: Statements = ()
    """Statements that set up each session but the log's, with `;` between them; `;;` is a semicolon within one."""
    binlog_net_read_timeout: NonNegativeInt = 0
    """The log session's `net_read_timeout`, in seconds; 0: the server's default."""
    binlog_net_write_timeout: NonNegativeInt = 0
    """The log session's `net_write_timeout`, in seconds; 0: the server's default."""
    database_query_timeout_ms: NonNegativeInt = 600000
    """How long to wait for the server's next answer where it may have to work for it, as it does in a snapshot, in
    milliseconds; 0: without end.
    """
    connect_keep_alive_interval_ms: PositiveInt = 60000
    """A log connection that is silent for longer than this, in milliseconds, is taken for dead and opened anew."""
    binlog_files: LocalPath = ""
    """Files of a binary log that are read instead of a server: a path or glob pattern, local or an URL that fsspec
    knows (`s3://archive/binlog.*`). The pipeline ends where the files end.
    """
    binlog_files_start: LogPlaceText = ""
    """Where a pipeline without an offset begins to read them, as `FILE` or `FILE:POS`; by default with the first."""
    binlog_files_stop: LogPlaceText = ""
    """Behind which place, as `FILE` or `FILE:POS`, nothing is read; by default the end of the last file."""

    @model_validator(mode="after")
    def _a_server_or_files(self) -> Self:
        if not (self.database_user or self.binlog_files):
            raise ValueError("database.user is needed, unless binlog.files names files to read")
        return self

    @model_validator(mode="after")
    def _places_in_files(self) -> Self:
        for option in ("start", "stop"):
            if getattr(self, f"binlog_files_{option}") and not self.binlog_files:
                raise ValueError(f"binlog.files.{option} is a place in files, but binlog.files names none")
        return self
