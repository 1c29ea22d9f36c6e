"""Connections to the server: TLS, time limits, and faults told in words that say what to do."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, reduce
from typing import Any

import pymysql
from pydantic import SecretStr
from pymysql.constants import CR, ER

from cdckit import ConfigError, RetriableSourceError, SourceError
from cdckit.java.key_stores import pem_file
from cdckit.waiting import answer_of
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.options.connection import ServerOptions
from cdckit_mysql.server.clear_text_passwords import AUTHENTICATION
from cdckit_mysql.server.driver import StoppableConnection, read_deadline, set_read_deadline

Connection = pymysql.connections.Connection

log = logging.getLogger("cdckit.mysql")

Store = tuple[str, str | None]
"""A file with keys or certificates, and its password."""
_TRUSTSTORE, _KEYSTORE = "database.ssl.truststore", "database.ssl.keystore"
_LOST = frozenset(
    {
        CR.CR_CONNECTION_ERROR,
        CR.CR_CONN_HOST_ERROR,
        CR.CR_UNKNOWN_HOST,
        CR.CR_SERVER_GONE_ERROR,
        CR.CR_SERVER_LOST,
        CR.CR_SERVER_LOST_EXTENDED,
        ER.CON_COUNT_ERROR,
        ER.SERVER_SHUTDOWN,
        ER.NORMAL_SHUTDOWN,
        ER.QUERY_INTERRUPTED,
        ER.NEW_ABORTING_CONNECTION,
        ER.NET_READ_INTERRUPTED,
        ER.NET_WRITE_INTERRUPTED,
        ER.LOCK_DEADLOCK,
    }
)
"""Errors after which another attempt may succeed."""
_DENIED = frozenset(
    {
        ER.DBACCESS_DENIED_ERROR,
        ER.TABLEACCESS_DENIED_ERROR,
        ER.COLUMNACCESS_DENIED_ERROR,
        ER.SPECIFIC_ACCESS_DENIED_ERROR,
    }
)
_ADVICE = {
    CR.CR_SERVER_LOST: "; it was there and hung up, or what stands between did: check that database.port is a MySQL "
    "server's and no balancer's without one, the server's log, and its wait_timeout and max_allowed_packet",
    ER.LOCK_WAIT_TIMEOUT: "; another session holds what is asked for: SHOW PROCESSLIST and performance_schema's "
    "metadata_locks tell which. End it, wait longer (snapshot.lock.timeout.ms), or read without locks "
    "(snapshot.locking.mode=none)",
}
"""What to do, by the error's code."""
PRIVILEGES = "SELECT, RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT"
"""What the user needs on `*.*`; LOCK TABLES besides where a global read lock is refused."""
PLAIN_TEXT = (
    "gives no encrypted connection: what is read goes over the network in plain text (database.ssl.mode=preferred); "
    "set up TLS at the server and the mode to required, or to disabled where that is meant"
)


@cache
def _context(mode: str, truststore: Store | None, keystore: Store | None) -> ssl.SSLContext:
    """A TLS context; each is made once in a process.

    The machine's certificates are read, which takes 35 ms and 2 MiB, only where a server's is to be verified.
    """
    verifies = mode.startswith("verify")
    if truststore is not None:
        context = _trusting(truststore)
    else:
        context = ssl.create_default_context() if verifies else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = mode == "verify_identity"
    context.verify_mode = ssl.CERT_REQUIRED if verifies else ssl.CERT_NONE
    if keystore is not None:
        with pem_file(_KEYSTORE, *keystore) as pem, _readable(_KEYSTORE, keystore):
            context.load_cert_chain(pem, password=keystore[1])
    return context


def _trusting(store: Store) -> ssl.SSLContext:
    with pem_file(_TRUSTSTORE, *store) as pem, _readable(_TRUSTSTORE, store):
        return ssl.create_default_context(cafile=pem)


@contextmanager
def _readable(option: str, store: Store) -> Iterator[None]:
    try:
        yield
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"{option}: {store[0]} cannot be read as PEM ({error}); check {option}.password", number="CDC2601"
        ) from error


