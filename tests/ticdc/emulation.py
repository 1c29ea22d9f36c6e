"""A small TiCDC for tests: a scripted history as messages, with partitions, watermarks, and restarts that resend."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from zlib import crc32

from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import Partition

Dispatcher = Literal["table", "index-value", "columns", "ts"]
TOPIC = "emulated"
DATABASE, TABLE = "shop", "orders"
FIRST_TS = 447507027002130437
STEP = 262144


@dataclass(frozen=True, slots=True)
class Change:
    """One row's change in a transaction; without `before` an insert, without `after` a delete."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """What was committed at one time."""

    commit_ts: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class History:
    """A table's transactions, and its rows at the end, by key."""

    transactions: tuple[Transaction, ...]
    final: Mapping[int, Mapping[str, Any]]


def make_history(chance: random.Random, transactions: int, keys: int = 8) -> History:
    """A history of inserts, updates, deletes, and rows that move to other keys, even to each other's."""
    rows: dict[int, dict[str, Any]] = {}
    made = []
    commit_ts = FIRST_TS
    for number in range(transactions):
        commit_ts += STEP * chance.randint(1, 3)
        changes = tuple(_changes(chance, rows, keys, number))
        if changes:
            made.append(Transaction(commit_ts, changes))
    return History(tuple(made), rows)


def _changes(chance: random.Random, rows: dict[int, dict[str, Any]], keys: int, number: int) -> Iterator[Change]:
    kind = chance.choice(("put", "put", "put", "delete", "move", "swap"))
    key = chance.randrange(keys)
    if kind == "put":
        before, rows[key] = rows.get(key), {"id": key, "v": f"v{number}"}
        yield Change(before, rows[key])
    elif kind == "delete" and key in rows:
        yield Change(rows.pop(key), None)
    elif kind == "move" and key in rows and len(rows) < keys:
        free = chance.choice([one for one in range(keys) if one not in rows])
        before = rows.pop(key)
        rows[free] = {**before, "id": free}
        yield Change(before, rows[free])
    elif kind == "swap" and len(rows) > 1:
        one, other = chance.sample(sorted(rows), 2)
        first, second = rows[one], rows[other]
        rows[one], rows[other] = {**second, "id": one}, {**first, "id": other}
        yield Change(first, rows[other])
        yield Change(second, rows[one])


