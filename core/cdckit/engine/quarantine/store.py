"""Where quarantined records are kept: one file of SQLite's, durable before the offset that passes them is saved."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from cdckit.engine.quarantine.order import in_log_order
from cdckit.errors import StateError

FILE = "quarantine.db"
FORMAT = 1
"""The version of the table below, kept in SQLite's `user_version`."""
_TABLE = f"""
begin immediate;
create table quarantine (
    number integer primary key autoincrement, id text not null unique, kept real not null, stage text not null,
    made_by text not null, reason text not null, topic text not null, position text not null, key text not null,
    content blob not null
) strict;
pragma user_version={FORMAT};
commit;
"""
_INSERT = """
insert into quarantine (id, kept, stage, made_by, reason, topic, position, key, content)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SELECT = """
select id, kept, stage, made_by, reason, topic, position, key, content, number from quarantine order by number
"""

Stage = Literal["decode", "transform", "serialize", "write", "wait"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One record.

    Attributes:
        id: the same whenever the same record comes again.
        kept: when it was first kept, in seconds since 1970.
        stage: where it stopped; `wait`: behind an earlier record of its key.
        by: the source, transform, serializer or sink that it stopped at.
        reason: what was said there.
        topic: as the source named it; of a message: where it was to go.
        position: in the source's log.
        key: the same for all changes of its key; "" where it has none.
        content: see `cdckit.engine.quarantine.contents`.
        number: what people call it; 0 before it is kept.
    """

    id: str
    kept: float
    stage: Stage
    by: str
    reason: str
    topic: str
    position: str
    key: str
    content: bytes
    number: int = 0


def _with_state_errors(
    method: Callable[Concatenate[QuarantineStore, _P], _T],
) -> Callable[Concatenate[QuarantineStore, _P], _T]:
    """SQLite's errors as `StateError`, with the file's name."""

    @wraps(method)
    def with_state_errors(self: QuarantineStore, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(self, *args, **kwargs)
        except (sqlite3.Error, OSError) as error:
            raise _fault(self.path, error) from error

    return with_state_errors


def _fault(path: Path, error: Exception) -> StateError:
    return StateError(
        f"quarantine {path}: {error}; check that the folder can be written and the disk has room", number="CDC7103"
    )


class QuarantineStore:
    """The quarantine of a pipeline whose state this process holds.

    Args:
        folder: made when it is missing, for its owner alone.

    Raises:
        StateError: it cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._db = self._connect()  # used by one thread after the other
        self.count = self._count()

    @_with_state_errors
    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.touch(0o600)
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            found = db.execute("pragma user_version").fetchone()[0]
            if found not in (0, FORMAT):
                raise OSError(f"it has format {found}, this version of cdckit reads format {FORMAT}")
            db.execute("pragma journal_mode=wal")
            db.execute("pragma synchronous=full")
            if not found:
                db.executescript(_TABLE)
                _sync_folder(self.path.parent)
        except BaseException:
            db.close()
            raise
        return db

    @_with_state_errors
    def _count(self) -> int:
        return int(self._db.execute("select count(*) from quarantine").fetchone()[0])

    @_with_state_errors
    def has(self, id_: str) -> bool:
        """Whether a record is kept already."""
        return self._db.execute("select 1 from quarantine where id = ?", (id_,)).fetchone() is not None

    @_with_state_errors
    def add(self, record: Quarantined) -> None:
        """Keeps a record that is not kept already; it is safe after `sync`."""
        if not self._db.in_transaction:
            self._db.execute("begin immediate")
        values = (record.id, record.kept, record.stage, record.by, record.reason, record.topic, record.position)
        self._db.execute(_INSERT, (*values, record.key, record.content))
        self.count += 1

    @_with_state_errors
    def sync(self) -> None:
        """Returns once all that was added survives a crash of the machine."""
        if self._db.in_transaction:
            self._db.execute("commit")

    @_with_state_errors
    def keys(self) -> dict[str, str]:
        """The keys that have a record here, each with the position of its first one."""
        return dict(self._db.execute("select key, min(position) from quarantine where key <> '' group by key"))

    @_with_state_errors
    def remove(self, numbers: Iterable[int]) -> None:
        """Forgets records, durably."""
        self.sync()
        self._db.execute("begin immediate")
        self._db.executemany("delete from quarantine where number = ?", [(number,) for number in numbers])
        self._db.execute("commit")
        self.count = self._count()

    @_with_state_errors
    def change(self, record: Quarantined, stage: Stage, by: str, reason: str) -> None:
        """Notes where a record has stopped now, durably."""
        self._db.execute(
            "update quarantine set stage = ?, made_by = ?, reason = ? where number = ?",
            (stage, by, reason, record.number),
        )

    def close(self) -> None:
        """Lets go of the file; what was not synced is not kept."""
        self._db.close()


def kept_records(folder: Path) -> Iterator[Quarantined]:
    """The records of a quarantine that may be in use, in the order in which they came.

    Raises:
        StateError: it cannot be read.
    """
    for row in _rows(folder, _SELECT):
        yield Quarantined(*row)


def kept_in_log_order(folder: Path) -> Iterator[Quarantined]:
    """The same in the order of the log; their positions are in memory meanwhile, one record at a time beside them.

    Raises:
        StateError: as `kept_records`.
    """
    for number in in_log_order(_rows(folder, "select number, position from quarantine order by number")):
        record = kept_record(folder, number)
        if record is not None:  # it may be dropped meanwhile
            yield record


def kept_count(folder: Path) -> int:
    """How many records there are.

    Raises:
        StateError: as `kept_records`.
    """
    return next((int(row[0]) for row in _rows(folder, "select count(*) from quarantine")), 0)


def kept_page(folder: Path, before: int | None, most: int) -> list[Quarantined]:
    """The newest records, without their contents: those that came before a number, where one is named.

    Raises:
        StateError: as `kept_records`.
    """
    query = """select id, kept, stage, made_by, reason, topic, position, key, x'' , number from quarantine
        where ? is null or number < ? order by number desc limit ?"""
    return [Quarantined(*row) for row in _rows(folder, query, before, before, most)]


def kept_record(folder: Path, number: int) -> Quarantined | None:
    """One record, or None where there is none of that number.

    Raises:
        StateError: as `kept_records`.
    """
    query = _SELECT.replace("order by", "where number = ? order by")
    return next((Quarantined(*row) for row in _rows(folder, query, number)), None)


def kept_by_topic(folder: Path) -> dict[str, int]:
    """How many records there are of each topic.

    Raises:
        StateError: as `kept_records`.
    """
    return dict(_rows(folder, "select topic, count(*) from quarantine group by topic order by 2 desc"))


def _rows(folder: Path, query: str, *arguments: int | None) -> Iterator[tuple[Any, ...]]:
    path = folder / FILE
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            if db.execute("pragma user_version").fetchone()[0]:
                yield from db.execute(query, arguments)
    except (sqlite3.Error, OSError) as error:
        raise _fault(path, error) from error


def _sync_folder(folder: Path) -> None:
    """Makes a new file's name as durable as what is in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
