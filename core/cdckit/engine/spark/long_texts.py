"""Messages as bytes, in which a long text that was sent before is a number.

Each notification of a snapshot names all of its tables: those of thousands of tables would be hundreds of megabytes.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

_LONG = 8192
"""A text of at least so many characters is worth a number."""
_MOST = 64
"""So many long texts have one at the most: whoever receives them keeps them."""


class SentTexts:
    """Writes the messages of one sender to one receiver."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def dumps(self, message: Any) -> bytes:
        """A message, for `ReceivedTexts`."""
        buffer, known = io.BytesIO(), len(self._numbers)
        _Pickler(buffer, self._numbers).dump(message)
        return pickle.dumps((list(self._numbers)[known:], buffer.getvalue()), pickle.HIGHEST_PROTOCOL)


class ReceivedTexts:
    """Reads them, in the order in which they were written."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def loads(self, data: bytes) -> Any:
        """A message that `SentTexts` has written."""
        new, message = pickle.loads(data)  # noqa: S301 - this project's own process wrote it
        self._texts += new
        return _Unpickler(io.BytesIO(message), self._texts).load()


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, numbers: dict[str, int]) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._numbers = numbers

    def persistent_id(self, obj: Any) -> int | None:
        if type(obj) is not str or len(obj) < _LONG:
            return None
        if obj not in self._numbers and len(self._numbers) < _MOST:
            self._numbers[obj] = len(self._numbers)
        return self._numbers.get(obj)


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, texts: list[str]) -> None:
        super().__init__(buffer)
        self._texts = texts

    def persistent_load(self, pid: int) -> str:
        return self._texts[pid]
