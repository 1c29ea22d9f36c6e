"""The contract of a decoder, and what all decoders share."""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cdckit import DecodeError, Record, Schema
from cdckit_ticdc.columns.column import Column
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Bootstrap, Ddl, Event, Watermark
from cdckit_ticdc.layout import Layout
from cdckit_ticdc.message import Message
from cdckit_ticdc.records import SOURCE, RecordMaker, time_of

FAULTS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    RecursionError,
    MemoryError,
    struct.error,
)
"""What reading a message of the wrong shape raises."""

_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class DecoderOptions:
    """What decoders are told.

    Attributes:
        columns: how columns are shown.
        prefix: what topics begin with; None: the name that messages give to their source.
        keys: the columns of keys that the user names, by `database.table`.
        tombstones: whether a delete is followed by a record without value.
    """

    columns: ColumnOptions = field(default_factory=ColumnOptions)
    prefix: str | None = None
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tombstones: bool = False


class Peek(NamedTuple):
    """What a message is, found out without decoding its rows.

    Attributes:
        times: the commit_ts of its rows, each once, or of the DDL; 0 where it does not tell.
        other: what it is, where it carries no rows.
    """

    times: tuple[int, ...]
    other: Watermark | Ddl | Bootstrap | None = None


class Decoder(ABC):
    """Makes events of one protocol's messages. It keeps layouts, and definitions that messages bring."""

    learns: bool = False
    """Whether rows are read with definitions that other messages bring."""

    times_rows: bool = True
    """Whether every row tells when it was committed."""

    def __init__(self, options: DecoderOptions, definitions: Definitions) -> None:
        self.options = options
        self.definitions = definitions
        self.maker = RecordMaker(tombstones=options.tombstones)
        self._layouts: dict[Hashable, Layout] = {}

    def decode(self, message: Message) -> Sequence[Event]:
        """The events of a message, in their order.

        Raises:
            DecodeError: it is truncated, of another protocol, or does not fit its own schema; with its place.
        """
        try:
            return self.events(message)
        except (DecodeError, *FAULTS) as error:
            raise _with_place(message, error) from error

    def peek(self, message: Message) -> Peek:
        """What a message is.

        Raises:
            DecodeError: it cannot be understood; with its place.
        """
        try:
            return self.outline(message)
        except (DecodeError, *FAULTS) as error:
            raise _with_place(message, error) from error

    def outline(self, message: Message) -> Peek:
        """What a message is; raises as `events`. A decoder that can tell faster than by decoding does."""
        found = self.events(message)
        rows = [event for event in found if isinstance(event, Record)]
        if rows or not found:
            return Peek(tuple({time_of(row): None for row in rows}))
        other = found[0]
        assert not isinstance(other, Record)
        return Peek((other.commit_ts,) if isinstance(other, Ddl) else (), other)

    @abstractmethod
    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message; anything in `FAULTS` may be raised where it is not of this protocol."""

    def layout(
        self,
        identity: Hashable,
        name: str,
        table: tuple[str, str],
        make: Callable[[], tuple[list[Column], Sequence[str]]],
    ) -> Layout:
        """The layout that belongs to `identity`, made when it is first asked for.

        Args:
            identity: what tells it from others: all that columns and key follow from.
            name: the source's name in its messages.
            table: database and table.
            make: gives the columns and the names of the key's columns.
        """
        found = self._layouts.get(identity)
        if found is None:
            columns, key = make()
            key = self.options.keys.get(".".join(table), key)
            missing = [column for column in key if all(column != one.name for one in columns)]
            if missing:
                raise DecodeError(f"table {'.'.join(table)}: the key's column '{missing[0]}' is none of its columns")
            if len(set(key)) < len(key):
                raise DecodeError(f"table {'.'.join(table)}: the key names a column twice ({', '.join(key)})")
            found = self._layouts[identity] = Layout(self.topic(name, table), *table, columns, key, self.source_schema)
        return found

    @property
    def source_schema(self) -> Schema:
        """The schema of the source block."""
        return SOURCE

    def topic(self, name: str, table: tuple[str, str]) -> str:
        """The topic of a table's records."""
        return topic_name(".".join((self.options.prefix or name, *table)))


def _with_place(message: Message, error: Exception) -> DecodeError:
    if isinstance(error, DecodeError):
        return DecodeError(f"{message.place}: {error}")
    return DecodeError(f"{message.place}: no message of this protocol ({briefly(error)})", number="CDC5204")


def topic_name(name: str) -> str:
    """A name with what Kafka does not allow replaced by `_`."""
    return _NOT_IN_TOPICS.sub("_", name)


def briefly(error: Exception) -> str:
    """What was wrong with a message, in few words."""
    text = str(error)
    if isinstance(error, KeyError):
        return f"{text} is missing"
    return text if len(text) <= 200 else f"{text[:200]}…"