def tls_context(config: ServerOptions) -> ssl.SSLContext | None:
    """The context for a connection's TLS, or None when it is to be plain.

    Raises:
        ConfigError: a key or certificate file cannot be read.
    """
    if config.database_ssl_mode == "disabled":
        return None
    return _context(
        config.database_ssl_mode,
        _store(config.database_ssl_truststore, config.database_ssl_truststore_password),
        _store(config.database_ssl_keystore, config.database_ssl_keystore_password),
    )


def _store(path: str | None, password: SecretStr | None) -> Store | None:
    return (path, password.get_secret_value() if password else None) if path else None


_IN_THE_WAY = ("PAD_CHAR_TO_FULL_LENGTH", "TRADITIONAL", "NO_ZERO_IN_DATE", "NO_ZERO_DATE")
"""Modes that put blanks behind a CHAR that the log has not, or refuse dates which tables may hold."""
_MODE = reduce(lambda mode, name: f"REPLACE({mode}, '{name}', '')", _IN_THE_WAY, "@@SESSION.sql_mode")
_ALL_AS_STORED = (
    f"SET SESSION sql_select_limit = {(1 << 64) - 1}, "
    f"SESSION sql_mode = CONCAT({_MODE}, ',ALLOW_INVALID_DATES')"
    "/*M!100304 , SESSION system_versioning_asof = DEFAULT*/"
)
"""Whatever the server's own variables say: all rows of a SELECT, as they are now, and found by the keys that they have:
MySQL compares a column with no date that the session could not store. MariaDB alone reads the comment."""


def connect(config: MySqlConfig) -> Connection:
    """Logs in, and sets up the session to see all rows as they are, and as `database.initial.statements` say.

    Raises:
        RetriableSourceError: the server cannot be reached now.
        SourceError: it refuses.
    """
    connection = _set_up(_logged_in(config), config, (_ALL_AS_STORED,), "what sets a session up")
    return _set_up(connection, config, config.database_initial_statements, "database.initial.statements")


def connect_for_log(config: MySqlConfig) -> Connection:
    """Logs in for reading the log; raises as `connect`."""
    limits = {"net_read_timeout": config.binlog_net_read_timeout, "net_write_timeout": config.binlog_net_write_timeout}
    statements = [f"SET SESSION {name} = {seconds}" for name, seconds in limits.items() if seconds]
    connection = _logged_in(config)
    set_read_deadline(connection, _patience(config))
    return _set_up(connection, config, statements, "binlog.net.*.timeout")


def _set_up(connection: Connection, config: MySqlConfig, statements: Iterable[str], option: str) -> Connection:
    try:
        with driver_errors(config, f"running {option}"), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    except BaseException:
        release(connection)
        raise
    return connection


def _logged_in(config: MySqlConfig) -> Connection:
    with driver_errors(config):
        connection = log_in(config, StoppableConnection)
    set_read_deadline(connection, query_timeout(config))
    return connection


def log_in(config: ServerOptions, kind: type[Connection], database: str | None = None) -> Connection:
    """A connection on which every answer is due at once, as `connect.timeout.ms` says.

    Args:
        config: which server it is, and how to log in.
        kind: what it is to be.
        database: the one that statements mean that name none.

    Raises:
        ConfigError: a key or certificate file cannot be read.
        SourceError: the server refuses encryption, or asks for the password in plain text.
        pymysql.MySQLError: any other fault.
        OSError: the same.
    """
    try:
        return _connect(config, tls_context(config), kind, database)
    except pymysql.OperationalError as error:
        if config.database_ssl_mode != "preferred" or error.args[0] != CR.CR_SSL_CONNECTION_ERROR:
            raise
        _warn_of_plain_text(place(config))
        return _connect(config, None, kind, database)


@cache
def _warn_of_plain_text(server: str) -> None:
    """Once a server and process."""
    log.warning("%s %s", server, PLAIN_TEXT)


