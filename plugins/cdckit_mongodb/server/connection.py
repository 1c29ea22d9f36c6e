"""Connections to a replica set or a sharded cluster."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

from bson import CodecOptions, DatetimeConversion
from bson.codec_options import TypeRegistry
from bson.errors import BSONError
from pydantic import SecretStr
from pymongo import MongoClient, timeout
from pymongo.errors import ConfigurationError, ConnectionFailure, InvalidURI, OperationFailure, PyMongoError
from pymongo.monitoring import ServerHeartbeatListener
from pymongo.server_description import ServerDescription

from cdckit import ConfigError, DecodeError, RetriableSourceError, SourceError
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.java.key_stores import pem_file
from cdckit.waiting import answer_of, ended_by_stop
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.extended_json import DoubleDecoder
from cdckit_mongodb.options.connection import authority
from cdckit_mongodb.server.one_server import OneServer

log = logging.getLogger("cdckit.mongodb")

_FAREWELL = 1.0
"""Seconds in which a client that ends tells its servers of it."""

Client = MongoClient[dict[str, Any]]

CODEC: CodecOptions[dict[str, Any]] = CodecOptions(
    document_class=dict,
    tz_aware=False,
    datetime_conversion=DatetimeConversion.DATETIME_AUTO,
    unicode_decode_error_handler="replace",
    type_registry=TypeRegistry([DoubleDecoder()]),
)
"""How documents are decoded: dates in UTC, of whatever year; broken UTF-8 with U+FFFD, as by Java's driver; doubles
marked that Java writes in a way of its own.
"""

UNREADABLE: tuple[type[Exception], ...] = (*DAMAGE, BSONError)
"""What reading an answer that is damaged may end in."""
_SHOWN = 32
"""So many bytes of an answer that cannot be understood are shown."""
_REFUSED_LOGIN = 18
_NO_SUCH_USER = 11
_NOT_ALLOWED = 13
_PASSING = frozenset(
    {6, 7, 43, 50, 63, 89, 91, 133, 134, 189, 234, 262, 317, 9001, 10107, 11600, 11602, 13388, 13435, 13436}
)
"""Codes after which a change stream is resumed, or a reading repeated (MongoDB's specifications "Change Streams",
"Resumable Error", and "Retryable Reads", "Retryable Error")."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a connection string leads to.

    Attributes:
        kind: a replica set, or a sharded cluster behind routers.
        name: the replica set's; "" for a sharded cluster.
        version: the server's, such as `(6, 0, 27)`.
    """

    kind: Literal["replica set", "sharded cluster"]
    name: str
    version: tuple[int, ...]


class OneRouter:
    """Leads all commands through one router of a sharded cluster, as long as it is there: the one that answers fastest.

    Members of a replica set are chosen by other means.
    """

    def __init__(self) -> None:
        self._one = OneServer()

    def __call__(self, servers: Sequence[ServerDescription]) -> Sequence[ServerDescription]:
        """One of the servers that may serve a command, as the driver asks; all of them where they are no routers."""
        if not all(server.server_type_name == "Mongos" for server in servers):
            return servers
        return self._one.kept(servers) or self._one.chosen(servers)


def connect(config: MongoDbConfig, *listeners: ServerHeartbeatListener) -> Client:
    """A client; it connects when it is used.

    Args:
        config: the source's options.
        listeners: told of what the client sees of the servers.

    Raises:
        ConfigError: the connection string or an option of it cannot be, or a file with keys or certificates cannot be
            read.
        RetriableSourceError: the names of a mongodb+srv:// string's servers cannot be asked for now.
    """
    options: dict[str, Any] = {
        "appname": "cdckit",
        "event_listeners": listeners,
        "server_selector": OneRouter(),
        "connectTimeoutMS": config.mongodb_connect_timeout_ms,
        "socketTimeoutMS": config.mongodb_socket_timeout_ms or None,
        "serverSelectionTimeoutMS": config.mongodb_server_selection_timeout_ms,
        "heartbeatFrequencyMS": config.mongodb_heartbeat_frequency_ms,
    }
    if config.mongodb_user is not None:
        password = config.mongodb_password
        options["username"] = config.mongodb_user
        options["password"] = None if password is None else password.get_secret_value()
        options["authSource"] = config.mongodb_authsource
    with ExitStack() as files:
        options |= _tls(config, files)
        return _made(config, options)


def end(client: Client) -> None:
    """Lets a client's connections go. Servers that do not answer are not waited for as long as its options say."""
    # It asks them to forget its sessions, which they do by themselves half an hour later.
    with timeout(_FAREWELL):
        client.close()


def _made(config: MongoDbConfig, options: Mapping[str, Any]) -> Client:
    """The client. Options in the connection string that the driver passes over are told of."""
    option = "mongodb.hosts" if config.mongodb_hosts else "mongodb.connection.string"
    try:
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            client: Client = answer_of(lambda: MongoClient(config.uri, **options))
    except (ConfigurationError, InvalidURI, ValueError, TypeError, OSError) as error:
        if _name_servers_are_away(error.__cause__):
            raise RetriableSourceError(
                f"{place(config)}: its servers' names cannot be asked for: {error}", number="CDC3201"
            ) from error
        raise ConfigError(f"source.{option} cannot be used: {error}") from None
    for doubt in doubts:
        log.warning("%s: %s", option, doubt.message)
    return client


