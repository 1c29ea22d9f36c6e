"""What tests of the stores share that one process at a time holds a state of: saves, refusals, and waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from cdckit import HistoryEntry, StateBackend, StateError, StateHeldError, StateStore

Save = Callable[[StateStore], None]
SAVES: Mapping[str, Save] = {
    "offset": lambda store: store.save_offset({"n": 2}),
    "value": lambda store: store.put("a", 2),
    "entries": lambda store: store.append_history("h", [HistoryEntry("2", 2)]),
    "history": lambda store: store.replace_history("h", []),
}
REMOVAL: Mapping[str, Save] = {"removal": lambda store: store.put("a", None)}


@contextmanager
def state_error(*words: str, secret: str) -> Iterator[None]:
    """Expects an error that has these words, and no secret."""
    with pytest.raises(StateError) as raised:
        yield
    assert [word for word in words if word not in str(raised.value)] == [], raised.value
    assert secret not in repr(raised.value)


def opened_once_let_go(backend: StateBackend) -> StateStore:
    """The state of `p`, once nobody else holds it."""
    while True:
        try:
            return backend.open("p")
        except StateHeldError:
            continue