@dataclass(slots=True)
class Emulator:
    """Writes histories into partitions.

    Attributes:
        chance: decides about everything that is left to it.
        partitions: how many partitions the topic has.
        dispatcher: what chooses a row's partition.
        split_updates: whether a changed key is written as a delete and a create (TiCDC's default).
        watermarks: whether watermarks are written.
        restarts: how often TiCDC stops and begins again a while back.
        log: the messages by partition.
    """

    chance: random.Random
    partitions: int = 3
    dispatcher: Dispatcher = "index-value"
    split_updates: bool = True
    watermarks: bool = True
    restarts: int = 2
    log: dict[Partition, list[Message]] = field(default_factory=dict)

    def write(self, history: History) -> dict[Partition, list[Message]]:
        """The topic's partitions with all of the history."""
        return self.write_transactions(history.transactions)

    def write_transactions(self, transactions: tuple[Transaction, ...]) -> dict[Partition, list[Message]]:
        """The topic's partitions with these transactions."""
        self.log = {Partition(TOPIC, number): [] for number in range(self.partitions)}
        begin = 0
        for _ in range(self.restarts):
            stop = self.chance.randint(begin, len(transactions))
            unsent = self._run(transactions[begin:stop], finished=False)
            sent = sum(unsent is None or one.commit_ts < unsent for one in transactions[:stop])
            begin = self.chance.randint(max(0, sent - 12), sent)
        self._run(transactions[begin:], finished=True)
        return self.log

    def _run(self, transactions: tuple[Transaction, ...], *, finished: bool) -> int | None:
        """One life of TiCDC: partitions run ahead of each other, watermarks come now and then.

        Returns:
            the time of the first row that was not sent, or None.
        """
        waiting: dict[Partition, list[tuple[int, bytes | None, bytes]]] = {one: [] for one in self.log}
        for transaction in transactions:
            for partition, key, value in self._written(transaction):
                waiting[partition].append((transaction.commit_ts, key, value))
            if self.chance.random() < 0.6:
                self._flush(waiting)
            if self.watermarks and self.chance.random() < 0.3:
                self._mark(waiting, transaction.commit_ts)
        if finished or self.chance.random() < 0.5:
            self._flush(waiting, everything=True)
            if self.watermarks and transactions and finished:
                self._mark(waiting, transactions[-1].commit_ts + STEP)
        return min((messages[0][0] for messages in waiting.values() if messages), default=None)

    def _flush(self, waiting: dict[Partition, list[Any]], *, everything: bool = False) -> None:
        for partition, messages in waiting.items():
            count = len(messages) if everything else self.chance.randint(0, len(messages))
            for _, key, value in messages[:count]:
                self._append(partition, key, value)
            del messages[:count]

    def _mark(self, waiting: dict[Partition, list[Any]], commit_ts: int) -> None:
        """A watermark goes to a partition when all of its rows up to that time have gone there."""
        for partition, messages in waiting.items():
            if self.chance.random() < 0.8 or not messages:
                while messages and messages[0][0] <= commit_ts:
                    _, key, value = messages.pop(0)
                    self._append(partition, key, value)
                self._append(partition, b'{"payload":{}}', _document({"source": source_block(commit_ts), "op": "m"}))

    def _written(self, transaction: Transaction) -> Iterator[tuple[Partition, bytes, bytes]]:
        """A transaction's messages; where key changes are split, its deletes come first."""
        commit_ts, changes = transaction.commit_ts, transaction.changes
        moves = [change for change in changes if self.split_updates and _moves(change)]
        for change in moves:
            yield self._message(commit_ts, "d", change.before, None)
        for change in moves:
            yield self._message(commit_ts, "c", None, change.after)
        for change in changes:
            if change not in moves:
                operation = "d" if change.after is None else "c" if change.before is None else "u"
                yield self._message(commit_ts, operation, change.before, change.after)

    def _message(
        self, commit_ts: int, operation: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
    ) -> tuple[Partition, bytes, bytes]:
        row = after if after is not None else before
        assert row is not None
        key = json.dumps({"payload": {"id": row["id"]}}, separators=(",", ":")).encode()
        dispatched: dict[Dispatcher, Any] = {
            "table": TABLE, "index-value": row["id"], "columns": row["v"], "ts": commit_ts,
        }  # fmt: skip
        number = crc32(str(dispatched[self.dispatcher]).encode()) % self.partitions
        payload = {
            "source": source_block(commit_ts),
            "transaction": None,
            "op": operation,
            "before": before,
            "after": after,
        }
        return Partition(TOPIC, number), key, _document(payload)

    def _append(self, partition: Partition, key: bytes | None, value: bytes) -> None:
        messages = self.log[partition]
        messages.append(Message(*partition, len(messages), key, value))


def source_block(commit_ts: int) -> dict[str, Any]:
    """What TiCDC tells of a change beside its rows."""
    return {
        "version": "2.4.0.Final", "connector": "TiCDC", "name": "default", "ts_ms": commit_ts >> 18,
        "snapshot": "false", "db": DATABASE, "table": TABLE, "server_id": 0, "gtid": None, "file": "", "pos": 0,
        "row": 0, "thread": 0, "query": None, "commit_ts": commit_ts, "cluster_id": "default",
    }  # fmt: skip


def _document(payload: Mapping[str, Any]) -> bytes:
    return json.dumps({"payload": {**payload, "ts_ms": 0}}, separators=(",", ":")).encode()


def _moves(change: Change) -> bool:
    return change.before is not None and change.after is not None and change.before["id"] != change.after["id"]
