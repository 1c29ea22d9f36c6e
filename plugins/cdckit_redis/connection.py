"""The connection of the state store `redis`: attempts, and faults told as the store's."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

import redis
from pydantic import SecretStr
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ClusterError,
    ConnectionError as LostError,
    MasterDownError,
    NoPermissionError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError as SilentError,
)
from redis.retry import Retry

from cdckit import StateError
from cdckit.java.key_stores import pem_file
from cdckit.waiting import ended_by_stop
from cdckit_redis.config import RedisStateConfig

log = logging.getLogger("cdckit.redis")

Answer = TypeVar("Answer")
Execute = Callable[..., Any]
"""Takes a command's words, gives its answer."""

_REFUSED = (AuthenticationError, AuthorizationError)
_PASSING = (LostError, SilentError, OSError, ReadOnlyError, MasterDownError)
"""Faults after which another attempt may succeed, be it with the server that takes this one's place."""
_PASSING_ANSWERS = ("READONLY", "NOREPLICAS")
"""What the answers of such servers have in them that the client does not tell apart, or that come out of a script."""


class RedisConnection:
    """One connection, on which threads take turns; it is made anew where it was lost.

    Args:
        config: where the server is.

    Attributes:
        opening: a stop ends the waits between attempts. Later a save may be behind them.
    """

    def __init__(self, config: RedisStateConfig) -> None:
        self.config = config
        self.place = f"{config.redis_address}, database {config.redis_db_index}"
        self.opening = True
        self._turn = threading.RLock()
        self._client: redis.Redis | None = None

    def run(self, doing: str, commands: Callable[[Execute], Answer], attempts: int | None = None) -> Answer:
        """What commands give; all of them are run again where the connection is lost between them.

        Args:
            doing: what they are for, as messages tell it.
            commands: runs them.
            attempts: how often; by default as often as the options say.

        Raises:
            StateError: they fail, and more attempts would not help, or there are none left.
            ConfigError: a key or certificate file cannot be read.
        """
        with self._turn:
            delay = self.config.redis_retry_initial_delay_ms
            most = attempts or self.config.redis_retry_max_attempts
            for attempt in range(1, most + 1):
                try:
                    return commands(self._connected().execute_command)
                except (RedisError, OSError) as error:
                    self.close()
                    if attempt == most or not _may_pass(error):
                        raise self._state_error(error, doing) from error
                    log.warning("%s; attempt %d follows in %d ms", self._state_error(error, doing), attempt + 1, delay)
                self.wait(delay)
                delay = min(2 * delay, self.config.redis_retry_max_delay_ms)
            raise AssertionError("there is at least one attempt")

    def wait(self, milliseconds: int) -> None:
        """Waits before another attempt."""
        patience: AbstractContextManager[object] = ended_by_stop() if self.opening else nullcontext()
        with patience:
            time.sleep(milliseconds / 1000)

    def _connected(self) -> redis.Redis:
        if self._client is None:
            with ExitStack() as files:
                self._client = self._open(self._tls(files))
        return self._client

    def _open(self, tls: dict[str, Any]) -> redis.Redis:
        """A client that makes one connection, at once, and no other in its place."""
        config = self.config
        answer_ms = config.redis_socket_timeout_ms + (config.redis_wait_timeout_ms if config.redis_wait_enabled else 0)
        return redis.Redis(
            host=config.host,
            port=config.port,
            db=config.redis_db_index,
            username=config.redis_user,
            password=_revealed(config.redis_password),
            socket_connect_timeout=config.redis_connection_timeout_ms / 1000,
            socket_timeout=answer_ms / 1000,
            socket_keepalive=True,
            retry=Retry(NoBackoff(), 0),
            single_connection_client=True,
            protocol=2,
            **tls,
        )

    def _tls(self, files: ExitStack) -> dict[str, Any]:
        """The client's options of TLS; the files that they name are there as long as `files` is open."""
        config = self.config
        if not config.redis_ssl_enabled:
            return {}
        found: dict[str, Any] = {"ssl": True, "ssl_check_hostname": config.redis_ssl_hostname_verification_enabled}
        if config.redis_ssl_truststore_path:
            password = config.redis_ssl_truststore_password
            found["ssl_ca_certs"] = _pem(files, "truststore", config.redis_ssl_truststore_path, password)
        if config.redis_ssl_keystore_path:
            password = config.redis_ssl_keystore_password
            pem = _pem(files, "keystore", config.redis_ssl_keystore_path, password)
            found |= {"ssl_certfile": pem, "ssl_keyfile": pem, "ssl_password": _revealed(password) or ""}
        return found

    def _state_error(self, error: Exception, doing: str) -> StateError:
        """A fault, with the server and what may help."""
        return StateError(
            f"state store, Redis at {self.place}: {doing} failed: {error}; {self._advice(error)}", number="CDC7301"
        )

    def _advice(self, error: Exception) -> str:
        if isinstance(error, _REFUSED):
            return "check state.redis.user and state.redis.password"
        if isinstance(error, NoPermissionError):
            user = self.config.redis_user or "default"
            return f"let user '{user}' do that: docs/pipeline-file.md lists what the store needs (ACL SETUSER)"
        if isinstance(error, ClusterError):
            return "a server that shares its keys with others (Redis Cluster) cannot be used here"
        if not _may_pass(error):
            return "check the server's log, and state.redis.db.index"
        if isinstance(error, ResponseError):
            return "the server takes no saves: look at its replication and its log"
        others = "the TLS files in state.redis.ssl.*" if self.config.redis_ssl_enabled else "state.redis.ssl.enabled"
        return f"check that it runs, state.redis.address and {others}"

    def close(self) -> None:
        """Ends the connection; the next command makes another one."""
        with self._turn:
            client, self._client = self._client, None
            if client is not None:
                with suppress(RedisError, OSError):
                    client.close()
                    client.connection_pool.disconnect()


def _may_pass(error: Exception) -> bool:
    """Whether another attempt may succeed."""
    if isinstance(error, _REFUSED):
        return False
    return isinstance(error, _PASSING) or any(word in str(error) for word in _PASSING_ANSWERS)


def _pem(files: ExitStack, store: str, path: Path | str, password: SecretStr | None) -> str:
    return files.enter_context(pem_file(f"state.redis.ssl.{store}", str(path), _revealed(password)))


def _revealed(password: SecretStr | None) -> str | None:
    return None if password is None else password.get_secret_value()