def encrypted(connection: Connection) -> bool:
    """Whether what goes over a connection is encrypted."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        _, cipher = cursor.fetchone() or ("", "")
    return bool(cipher)


def _connect(
    config: ServerOptions, context: ssl.SSLContext | None, kind: type[Connection], database: str | None
) -> Connection:
    way: dict[str, Any] = {"ssl": context} if context else {"ssl_disabled": True}
    seconds = _patience(config)
    connection = answer_of(
        lambda: kind(
            host=config.database_hostname,
            port=config.database_port,
            user=config.database_user,
            password=config.database_password.get_secret_value(),
            database=database,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=seconds,
            read_timeout=seconds,
            write_timeout=seconds,
            program_name="cdckit",
            auth_plugin_map=AUTHENTICATION,
            **way,
        )
    )
    if config.database_ssl_mode not in ("disabled", "preferred"):
        _require_encryption(connection, config)
    return connection


def query_timeout(config: MySqlConfig) -> float | None:
    """For how many seconds the server may think about a statement, or None without end."""
    return config.database_query_timeout_ms / 1000 or None


def _patience(config: ServerOptions) -> int:
    """How many seconds to wait for a server that should answer at once."""
    return max(1, config.connect_timeout_ms // 1000)


@contextmanager
def at_once(connection: Connection, config: MySqlConfig) -> Iterator[None]:
    """Takes the server for gone when it does not answer at once, as it can; it may hang."""
    before = read_deadline(connection)
    set_read_deadline(connection, _patience(config))
    try:
        yield
    finally:
        set_read_deadline(connection, before)


def _require_encryption(connection: Connection, config: ServerOptions) -> None:
    """Older drivers fall back to plain connections in silence."""
    if not encrypted(connection):
        connection.close()
        raise SourceError(
            f"{place(config)} gives no encrypted connection, but database.ssl.mode is {config.database_ssl_mode}: "
            "set up TLS at the server, or choose another mode",
            number="CDC3204",
        )


def release(connection: Connection | None) -> None:
    """Closes a connection, if there is one that is not closed yet."""
    if connection is not None and connection.open:
        connection.close()


def place(config: ServerOptions) -> str:
    """The server in messages."""
    return f"{config.database_hostname}:{config.database_port}"


@contextmanager
def driver_errors(config: ServerOptions, doing: str = "") -> Iterator[None]:
    """Turns the driver's errors into the source's.

    Args:
        config: whose server it is.
        doing: what is tried, for the message: "reading shop.t".

    Raises:
        RetriableSourceError: another attempt may succeed.
        SourceError: it will not without a change.
    """
    try:
        yield
    except pymysql.MySQLError as error:
        raise source_error(config, error, doing) from error
    except ssl.SSLError as error:
        raise SourceError(f"{place(config)}: TLS failed: {error}; check database.ssl.*", number="CDC3204") from error
    except OSError as error:
        raise RetriableSourceError(f"{place(config)}: {error}", number="CDC3201") from error


def source_error(config: ServerOptions, error: pymysql.MySQLError, doing: str = "") -> SourceError:
    """The source's error for one of the driver's."""
    code, text = (*error.args, "", "")[:2]
    during = f" while {doing}" if doing else ""
    if code == ER.ACCESS_DENIED_ERROR:
        return SourceError(
            f"{place(config)} refuses user '{config.database_user}': check database.user and database.password, "
            "and from which hosts the user may log in",
            number="CDC3202",
        )
    if code in _DENIED:
        return SourceError(
            f"{place(config)}: user '{config.database_user}' lacks a privilege{during} ({text}): "
            f"GRANT {PRIVILEGES} ON *.* TO '{config.database_user}'@'%'",
            number="CDC3203",
        )
    if code == CR.CR_CONN_HOST_ERROR:
        reason = getattr(error, "original_exception", None) or text
        return RetriableSourceError(
            f"{place(config)} cannot be reached ({reason}): check database.hostname and database.port, "
            "and that the server runs",
            number="CDC3201",
        )
    text = str(text) + _ADVICE.get(code, "")  # the driver gives bytes at times
    if "timed out" in str(text):
        text += (
            "; connect.timeout.ms says how long an answer may take that should come at once, "
            "database.query.timeout.ms how long any other"
        )
    kind = RetriableSourceError if code in _LOST else SourceError
    return kind(f"{place(config)}: error {code}{during}: {text}")
