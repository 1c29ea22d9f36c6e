"""The proof that what has arrived is what was committed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cdckit.api.record import Offset
from crash.targets import Delivered
from testkit.journal import Change, Journal, Key
from testkit.servers.mysql_family import SQLServer


def without_repeats(delivered: Iterable[Delivered]) -> dict[Key, list[Delivered]]:
    """Each key's records, those of a position once; whatever is repeated must say the same again."""
    seen: dict[str, Delivered] = {}
    found: dict[Key, list[Delivered]] = defaultdict(list)
    for record in delivered:
        first = seen.setdefault(record.position, record)
        assert (first.key, first.change) == (record.key, record.change), "one position for two records"
        if first is record:
            found[record.key].append(record)
    return dict(found)


def assert_each_once(arrived: Iterable[Delivered], journal: Journal, known: Mapping[Key, int]) -> None:
    """Every change has arrived once, those of each key in order and without a gap; a row of a snapshot at most once.

    Args:
        arrived: what readers of committed records see.
        journal: what was committed.
        known: how many changes of each key may lie before the first point that the pipeline noted.
    """
    delivered = list(arrived)
    assert not [position for position, times in Counter(one.position for one in delivered).items() if times > 1]
    reads = Counter(one.key for one in delivered if one.change.op == "r")
    assert not reads or max(reads.values()) == 1, "rows that a snapshot shows twice"
    assert_complete(journal.changes(), without_repeats(delivered), known)


def assert_complete(
    committed: Mapping[Key, Sequence[Change]], found: Mapping[Key, Sequence[Delivered]], known: Mapping[Key, int]
) -> None:
    """Every key's records are its changes, in order and without a gap.

    Args:
        committed: each key's changes.
        found: each key's records, without repeats.
        known: how many changes of each key may lie before the first point that the pipeline noted.
    """
    assert not found.keys() - committed.keys(), "records of keys that never were"
    for key, changes in committed.items():
        records = found.get(key, ())
        positions = [record.position for record in records]
        assert positions == sorted(set(positions)), f"{key}: positions do not rise: {positions}"
        at = _replayed(key, changes, records, known.get(key, 0))
        assert at == len(changes) or (not records and changes[-1].op == "tombstone" and len(changes) <= known[key]), (
            f"{key}: the last {len(changes) - at} changes are missing: {changes[at:]}"
        )


def _replayed(key: Key, changes: Sequence[Change], records: Sequence[Delivered], known: int) -> int:
    """How many changes are done after all records."""
    at: int | None = None
    for record in records:
        done = _done_before(changes, record)
        assert done is not None, f"{key}: {record} was never committed"
        if at is None:
            assert done <= known, f"{key}: begins with {record}, without {changes[known:done]}"
        else:
            assert done == at, f"{key}: {record} where {changes[at:][:1]} is due ({changes}, {records})"
        at = done + (record.change.op != "r")
    return at or 0


def _done_before(changes: Sequence[Change], record: Delivered) -> int | None:
    """How many changes must be done when this record comes; a snapshot's row shows the last one done."""
    if record.change.op == "tombstone":
        deletes = (n for n, change in enumerate(changes) if change.op == "tombstone")
        return next(deletes, None)
    for number, change in enumerate(changes):
        if record.change.op == "r" and change.op in "cu" and change.token == record.change.token:
            return number + 1
        if change == record.change:
            return number
    return None


def assert_begins_behind(
    server: SQLServer, saved: Offset | None, records: Sequence[Delivered], everything: Sequence[Delivered]
) -> None:
    """A run repeats nothing that was saved, and leaves nothing out that was not.

    Args:
        server: whose log it is.
        saved: the offset that was saved when the run began.
        records: what the run delivered, from the first on without a gap.
        everything: what all runs delivered.
    """
    if saved is None or saved.get("snapshot"):
        return
    behind = (saved["file"], _first_event_not_done(server, saved))
    due = min(place for place in _places(everything) if place >= behind)
    found = min(_places(records))
    assert found == due, f"begins at {found} where {due} is the first behind what was saved: {saved}"


def _places(records: Iterable[Delivered]) -> Iterator[tuple[str, int]]:
    """Where the changes' events begin."""
    return ((record.file, record.pos) for record in records if record.change.op not in ("r", "tombstone"))


def _first_event_not_done(server: SQLServer, saved: Offset) -> int:
    """Where the log goes on behind the events of a transaction that the offset counts as done."""
    done, pos = saved.get("event", 0), saved["pos"]
    if not done:
        return int(pos)
    rows = server.execute(f"SHOW BINLOG EVENTS IN '{saved['file']}' FROM {pos} LIMIT {done + 1}")
    return int(rows[done][1])
