"""Documents that are written at random, and the records of their changes."""

from __future__ import annotations

import json
import random
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from pymongo import MongoClient
from pymongo.client_session import ClientSession

from crash.targets import Arrived
from testkit.journal import TOMBSTONE, Change, Journal, Key

LARGE_TRANSACTION = 1500
"""Far more than a batch holds."""


class DocumentRecord(NamedTuple):
    """A record that has arrived: what it says of which document, and where that stands in commit order."""

    key: Key
    change: Change
    position: str


class DocumentWriter:
    """Commits transactions until its context ends; each token is written once, and no `_id` comes back.

    Args:
        client: where to.
        database: the collections' database.
        journal: notes each transaction.
        seed: of everything random.
        sizes: the collections, and how many documents each has before the first transaction.
    """

    def __init__(
        self,
        client: MongoClient[dict[str, Any]],
        database: str,
        journal: Journal,
        seed: int,
        sizes: Mapping[str, int],
    ) -> None:
        self._random = random.Random(seed)
        self._client = client
        self._database = client[database]
        self._journal = journal
        self._tokens = (f"t{number}" for number in count())
        self._alive: dict[str, list[int]] = {}
        self._new = count(max(sizes.values()))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)
        for name, size in sizes.items():
            self._begin(name, size)

    def _begin(self, name: str, size: int) -> None:
        found = [{"_id": number, "token": next(self._tokens)} for number in range(size)]
        self._journal.commits(
            [(Key(name, (number,)), Change("c", str(one["token"]))) for number, one in enumerate(found)]
        )
        self._database[name].insert_many(found)
        self._alive[name] = list(range(size))

    def _write(self) -> None:
        with self._client.start_session() as session:
            for number in count(1):
                if self._ended.wait(0.003):
                    return
                self._transaction(session, LARGE_TRANSACTION if number % 200 == 0 else self._random.randint(1, 5))

    def _transaction(self, session: ClientSession, operations: int) -> None:
        with session.start_transaction():
            changes = [self._change(session, self._random.choice(list(self._alive))) for _ in range(operations)]
            self._journal.commits(changes)

    def _change(self, session: ClientSession, name: str) -> tuple[Key, Change]:
        collection, alive, token = self._database[name], self._alive[name], next(self._tokens)
        kind = self._random.random()
        if kind < 0.2:
            alive.append(next(self._new))
            collection.insert_one({"_id": alive[-1], "token": token}, session=session)
            return Key(name, (alive[-1],)), Change("c", token)
        # the newest more often than others, so that some documents change many times
        place = -self._random.randint(1, 20) if self._random.random() < 0.5 else self._random.randrange(len(alive))
        if kind < 0.3:
            number = alive.pop(place)
            collection.delete_one({"_id": number}, session=session)
            return Key(name, (number,)), Change("d")
        collection.update_one({"_id": alive[place]}, {"$set": {"token": token}}, session=session)
        return Key(name, (alive[place],)), Change("u", token)

    def __enter__(self) -> DocumentWriter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def document_records(arrived: Iterable[Arrived]) -> Iterator[DocumentRecord]:
    """What the records say, each document's in their order."""
    for topic, key, value, headers in arrived:
        place = Key(topic.rpartition(".")[2], (int(key["id"]),))
        yield DocumentRecord(place, _change(value), headers["__cdckit.position"])


def _change(value: Mapping[str, Any] | None) -> Change:
    if value is None:
        return TOMBSTONE
    if value["op"] == "d":
        return Change("d")
    shown = value["updateDescription"]["updatedFields"] if value["op"] == "u" else value["after"]
    return Change(value["op"], json.loads(shown)["token"])


def assert_documents_complete(
    committed: Mapping[Key, Sequence[Change]], delivered: Sequence[DocumentRecord], known: Mapping[Key, int]
) -> None:
    """The stream's records of each document are its last changes; what comes before them, the snapshot shows.

    Args:
        committed: each document's changes.
        delivered: all records.
        known: how many changes of each document may lie before the place that the stream begins at.
    """
    read: dict[Key, list[str | None]] = defaultdict(list)
    streamed: dict[Key, dict[str, Change]] = defaultdict(dict)
    for record in delivered:
        if record.change.op == "r":
            read[record.key].append(record.change.token)
        else:
            first = streamed[record.key].setdefault(record.position, record.change)
            assert first == record.change, "one position for two records"
    assert not (read.keys() | streamed.keys()) - committed.keys(), "records of documents that never were"
    for key, changes in committed.items():
        found = streamed[key]
        begin = len(changes) - len(found)
        assert list(found) == sorted(found), f"{key}: positions do not rise: {list(found)}"
        assert list(found.values()) == changes[begin:], f"{key}: {list(found.values())} of {changes}"
        assert begin <= known.get(key, 0), f"{key}: begins without {changes[known.get(key, 0) : begin]}"
        # a snapshot shows each document as it is when it is read, which is after the stream's beginning
        states = [change.token for change in changes[max(0, begin - 1) :] if change.op in ("c", "u")]
        assert set(read[key]) <= set(states), f"{key}: the snapshot shows {read[key]}, not one of {states}"
        assert read[key] or begin == 0 or TOMBSTONE in changes, f"{key}: the snapshot does not show it"
