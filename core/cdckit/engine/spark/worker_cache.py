"""What a worker process keeps from one batch to the next, for a few queries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from cdckit.engine.runners.garbage import spare_collections

QUERIES = 4
"""How many queries' parts are kept."""


class Closable(Protocol):
    """Anything that holds resources."""

    def close(self) -> None:
        """Lets go of what it holds."""


T = TypeVar("T", bound=Closable)


class WorkerCache(Generic[T]):
    """Parts by their query's token. A worker process runs one task at a time, so a part has one user at a time."""

    def __init__(self) -> None:
        self._parts: OrderedDict[str, T] = OrderedDict()

    @contextmanager
    def use(self, token: str, make: Callable[[], T]) -> Iterator[T]:
        """The kept part, or a new one; it is closed and forgotten when its use fails or is broken off."""
        part = self._parts.pop(token, None) or self._made(make)
        try:
            yield part
        except BaseException:
            part.close()
            raise
        self._parts[token] = part
        while len(self._parts) > QUERIES:
            self._parts.popitem(last=False)[1].close()

    def _made(self, make: Callable[[], T]) -> T:
        part = make()
        spare_collections()
        return part
