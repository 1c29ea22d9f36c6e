"""What becomes of rows whose key changes within a batch, and of which the log does not carry every value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.tables.absent import absent_part, absent_text
from cdckit.tables.layout import ABSENT, OLD_KEY, OP

Key = tuple[Any, ...]
"""The values of a row's key."""


@dataclass(slots=True)
class _State:
    """A row as it is after some changes.

    Attributes:
        row: the number of its last change.
        values: for each column that may be unavailable the number of the change that carries its value, None where
            that is older than the batch.
        origin: the key under which the table has such values; None where there are none.
    """

    row: int
    values: dict[str, int | None]
    origin: Key | None
    deleted: bool = False


@dataclass(slots=True)
class Follower:
    """Goes through changes in the log's order, among which keys change.

    Attributes:
        rows: the changes.
        key: the columns that identify a row.
        unavailable: the columns in which a value may be missing.
        text: what stands for an unavailable value.
    """

    rows: pa.Table
    key: Sequence[str]
    unavailable: Sequence[str]
    text: str
    states: dict[Key, _State] = field(default_factory=dict)
    gone: dict[Key, _State] = field(default_factory=dict)

    def last(self) -> pa.Table:
        """The last change of each key, with all the values that the batch has of the row."""
        missing = {name: self._missing(name) for name in self.unavailable}
        keys, old_keys = self._keys(""), self._keys(OLD_KEY)
        for row, operation in enumerate(self.rows.column(OP).to_pylist()):
            key = keys[row]
            if operation == "d":
                # A key change is a delete of the old key and a change of the new one, and other keys may take the old
                # one's place in between (swaps): what the row was is kept for when it comes.
                self.gone[key] = self._state(key)
                self.states[key] = _State(row, {}, None, deleted=True)
                continue
            before = self._before(old_keys[row]) if operation == "m" else self._state(key)
            values = {name: before.values.get(name) if missing[name][row] else row for name in self.unavailable}
            self.states[key] = _State(row, values, before.origin)
        return self._shown([*self.states.values()])

    def _state(self, key: Key) -> _State:
        found = self.states.get(key)
        return _State(-1, {}, key) if found is None else found

    def _before(self, old: Key) -> _State:
        """The row as it was under its old key: the delete that tells of the new one has gone before."""
        found = self.gone.get(old)
        return self._state(old) if found is None else found

    def _keys(self, prefix: str) -> list[Key]:
        return list(zip(*(self.rows.column(prefix + name).to_pylist() for name in self.key), strict=True))

    def _missing(self, name: str) -> list[bool]:
        part = absent_part(name)
        named = [text is not None and part in text for text in self.rows.column(ABSENT).to_pylist()]
        column = self.rows.column(name)
        if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
            return named
        sought = pa.scalar(self.text if pa.types.is_string(column.type) else self.text.encode(), column.type)
        placeholder = pc.fill_null(pc.equal(column, sought), False).to_pylist()
        return [one or other for one, other in zip(named, placeholder, strict=True)]

    def _shown(self, states: list[_State]) -> pa.Table:
        plain = pa.array([state.row for state in states], pa.int64())
        columns = {name: self.rows.column(name).take(plain) for name in self.rows.schema.names}
        for name in self.unavailable:
            places = [state.row if (at := state.values.get(name)) is None else at for state in states]
            columns[name] = self.rows.column(name).take(pa.array(places, pa.int64()))
        absent = [self._absent(state) for state in states]
        columns[ABSENT] = pa.array(absent, self.rows.schema.field(ABSENT).type)
        columns[OP] = pa.array(["d" if state.deleted else "c" for state in states], self.rows.schema.field(OP).type)
        for at, name in enumerate(self.key):
            origins = [None if state.origin is None else state.origin[at] for state in states]
            columns[OLD_KEY + name] = pa.array(origins, self.rows.schema.field(OLD_KEY + name).type)
        return pa.table([columns[name] for name in self.rows.schema.names], schema=self.rows.schema)

    def _absent(self, state: _State) -> str | None:
        lacking = [name for name in self.unavailable if state.values.get(name) is None]
        return None if state.deleted else absent_text(lacking)
