"""Hive's metastore, as several threads use it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, cast

from pyiceberg.catalog import Catalog

Connections = Callable[[], AbstractContextManager[Any]]


class OwnConnections:
    """Gives each thread a connection of its own, which is closed where the thread's use of it ends.

    pyiceberg has one for a catalog, on which threads would read each other's answers.

    Args:
        connect: makes a connection, which is opened by `with`.
    """

    def __init__(self, connect: Connections) -> None:
        self._connect = connect
        self._of_thread = threading.local()

    def __enter__(self) -> Any:
        connection = self._connect()
        client = connection.__enter__()
        self._of_thread.connection = connection
        return client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._of_thread.connection.__exit__(kind, error, trace)


def for_threads(catalog: Catalog) -> Catalog:
    """The catalog, a `HiveCatalog`, which threads may now use at the same time."""
    hive = cast("Any", catalog)
    hive._client = OwnConnections(lambda: hive._create_hive_client(hive.properties))
    return catalog
