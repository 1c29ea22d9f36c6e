"""Kept batches for workers on other machines: the driver, whose machine has the files, gives them out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from cdckit.engine.spark.inbox import Address, TaskInbox, client
from cdckit.errors import StateError

_PIECE = 1 << 20


class KeptInbox(TaskInbox):
    """The driver's end.

    Args:
        folder: where kept batches are.
        host: the driver's address for tasks.
    """

    def __init__(self, folder: Path, host: str | None) -> None:
        self._folder = folder
        super().__init__(host, "cdckit-kept")

    def hear(self, connection: Connection) -> None:
        """Gives out the file that a task asks for; nothing where it is not there."""
        name = Path(connection.recv()).name
        try:
            with (self._folder / name).open("rb") as file:
                connection.send(True)
                while piece := file.read(_PIECE):
                    connection.send_bytes(piece)
        except FileNotFoundError:
            connection.send(False)
            return
        connection.send_bytes(b"")


@contextmanager
def opened(path: Path, address: Address | None) -> Iterator[IO[bytes]]:
    """A kept batch: the file where it is on this machine, else what the driver gives.

    Raises:
        OSError: it is not there.
        StateError: the driver has gone away.
    """
    if address is None:
        with path.open("rb") as file:
            yield file
        return
    with TemporaryFile() as copy:
        try:
            _fetch(path, address, copy)
        except (EOFError, ConnectionError, AuthenticationError) as error:
            raise StateError("the driver, which keeps what the planner has read, has gone away") from error
        copy.seek(0)
        yield copy


def _fetch(path: Path, address: Address, copy: IO[bytes]) -> None:
    with client(address) as connection:
        connection.send(path.name)
        if not connection.recv():
            raise FileNotFoundError(path)
        while piece := connection.recv_bytes():
            copy.write(piece)
