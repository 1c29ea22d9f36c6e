"""Sinks with transactions: what a transaction lacks is safe before it is committed, and is not written again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cdckit.api.messages import Messages
from cdckit.api.sink import Sink, SinkContext, Transactions
from cdckit.engine.quarantine.delivery import TolerantSink
from cdckit.errors import RetriableSinkError, SinkError


class Target(Sink, Transactions):
    """Refuses messages whose value is `bad`, as a broker does: once they are flushed, and with their transaction."""

    interval_ms = None

    def __init__(self, done: list[str]) -> None:
        self._done = done
        self._written: list[Messages] = []
        self._failed = False
        self.visible: list[bytes | None] = []
        self.place: Any = None

    @property
    def transactions(self) -> Transactions:
        return self

    def open(self, context: SinkContext) -> None:
        assert context.refused is not None
        self._refused: Callable[[Messages, str], None] = context.refused

    def write(self, messages: Messages) -> None:
        if self._failed:
            raise SinkError("the transaction has failed")
        self._written += [messages.part(at, at + 1) for at in range(len(messages))]

    def flush(self) -> None:
        bad = [one for one in self._written if one.values == [b"bad"]]
        self._written = [one for one in self._written if one not in bad]
        for one in bad:
            self._failed = True
            self._refused(one, "too large")
        if self._failed:
            raise SinkError("the transaction has failed")

    def committed(self) -> Any:
        return self.place

    def commit(self, place: Any) -> None:
        self._done.append("commit")
        self.visible += [one.values[0] for one in self._written]
        self._written, self.place = [], place

    def rollback(self) -> Any:
        self._written, self._failed = [], False
        return self.place

    def close(self) -> None: ...


class Kept:
    """Keeps what is refused."""

    def __init__(self, done: list[str]) -> None:
        self.waiting: dict[str, str] = {}
        self._done = done

    def message_failed(self, message: Messages, reason: str) -> None:
        self._done.append(f"kept {message.keys[0]!r}")

    def due_messages(self, messages: Messages) -> Messages:
        return messages

    def sync(self) -> None:
        self._done.append("safe")


@pytest.fixture
def done() -> list[str]:
    """What has happened, in order."""
    return []


@pytest.fixture
def target(done: list[str]) -> Target:
    return Target(done)


@pytest.fixture
def sink(target: Target, done: list[str]) -> TolerantSink:
    sink = TolerantSink(target, Kept(done))
    sink.open(SinkContext("p"))
    return sink


def messages(**values: bytes) -> Messages:
    """One for each key."""
    keys: list[bytes | None] = [key.encode() for key in values]
    size = len(keys)
    return Messages(
        ["t"] * size, [None] * size, keys, list(values.values()), [()] * size, list(values), [None] * size
    )  # fmt: skip


def test_what_is_lacking_is_safe_before_the_commit(sink: TolerantSink, target: Target, done: list[str]) -> None:
    batch = messages(a=b"1", b=b"bad", c=b"3")
    assert sink.transactions is not None
    sink.write(batch)
    with pytest.raises(RetriableSinkError, match="the others are written again"):
        sink.transactions.commit(1)
    assert target.visible == []
    assert sink.transactions.rollback() is None
    sink.write(batch)
    sink.transactions.commit(1)
    assert (target.visible, target.place) == ([b"1", b"3"], 1)
    assert done[0] == "kept b'b'"
    assert done[-2:] == ["safe", "commit"]
    assert done.count("kept b'b'") == 1


def test_a_record_of_a_later_transaction_is_judged_by_itself(
    sink: TolerantSink, target: Target, done: list[str]
) -> None:
    assert sink.transactions is not None
    for place in (1, 2):
        sink.write(messages(a=b"bad"))
        with pytest.raises(RetriableSinkError):
            sink.transactions.commit(place)
        sink.transactions.rollback()
        sink.write(messages(a=b"bad"))
        sink.transactions.commit(place)
    assert done.count("kept b'a'") == 2
    assert target.visible == []


def test_a_row_that_is_read_again_elsewhere_is_refused_at_once(
    sink: TolerantSink, target: Target, done: list[str]
) -> None:
    """As in a snapshot that begins anew; what is smaller is written."""
    assert sink.transactions is not None
    sink.write(messages(a=b"bad", b=b"1"))
    with pytest.raises(RetriableSinkError):
        sink.transactions.commit(1)
    sink.transactions.rollback()
    again = messages(a=b"large", b=b"1")
    again.positions = ["x", "y"]
    sink.write(again)
    sink.write(messages(a=b"ok"))
    sink.transactions.commit(1)
    assert target.visible == [b"1", b"ok"]
    assert done.count("kept b'a'") == 2


def test_a_failure_with_nothing_refused_is_the_sinks(sink: TolerantSink, target: Target) -> None:
    target._failed = True
    with pytest.raises(SinkError) as found:
        sink.write(messages(a=b"1"))
    assert not isinstance(found.value, RetriableSinkError)


def test_a_row_without_a_key_that_is_read_again_elsewhere_is_known_by_its_size(
    sink: TolerantSink, target: Target, done: list[str]
) -> None:
    """A snapshot that begins anew gives it another position each time."""
    assert sink.transactions is not None
    for attempt in range(2):
        sink.write(_without_keys(f"a{attempt}", f"b{attempt}"))
        with pytest.raises(RetriableSinkError):
            sink.transactions.commit(1)
        sink.transactions.rollback()
    sink.write(_without_keys("a2", "b2"))
    sink.transactions.commit(1)
    assert target.visible == [b"1"]
    assert done.count("kept None") == 3
    sink.write(_without_keys("a3", "b3"))
    with pytest.raises(RetriableSinkError):
        sink.transactions.commit(2)


def _without_keys(*positions: str) -> Messages:
    """The first is small, the second is refused."""
    made = messages(a=b"1", b=b"bad")
    made.keys, made.positions = [None, None], list(positions)
    return made
