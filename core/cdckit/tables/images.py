"""Tables read back for `cdc diff`, and the rows that a pipeline's records would be in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from cdckit.api.held import Image, ImageColumns, Images, Shown
from cdckit.errors import SinkError
from cdckit.tables.emptied import TOLD, Place, emptied, is_behind
from cdckit.tables.layout import POSITION
from cdckit.tables.options import TableOptions
from cdckit.tables.row_images import RowImages, first_line

Part = TypeVar("Part")


class TableImages(RowImages, Images):
    """Of the tables of one sink: mirrors, or changelogs.

    Args:
        config: the sink's options.
    """

    def __init__(self, config: TableOptions) -> None:
        Images.__init__(self)
        RowImages.__init__(self, config)
        self._mirror = config.mode != "changelog"
        self.by_position, self.once = not self._mirror, True

    @abstractmethod
    def _schema(self, topic: str) -> pa.Schema | None:
        """The columns of a topic's table as it is now; None where there is none."""

    @abstractmethod
    def _scan(self, topic: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of the rows of the newest version of a topic's table, whatever is written meanwhile."""

    def _unread(self, topic: str) -> str | None:
        """Why a table that is there cannot be read; None: it can."""
        return None

    def show(self, topic: str, shown: Shown) -> None:
        """Notes as well what the table's columns are by now, which both sides are brought to."""
        columns = self._document_columns() if shown.columns is None else shown.columns
        self._columns[topic], self._keys[topic] = sorted({*columns, *shown.key}), shown.key
        self._documents[topic], self._floats[topic] = shown.documents, shown.floats
        self._types.pop(topic, None)
        schema = self._schema(topic)
        if schema is None:
            return
        if (why := self._unread(topic)) is not None:
            self.undecidable[topic] = why
            return
        if lacking := [name for name in self._columns[topic] if name not in schema.names]:
            self.undecidable[topic] = f"its table has no column {', '.join(lacking)} (schema.evolution)"
            return
        self._types[topic] = schema

    def held(self, topics: Collection[str]) -> Iterator[Sequence[Image]]:
        """The rows of the newest version of each table, whatever is written meanwhile."""
        return self._of_topics(topics, self._held)

    def held_columns(self, topics: Collection[str]) -> Iterator[ImageColumns | Iterable[Image]]:
        """By columns where the tables are mirrors."""
        return self._of_topics(topics, self._held_columns)

    def _of_topics(self, topics: Collection[str], read: Callable[[str], Iterator[Part]]) -> Iterator[Part]:
        for topic in topics:
            if topic not in self.undecidable and self._schema(topic) is not None:
                try:
                    yield from read(topic)
                except (pa.ArrowException, OSError) as error:
                    raise SinkError(f"table of topic {topic}: {first_line(error)}; nothing can be compared") from error

    def _held_columns(self, topic: str) -> Iterator[ImageColumns | Iterable[Image]]:
        if not self._mirror:
            yield from self._held(topic)
            return
        for rows in self._scan(topic, self._columns[topic]):
            if (texts_of := self.texts(topic, rows)) is not None:
                yield ImageColumns(topic, *texts_of)

    def _held(self, topic: str) -> Iterator[Sequence[Image]]:
        names = self._names(topic)
        if self._mirror:
            for rows in self._scan(topic, names):
                yield list(self.images(topic, rows, (), rows.column(POSITION).to_pylist()))
            return
        emptied_at = self._emptied(topic)
        for rows in self._scan(topic, names):
            kept = rows.filter(is_behind(rows, emptied_at)) if emptied_at else rows
            gone = kept.column("__deleted").to_pylist()
            yield list(self.images(topic, kept, gone, kept.column(POSITION).to_pylist()))

    def _emptied(self, topic: str) -> dict[Place, str]:
        """The source tables that a changelog tells were emptied, and where last."""
        found: dict[Place, str] = {}
        for rows in self._scan(topic, [*TOLD, POSITION]):
            for place, position in emptied(rows):
                found[place] = max(position, found.get(place, ""))
        return found

    def _names(self, topic: str) -> list[str]:
        """The columns that are read."""
        told = self._told_columns(topic).intersection(self._types[topic].names if topic in self._types else ())
        return [*sorted({*self._columns[topic], *told}), POSITION, *(() if self._mirror else ("__deleted", *TOLD))]

    def close(self) -> None:
        """Nothing is open."""
