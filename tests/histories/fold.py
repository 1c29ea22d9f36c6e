"""Change events put together to the rows that they come to, as a consumer of topics would."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from histories.rows import decoded

POSITION = "__cdckit.position"
UNAVAILABLE = "__cdckit.unavailable"
_RENAMED = re.compile(r"(?:RENAME TABLE (\S+) TO|ALTER TABLE (\S+) RENAME) (\S+)$")
_SHARD = "__dbz__physicalTableIdentifier"

Values = tuple[tuple[str, Any], ...]
"""A row: the names and values of its columns."""


class Event(NamedTuple):
    """A record as it has arrived.

    Attributes:
        topic: its topic.
        partition: counted from 0.
        key: Connect's JSON with its schema, None for none.
        value: the same; None for a tombstone.
        position: sorts in commit order.
        absent: the columns that the log did not carry.
    """

    topic: str
    partition: int
    key: Any
    value: Any
    position: str
    absent: frozenset[str] = frozenset()


@dataclass(slots=True)
class Folded:
    """The rows of one table."""

    key: tuple[str, ...] = ()
    keyed: dict[Values, Values] = field(default_factory=dict)
    free: Counter[Values] = field(default_factory=Counter)
    columns: tuple[str, ...] = ()
    removed: Values | None = None

    def rows(self) -> list[dict[str, Any]]:
        """All rows."""
        return [dict(row) for row in (self.keyed.values() if self.key else self.free.elements())]

    def has(self, columns: tuple[str, ...], key: tuple[str, ...]) -> None:
        """Events are of these columns and this key from now on.

        Rows of a table without a key that are of other columns are told of anew, as whoever changes the columns updates
        all rows.
        """
        if key != self.key:
            rows = self.rows()
            self.key = key
            self.keyed = {self._key_of(tuple(row.items())): tuple(row.items()) for row in rows} if key else {}
            self.free = Counter() if key else Counter(tuple(row.items()) for row in rows)
        if columns != self.columns:
            self.columns = columns
            self.free = Counter()

    def _key_of(self, row: Values) -> Values:
        values = dict(row)
        return tuple((name, values.get(name)) for name in self.key)

    def completed(self, key: Values, row: Values, before: Values | None, absent: Collection[str]) -> Values:
        """A row whose values that the log did not carry are those that it had before, under an older key even."""
        if not absent:
            return row
        old = dict(self.keyed.get(key) or self.removed or ()) if self.key else dict(before or ())
        return tuple((name, old.get(name, "(unknown)") if name in absent else value) for name, value in row)

    def put(self, key: Values, row: Values) -> None:
        """A row is there, in place of the one with its key."""
        if self.key:
            self.keyed[key] = row
        else:
            self.free[row] += 1

    def remove(self, key: Values, row: Values | None) -> None:
        """A row is gone."""
        if self.key:
            self.removed = self.keyed.pop(key, None)
        elif row is not None and self.free[row] > 0:
            self.free[row] -= 1

    def clear(self) -> None:
        """No row is there."""
        self.keyed.clear()
        self.free.clear()


class Fold:
    """The tables that events come to.

    Attributes:
        tables: by the name of the source's table.
        topics: where events of each table came.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Folded] = {}
        self.topics: dict[str, set[str]] = defaultdict(set)

    def take(self, events: Iterable[Event]) -> None:
        """Takes events, in commit order; one that is repeated at its position says nothing new."""
        seen: set[tuple[str, str]] = set()
        for event in events:
            if event.value is None or (event.topic, event.position) in seen:
                continue
            seen.add((event.topic, event.position))
            payload = event.value["payload"]
            if "tableChanges" in payload:
                self._definitions(payload["ddl"], payload["tableChanges"])
            elif "op" in payload:
                self._change(event, payload)

    def _definitions(self, ddl: str, changes: Iterable[Mapping[str, Any]]) -> None:
        if renamed := _RENAMED.match(ddl):
            old, new = (name.strip("`").rpartition(".")[2].strip("`") for name in filter(None, renamed.groups()))
            if old in self.tables:
                self.tables[new] = self.tables.pop(old)
            return
        for change in changes:
            name = _table(change["id"])
            if change["type"] in ("DROP", "CREATE"):
                self.tables.pop(name, None)
            elif " DROP COLUMN " in ddl and name in self.tables:  # another of its name may come
                self.tables[name].columns = ()

    def _change(self, event: Event, payload: Mapping[str, Any]) -> None:
        name = payload["source"]["table"]
        self.topics[name].add(event.topic)
        table = self.tables.setdefault(name, Folded())
        if payload["op"] == "t":
            table.clear()
            return
        fields = {field["field"]: field for field in event.value["schema"]["fields"]}
        key = _values(event.key["schema"]["fields"], event.key["payload"]) if event.key else ()
        before, after = (_image(fields[image], payload[image]) for image in ("before", "after"))
        present = after or before
        assert present is not None, f"{event.topic}: a change without a row at {event.position}"
        table.has(tuple(n for n, _ in present), tuple(n for n, _ in key))
        if payload["op"] in "ud" and (payload["op"] == "d" or not key):
            table.remove(key, before)
        if payload["op"] != "d":
            assert after is not None
            table.put(key, table.completed(key, after, before, event.absent))
            table.removed = None


def _image(field: Mapping[str, Any], row: Mapping[str, Any] | None) -> Values | None:
    return None if row is None else _values(field["fields"], row)


def _values(fields: Iterable[Mapping[str, Any]], row: Mapping[str, Any]) -> Values:
    return tuple((f["field"], decoded(f, row[f["field"]])) for f in fields if f["field"] != _SHARD)


def _table(identifier: str) -> str:
    """The table's name in `"database"."table"`."""
    return identifier.rpartition('."')[2].rstrip('"')


def in_order(events: Iterable[Event]) -> list[Event]:
    """Events of partitions in commit order.

    Raises:
        AssertionError: a key's records do not arrive in it; what is repeated may step back. What has no key may be
            repeated in another partition, which was read first.
    """
    arrived = list(events)
    times = Counter((event.topic, event.position) for event in arrived)
    newest: dict[tuple[str, int, str], str] = {}
    seen: set[tuple[str, str]] = set()
    for event in arrived:
        place = event.topic, event.partition, json.dumps(event.key and event.key["payload"], sort_keys=True)
        elsewhere = event.key is None and times[event.topic, event.position] > 1
        if not elsewhere and (event.topic, event.position) not in seen:
            last = newest.get(place, "")
            assert last <= event.position, f"{place}: {event.position} came behind {last}"
            newest[place] = event.position
        seen.add((event.topic, event.position))
    return sorted(arrived, key=lambda event: event.position)