def _name_servers_are_away(error: BaseException | None) -> bool:
    """Whether it is they who gave no answer, not one that there is no such name."""
    from dns.exception import DNSException  # noqa: PLC0415 - only names that are asked for need it
    from dns.resolver import NXDOMAIN, NoAnswer  # noqa: PLC0415

    return isinstance(error, DNSException) and not isinstance(error, NXDOMAIN | NoAnswer)


def _tls(config: MongoDbConfig, files: ExitStack) -> dict[str, Any]:
    """The driver's options; files that it reads while the client is made last as long as `files`."""
    if not config.mongodb_ssl_enabled:
        return {}
    trusted, own = config.mongodb_ssl_truststore_password, config.mongodb_ssl_keystore_password
    given = {
        "tls": True,
        "tlsAllowInvalidHostnames": config.mongodb_ssl_invalid_hostname_allowed,
        "tlsCAFile": _pem(files, "mongodb.ssl.truststore", config.mongodb_ssl_truststore, trusted),
        "tlsCertificateKeyFile": _pem(files, "mongodb.ssl.keystore", config.mongodb_ssl_keystore, own),
        "tlsCertificateKeyFilePassword": None if own is None else own.get_secret_value(),
    }
    return {name: value for name, value in given.items() if value is not None}


def _pem(files: ExitStack, option: str, path: str | None, password: SecretStr | None) -> str | None:
    if path is None:
        return None
    return files.enter_context(pem_file(option, path, password.get_secret_value() if password else None))


def place(config: MongoDbConfig) -> str:
    """The servers' names for messages, without user and password."""
    return authority(config.uri).rpartition("@")[2]


@contextmanager
def driver_errors(config: MongoDbConfig, doing: str, grant: str = "", *, waits: bool = True) -> Iterator[None]:
    """Turns the driver's errors into this program's.

    Args:
        config: the source's options.
        doing: what is done, for messages.
        grant: what to do where the user may not; "": grant what snapshot and stream need.
        waits: whether all that is done within is to wait for the servers, which a stop ends.

    Raises:
        RetriableSourceError: the server is away, or is not the primary any more.
        SourceError: it refuses.
        DecodeError: what it answers cannot be understood.
    """
    try:
        with ended_by_stop() if waits else nullcontext():
            yield
    except OperationFailure as error:
        raise _refusal(error, config, doing, grant) from error
    except ConnectionFailure as error:
        raise RetriableSourceError(f"{place(config)}, {doing}: {reason(error)}", number="CDC3201") from error
    except PyMongoError as error:
        raise SourceError(f"{place(config)}, {doing}: {error}") from error
    except UNREADABLE as error:
        raise misread(config, doing, error) from error


def misread(config: MongoDbConfig, doing: str, error: Exception, answer: bytes = b"") -> DecodeError:
    """The error for an answer that cannot be understood.

    Args:
        config: the source's options.
        doing: what was done, and where.
        error: what reading the answer has raised.
        answer: the answer's bytes, as far as they are known.
    """
    shown = f" ({len(answer)} bytes, {answer[:_SHOWN].hex(' ')})" if answer else ""
    return DecodeError(f"{place(config)}, {doing}: the answer{shown} cannot be understood: {reason_of(error)}")


def _refusal(error: OperationFailure, config: MongoDbConfig, doing: str, grant: str) -> SourceError:
    said = (error.details or {}).get("errmsg") or str(error)
    where = f"{place(config)}, {doing}: {said}"
    if error.code in _PASSING or error.has_error_label("ResumableChangeStreamError"):
        return RetriableSourceError(where)
    if error.code == _REFUSED_LOGIN:
        return SourceError(f"{where}; check mongodb.user, mongodb.password and mongodb.authsource", number="CDC3202")
    if error.code == _NO_SUCH_USER:
        return SourceError(
            f"{where}; create it, for X.509 in $external with the certificate's subject as its name", number="CDC3202"
        )
    if error.code == _NOT_ALLOWED:
        return SourceError(
            f"{where}; {grant or f'grant the user what capture.scope={config.capture_scope} needs'}", number="CDC3203"
        )
    return SourceError(where)


def is_not_allowed(error: SourceError) -> bool:
    """Whether the user lacks a right."""
    return isinstance(error.__cause__, OperationFailure) and error.__cause__.code == _NOT_ALLOWED


def reason(error: Exception) -> str:
    """What the driver says, without its description of the whole topology and of timeouts that did not pass."""
    said = str(error).partition(", Timeout:")[0].partition(", Topology Description:")[0]
    return said if "timed out" in said else said.partition(" (configured timeouts:")[0]


def read_cluster(client: Client, config: MongoDbConfig) -> Cluster:
    """What the servers say of themselves.

    Raises:
        RetriableSourceError: none can be reached, or is initiated.
        SourceError: it is a server alone, which has no oplog.
    """
    with driver_errors(config, "connecting"):
        hello = client.admin.command("hello")
        version = tuple(client.server_info()["versionArray"][:3])
    if hello.get("msg") == "isdbgrid":
        return Cluster("sharded cluster", "", version)
    if hello.get("isreplicaset"):
        raise RetriableSourceError(
            f"{place(config)} is not initiated as a member of a replica set: rs.initiate() does that", number="CDC3303"
        )
    if "setName" not in hello:
        raise SourceError(
            f"{place(config)} is a server alone, without an oplog, so it has no change stream: "
            "start it with --replSet and initiate a replica set of one member",
            number="CDC3303",
        )
    return Cluster("replica set", hello["setName"], version)
