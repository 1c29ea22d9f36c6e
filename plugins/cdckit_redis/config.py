"""Options of the state store `redis`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, SecretStr

from cdckit import IgnoredOptions, LocalPath, PluginConfig

_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):(?P<port>\d{1,5})")


def _address(text: str) -> str:
    if _ADDRESS.fullmatch(text) is None:
        raise ValueError("should be HOST:PORT, without redis:// before it")
    return text


class RedisStateConfig(PluginConfig):
    """Options of the state store `redis`."""

    not_yet: ClassVar[Mapping[str, str | None]] = {"redis.cluster.enabled": "false"}
    ignored_options: ClassVar[tuple[IgnoredOptions, ...]] = (
        IgnoredOptions(r"redis\.ssl\.(truststore|keystore)\.type", "the file tells what it is"),
    )

    redis_address: Annotated[str, AfterValidator(_address)]
    """The server: `host:port`."""
    redis_user: str | None = None
    """The user to log in as, where it is not the server's default one."""
    redis_password: SecretStr | None = None
    """The password."""
    redis_db_index: NonNegativeInt = 0
    """The number of the database."""
    redis_key: Annotated[str, Field(min_length=1)] = "cdckit"
    """What the names of the keys begin with: `KEY:{PIPELINE}:…`."""
    redis_ssl_enabled: bool = False
    """Whether the connection is encrypted; an authority that is trusted has to have signed the server's certificate."""
    redis_ssl_hostname_verification_enabled: bool = False
    """Whether the certificate has to be for the host of `redis.address`, too."""
    redis_ssl_truststore_path: LocalPath | None = None
    """A file with the authorities that are trusted, PEM or PKCS12; without it the system's are."""
    redis_ssl_truststore_password: SecretStr | None = None
    """The password of that file, where it has one."""
    redis_ssl_keystore_path: LocalPath | None = None
    """A file with the client's own key and certificate, PEM or PKCS12."""
    redis_ssl_keystore_password: SecretStr | None = None
    """The password of that file, where it has one."""
    redis_connection_timeout_ms: PositiveInt = 2000
    """How long to wait, in milliseconds, for a connection."""
    redis_socket_timeout_ms: PositiveInt = 2000
    """How long to wait, in milliseconds, for an answer."""
    redis_retry_initial_delay_ms: PositiveInt = 300
    """How long to wait, in milliseconds, before the second attempt where the server cannot be reached or does not take
    a save, as during a failover. Each further wait is twice as long.
    """
    redis_retry_max_delay_ms: PositiveInt = 10000
    """The longest of these waits, in milliseconds."""
    redis_retry_max_attempts: PositiveInt = 10
    """How many attempts there are; after the last one the pipeline ends."""
    redis_wait_enabled: bool = False
    """Whether each save waits for a replica that has it, too."""
    redis_wait_timeout_ms: PositiveInt = 1000
    """How long, in milliseconds."""
    redis_wait_retry_enabled: bool = False
    """What happens where no replica has a save in that time: `false` warns and goes on, as Debezium does; `true` waits
    again, up to `redis.retry.max.attempts` times, and ends the pipeline then.
    """
    redis_wait_retry_delay_ms: PositiveInt = 1000
    """How long to wait, in milliseconds, before that."""
    hold_timeout_ms: Annotated[int, Field(ge=1000)] = 10000
    """How long, in milliseconds, a pipeline holds its state without a sign of life, as when its process was killed."""

    @property
    def host(self) -> str:
        """The server's name or address."""
        return self.redis_address.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The server's port."""
        return int(self.redis_address.rpartition(":")[2])
