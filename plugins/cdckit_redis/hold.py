"""Who holds a pipeline's state: the process that two keys name.

The one, `alive`, goes away by itself unless its holder renews it: it says who may begin. The other one, `hold`, stays
until another process takes the state: each save looks at it in the same moment in which it saves, so that a holder
that was followed by another saves nothing more, however late it hears of that.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cdckit import StateError, StateHeldError
from cdckit.waiting import ended_by_stop
from cdckit_redis.connection import Execute, RedisConnection
from cdckit_redis.keys import Keys

log = logging.getLogger("cdckit.redis")

Word = str | bytes | int
Command = Sequence[Word]

_CHANGE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.call('GET', KEYS[1]) or '' end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
local at = 3
while ARGV[at] do
  local last = at + tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return false
"""
"""Runs commands for the holder, of each first how many words it has, and renews its sign of life; for anybody else it
gives who holds the state now. Redis runs a script as a whole, with nothing of others between.
"""
_TAKE = """
local other = redis.call('GET', KEYS[2])
if other then return {other, redis.call('PTTL', KEYS[2])} end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return false
"""
"""Takes the hold, or tells who has it, and for how many milliseconds without another sign of life."""
_END = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1], KEYS[2]) end
"""
_LOOK = 0.1
"""How often, in seconds, to look whether another process is still there."""


class Hold:
    """The hold on a pipeline's state, kept by signs of life from here on.

    One that was killed is given the time in which its sign of life goes away.

    Args:
        connection: leads to the server.
        keys: the pipeline's.
        pipeline: its name.

    Raises:
        StateHeldError: another process has it, and lives.
        StateError: it cannot be taken.
    """

    def __init__(self, connection: RedisConnection, keys: Keys, pipeline: str) -> None:
        self._connection = connection
        self._keys = keys
        self._pipeline = pipeline
        self._timeout = connection.config.hold_timeout_ms
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        by = f"process {os.getpid()} on {socket.gethostname()}"
        self._token = json.dumps({"holder": uuid.uuid4().hex, "by": by, "since": now}).encode()
        self._ended = threading.Event()
        self._lost: StateError | None = None
        self._wait_for_others()
        threading.Thread(target=self._live, name="state-hold", daemon=True).start()

    def _wait_for_others(self) -> None:
        waited_for: bytes = b""
        left = 0
        while found := self._run("taking hold", (*self._script(_TAKE), self._timeout)):
            other, remains = found
            if other == self._token:  # it was taken, and the answer was lost
                return
            # Time left that grows is a sign of life; a holder without an end of time is none of this program's; and
            # another one than at first has come in between.
            if remains < 0 or (other == waited_for and remains > left) or (waited_for and other != waited_for):
                raise self._held(other)
            if not waited_for:
                log.info("waiting up to %.0f s for %s to let go of the state", remains / 1000, _shown(other))
            waited_for, left = other, remains
            with ended_by_stop():
                time.sleep(_LOOK)

    def _script(self, script: str) -> Command:
        """The words that begin a script's call."""
        return "EVAL", script, 2, self._keys.hold, self._keys.alive, self._token

    def _run(self, doing: str, command: Command, attempts: int | None = None) -> Any:
        return self._connection.run(doing, lambda execute: execute(*command), attempts)

    def _held(self, token: bytes) -> StateHeldError:
        return StateHeldError(
            f"the state of '{self._pipeline}' in Redis at {self._connection.place} is held by {_shown(token)}: stop "
            "that one, or give this pipeline a name of its own; a process that is gone lets go within its "
            "hold.timeout.ms"
        )

    def change(self, doing: str, commands: Sequence[Command], attempts: int | None = None) -> None:
        """Runs commands in one step, if the state is still held.

        Args:
            doing: what they are for, as messages tell it.
            commands: the words of each.
            attempts: how often to try; by default as often as the options say.

        Raises:
            StateError: it is not, or they fail; none of them was run then, unless the connection was lost.
        """
        self.require()
        words = [word for command in commands for word in (len(command), *command)]
        call = (*self._script(_CHANGE), self._timeout, *words)

        def run(execute: Execute) -> bytes | None:
            # Looking and saving are one script: between a GET and a SET another process could take the state, and this
            # one would save beside it.
            other: bytes | None = execute(*call)
            if other is None and commands:
                self._wait_for_replica(execute)
            return other

        other = self._connection.run(doing, run, attempts)
        if other is not None:
            self._lost = self._lost or self._loss(other)
            raise self._lost

    def require(self) -> None:
        """Makes sure that the hold was not found lost.

        Raises:
            StateError: it was.
        """
        if self._lost is not None:
            raise self._lost

    def _wait_for_replica(self, execute: Execute) -> None:
        config = self._connection.config
        if not config.redis_wait_enabled:
            return
        attempts = config.redis_retry_max_attempts if config.redis_wait_retry_enabled else 1
        for attempt in range(1, attempts + 1):
            if execute("WAIT", 1, config.redis_wait_timeout_ms):
                return
            log.warning(
                "state store, Redis at %s: no replica has the save after %d ms (redis.wait.timeout.ms)",
                self._connection.place,
                config.redis_wait_timeout_ms,
            )
            if attempt < attempts:
                self._connection.wait(config.redis_wait_retry_delay_ms)
        if config.redis_wait_retry_enabled:
            raise StateError(
                f"state store, Redis at {self._connection.place}: no replica had a save after {attempts} times "
                f"{config.redis_wait_timeout_ms} ms: look at the server's replication, or set "
                "state.redis.wait.enabled to false",
                number="CDC7301",
            )

    def _loss(self, token: bytes) -> StateError:
        whose = f"{_shown(token)} holds it" if token else f"the key {self._keys.hold} is gone"
        return StateError(
            f"state store, Redis at {self._connection.place}: the hold on the state of '{self._pipeline}' was lost "
            f"({whose}), and nothing more is saved: check that the server keeps what it is told, and start the "
            "pipeline again; it goes on from what was saved",
            number="CDC7302",
        )

    def _live(self) -> None:
        # Three signs within the time: one may get lost.
        while not self._ended.wait(self._timeout / 3000):
            try:
                self.change("giving a sign of life", (), attempts=1)
            except StateError as error:
                if not self._ended.is_set():
                    log.warning("%s", error)
                if self._lost is not None:
                    return

    def end(self) -> None:
        """Lets go, as far as the server can be told."""
        self._ended.set()
        if self._lost is None:
            self._run("letting go", self._script(_END), attempts=1)


def _shown(token: bytes) -> str:
    """Who that is."""
    try:
        found = json.loads(token)
        return f"{found['by']} since {found['since']} UTC"
    except (KeyError, TypeError, ValueError):
        return "another process"
