"""What tasks tell of the rows that they read, on its way to the ledger in the driver.

A batch may be planned more than once, and a task may run more than once. Each plan has a name and each of its tasks a
number: of one task one attempt counts that came to its end, and of a batch one plan all of whose tasks did. All of them
read the same changes; of a snapshot, rows whose later changes the log tells.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from cdckit.api.record import Offset
from cdckit.engine.ledger.steps import Known, Step
from cdckit.engine.ledger.task_rows import TaskRows
from cdckit.engine.spark.inbox import Address, TaskInbox, client
from cdckit.errors import StateError

_IN_MEMORY = 1 << 20
"""What a task tells lies in a file once it is longer."""
_DONE = b""

Part = IO[bytes]
"""What one task has told."""


@dataclass(slots=True)
class _Plan:
    """One plan of a batch.

    Attributes:
        end: the offset that the batch ends at.
        tasks: how many there are.
        parts: by the task's number what it has told.
    """

    end: Offset
    tasks: int
    parts: dict[int, Part] = field(default_factory=dict)


class LedgerInbox(TaskInbox):
    """The driver's end.

    Args:
        host: the driver's address for tasks on other machines; None where they run on this one.
        known: what tasks have to know of the ledger.
        folder: where it keeps what is too long for the memory.
    """

    def __init__(self, host: str | None, known: Callable[[], Known], folder: Path) -> None:
        self._known = known
        self._folder = folder
        self._plans: dict[str, _Plan] = {}
        self._lock = threading.Lock()
        super().__init__(host, "cdckit-ledger")

    def planned(self, plan: str, end: Offset, tasks: int) -> None:
        """A batch that ends at `end` is read by so many tasks."""
        with self._lock:
            self._plans[plan] = _Plan(end, tasks)

    def hear(self, connection: Connection) -> None:
        """Takes what a task tells; it counts once the task has told all."""
        plan, number = connection.recv()
        with self._lock:
            found = self._plans.get(plan)
        connection.send(None if found is None else self._known())
        if found is None:
            return
        part: Part = SpooledTemporaryFile(_IN_MEMORY, dir=str(self._folder))  # noqa: SIM115
        while (told := connection.recv_bytes()) != _DONE:
            part.write(told)
        with self._lock:
            found.parts.setdefault(number, part)
        connection.send(True)

    def whole(self, end: Offset) -> list[Part] | None:
        """What all tasks of a batch have told, in the order of the log; None: some have not."""
        with self._lock:
            for plan in self._plans.values():
                if plan.end == end and len(plan.parts) == plan.tasks:
                    return [plan.parts[number] for number in range(plan.tasks)]
        return None

    def forget(self) -> None:
        """The batch is done: whatever else is told of it does not count."""
        with self._lock:
            for part in (part for plan in self._plans.values() for part in plan.parts.values()):
                part.close()
            self._plans.clear()

    def close(self) -> None:
        """Stops listening. May be called twice."""
        super().close()
        self.forget()


def steps_of(part: Part) -> Iterator[Step]:
    """What a task has told, in order."""
    part.seek(0)
    with suppress(EOFError):
        while True:
            yield from pickle.load(part)  # noqa: S301 - this project's own worker wrote it


class TaskLedger:
    """A task's end.

    Args:
        address: the driver's.
        rows: takes the task's records.
    """

    def __init__(self, address: Address, rows: TaskRows) -> None:
        self._address = address
        self._connection: Connection | None = None
        self.rows = rows

    def begin(self, plan: str, number: int) -> None:
        """A task begins.

        Raises:
            StateError: the driver has gone away, or does not wait for this task any more.
        """
        self.close()
        try:
            self._connection = client(self._address)
            self._connection.send((plan, number))
            known = self._connection.recv()
        except (OSError, EOFError, AuthenticationError) as error:
            raise _gone() from error
        if known is None:
            raise StateError("the driver does not wait for what this task tells of the ledger: its batch is done")
        self.rows.begin(known)

    def tell(self) -> None:
        """Hands over what there is where that is much; raises as `end`."""
        if self.rows.full:
            self._send()

    def end(self) -> None:
        """Returns once the driver has all.

        Raises:
            StateError: it has gone away.
        """
        self._send()
        try:
            assert self._connection is not None
            self._connection.send_bytes(_DONE)
            self._connection.recv()
        except (OSError, EOFError) as error:
            raise _gone() from error
        self.close()

    def _send(self) -> None:
        try:
            assert self._connection is not None
            self._connection.send_bytes(pickle.dumps(self.rows.steps(), pickle.HIGHEST_PROTOCOL))
        except OSError as error:
            raise _gone() from error

    def close(self) -> None:
        """Lets the driver go: what was not told to its end does not count."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _gone() -> StateError:
    return StateError("the driver, which keeps the ledger, has gone away")
