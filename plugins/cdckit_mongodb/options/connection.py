"""Options: the servers, how to log in, and how long they are waited for."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field, NonNegativeInt, PositiveInt, SecretStr, model_validator

from cdckit import LocalPath
from cdckit.connector.options.logical_name import LogicalName


def authority(uri: str) -> str:
    """The part of a connection string that holds user, password and servers."""
    return uri.partition("://")[2].partition("/")[0].partition("?")[0]


class ConnectionOptions(LogicalName):
    """The servers and the connections to them."""

    mongodb_connection_string: SecretStr = SecretStr("")
    """The connection string of the replica set or of the cluster's routers, `mongodb://…` or `mongodb+srv://…`."""
    mongodb_hosts: str = ""
    """Debezium 1.9's way to name the members: `SET/host:port,host:port`."""
    internal_mongodb_allow_offset_invalidation: bool = False
    """Whether `cdc offsets import` goes on from the offsets that Debezium 2.5 or older kept of each shard when one of
    the present shards has none.
    """
    mongodb_user: str | None = None
    """The user to log in as; by default the one that the connection string names."""
    mongodb_password: SecretStr | None = None
    """The user's password."""
    mongodb_authsource: str = "admin"
    """The database that holds the user, where `mongodb.user` is given."""
    mongodb_ssl_enabled: bool = False
    """Whether connections are encrypted; the connection string can say so too (`tls=true`)."""
    mongodb_ssl_invalid_hostname_allowed: bool = False
    """Whether the server's certificate may name another host."""
    mongodb_ssl_truststore: LocalPath | None = None
    """File of the certificate authorities to trust: PEM, or a key store (PKCS12)."""
    mongodb_ssl_truststore_password: SecretStr | None = None
    """The password of that key store."""
    mongodb_ssl_keystore: LocalPath | None = None
    """File with the client's certificate and private key: PEM, or a key store (PKCS12)."""
    mongodb_ssl_keystore_password: SecretStr | None = None
    """The password of that key store, or of the private key."""
    mongodb_connect_timeout_ms: PositiveInt = 10000
    """How long to wait for a connection, in milliseconds."""
    mongodb_socket_timeout_ms: NonNegativeInt = 600000
    """How long to wait for an answer, in milliseconds; 0: without end. A change stream that finds nothing to tell of
    for longer, in an oplog that it has to catch up on, needs more.
    """
    mongodb_server_selection_timeout_ms: PositiveInt = 30000
    """How long to wait for a member that can serve, in milliseconds."""
    mongodb_heartbeat_frequency_ms: Annotated[int, Field(ge=500)] = 10000
    """How often the driver looks at each member, in milliseconds."""
    connect_backoff_initial_delay_ms: PositiveInt = 1000
    """The wait before the first new attempt while the servers cannot be reached or have no primary, in milliseconds;
    each wait is twice the one before.
    """
    connect_backoff_max_delay_ms: PositiveInt = 120000
    """The longest of these waits, in milliseconds."""
    connect_max_attempts: PositiveInt = 16
    """How many such attempts make up a round, which `errors.max.retries` counts as one attempt; with the defaults the
    waits of one add up to 20 minutes. Servers that were not reached since the start have one round.
    """

    @model_validator(mode="after")
    def _servers(self) -> Self:
        if bool(self.mongodb_connection_string.get_secret_value()) == bool(self.mongodb_hosts):
            raise ValueError("give either mongodb.connection.string or mongodb.hosts")
        if not re.match(r"mongodb(\+srv)?://", self.uri):
            raise ValueError("mongodb.connection.string should begin with mongodb:// or mongodb+srv://")
        servers, _, path = self.uri.partition("://")[2].partition("/")
        if "@" in servers.partition("?")[2] or "@" in path.partition("?")[0]:
            raise ValueError(
                "mongodb.connection.string has an @ behind the servers' names: in user and password /, ? and @ are "
                "written as %2F, %3F and %40"
            )
        return self

    @property
    def uri(self) -> str:
        """The connection string, which may hold a password."""
        if not self.mongodb_hosts:
            return self.mongodb_connection_string.get_secret_value()
        members = [member.strip().rpartition("/") for member in re.split("[,;]", self.mongodb_hosts)]
        sets = {name for name, slash, _ in members if slash}
        if len(sets) > 1:
            raise ValueError(
                f"mongodb.hosts has members of several replica sets ({', '.join(sorted(sets))}): a sharded cluster is "
                "read through its routers, which mongodb.connection.string names"
            )
        uri = f"mongodb://{','.join(host for _, _, host in members)}/"
        return f"{uri}?replicaSet={sets.pop()}" if sets else uri
