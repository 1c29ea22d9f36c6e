"""Elections of a replica set's primary at a chosen moment of a delivery, and writes that are rolled back by them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from pymongo import MongoClient, WriteConcern
from pymongo.errors import NotPrimaryError, PyMongoError

from cdckit.api.batch import Batch
from cdckit.api.source import Split
from cdckit_mongodb.source import MongoDbSource
from mongodb.unreplicated import cut_off, replicate, taken_back, wait_for
from testkit.servers.mongodb import MongoNode, MongoReplicaSet

STEPDOWN, KILL, ROLLBACK = "stepdown", "kill", "rollback"
ELECTIONS = STEPDOWN, KILL, ROLLBACK
"""How a primary goes: it steps down, dies, or dies with writes that it alone has and takes back when it returns."""
PLANNED, READ, WAITED = "planned", "read", "waited"
"""When: nothing of a planned range has been read, some has, or what it waits for is about to be rolled back."""

Client = MongoClient[dict[str, Any]]

_SECONDS = 60.0
_WAITING = "find", "insert", "delete"
_UNANSWERED = 50_000
"""A query or a stream that has had no answer for so many microseconds has read all that a majority has."""


class Election:
    """One election.

    Args:
        replica_set: three members.
        kind: how the primary goes.
        alone: makes changes that the primary alone has.

    Attributes:
        old: the primary that goes.
    """

    def __init__(self, replica_set: MongoReplicaSet, kind: str, alone: Callable[[Client], None]) -> None:
        self.old = replica_set.primary()
        self._set = replica_set
        self._kind = kind
        self._alone = alone
        self._others = [node for node in replica_set.nodes if node is not self.old]
        self._known = taken_back(self.old)
        self._cut, self._lost, self._happened = False, False, False

    def cut_off(self) -> None:
        """Has the primary make changes that are rolled back, where it goes so."""
        if self._kind != ROLLBACK or self._cut:
            return
        self._cut = True
        with suppress(NotPrimaryError):  # a busy machine has had it go by itself
            cut_off(self.old, self._others)
            with self.old.client(w=1, journal=True) as client:
                self._alone(client)
            self._lost = True

    def happen(self) -> None:
        """The primary goes, and a majority of the members has what another one has written."""
        if self._happened:
            return
        self._happened = True
        self.cut_off()
        if self._kind == STEPDOWN:
            with self.old.client() as client, suppress(PyMongoError):
                client.admin.command({"replSetStepDown": 1, "secondaryCatchUpPeriodSecs": 0, "force": True})
        else:
            self.old.kill()
            replicate(self._others, "off")
        agree(self._set)

    def mend(self) -> None:
        """Every member is there, and fetches what the primary writes."""
        replicate((node for node in self._set.nodes if node.pid is not None), "off")
        for node in self._set.nodes:
            if node.pid is None:
                node.start()
        self._set.wait_until_complete()

    def end(self) -> None:
        """As `mend` does, and what the old primary alone had is rolled back."""
        self.happen()
        self.mend()
        if self._lost:
            wait_for(lambda: taken_back(self.old) > self._known, "what the old primary has taken back", _SECONDS)
            self._set.wait_until_complete()


def agree(replica_set: MongoReplicaSet) -> None:
    """Waits until a majority has what the primary has; a pipeline goes as far."""
    with replica_set.client() as client:
        client.agreed.get_collection("marks", write_concern=WriteConcern("majority")).insert_one({})


@contextmanager
def election(replica_set: MongoReplicaSet, kind: str, alone: Callable[[Client], None]) -> Iterator[Election]:
    """An election that has happened by the end of the context, which leaves no member dead or cut off."""
    made = Election(replica_set, kind, alone)
    try:
        yield made
        made.end()
    except BaseException:
        made.mend()
        raise


@contextmanager
def before_batch(number: int, act: Callable[[], None]) -> Iterator[None]:
    """Has something happen in this process, in the next split that is read, behind so many batches or at its end."""
    read, due = MongoDbSource.read, [act]

    def reading(self: MongoDbSource, split: Split) -> Iterator[Batch]:
        batches = read(self, split)
        for _, batch in zip(range(number if due else 0), batches, strict=False):
            yield batch
        while due:
            due.pop()()
        yield from batches

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MongoDbSource, "read", reading)
        yield


@contextmanager
def as_soon_as(holds: Callable[[], bool], act: Callable[[], None]) -> Iterator[None]:
    """Has something happen in a thread, as soon as something holds, unless the context ends before.

    Raises:
        AssertionError: it did not for too long.
    """
    ended = threading.Event()

    def watch() -> None:
        deadline = time.monotonic() + _SECONDS
        while not holds() and time.monotonic() < deadline:
            if ended.wait(0.01):
                return
        late = time.monotonic() > deadline
        act()
        assert not late, "never came to the moment of the election"

    with ThreadPoolExecutor(1) as beside:
        watching = beside.submit(watch)
        try:
            yield
        finally:
            ended.set()
        watching.result()


def is_waited_for(node: MongoNode, database: str) -> bool:
    """Whether a query or mark of a database, or a change stream, waits at a member for what a majority has not got."""
    query = {"$or": [{f"command.{name}": {"$exists": True}} for name in _WAITING], "command.$db": database}
    stream = {"command.getMore": {"$exists": True}, "command.collection": "$cmd.aggregate"}
    waits = {"active": True, "microsecs_running": {"$gt": _UNANSWERED}, "$or": [query, stream]}
    with suppress(PyMongoError), node.client() as client:
        return bool(list(client.admin.aggregate([{"$currentOp": {"allUsers": True}}, {"$match": waits}])))
    return False
