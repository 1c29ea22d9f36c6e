"""What rows of one table look like in a query of one's own: the table's columns, and three that tell of the change.

Spark fixes a query's columns when it is planned. So they are those that the table has then, by the source; rows of
other definitions are put into them (`cdckit.engine.spark.typed_rows`), and the planner sees to it that none of a later
one comes (`DefinitionWatch`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
from arro3.core import Field, Schema
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from cdckit.api.marks import TableExample
from cdckit.api.notices import Notice, Notices, PassedNotices
from cdckit.api.record import Record
from cdckit.api.source import Source, SourceContext
from cdckit.api.struct import Struct
from cdckit.connector.resnapshot import named
from cdckit.engine.chain import TransformChain, make_chain
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.errors import ConfigError, SourceError
from cdckit.tables.documents import DeclaredColumn, parse_columns
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.own_columns import KEY, OP, POSITION, TABLE, TIME
from cdckit.tables.shapes import shape_of as envelope_of

_TOLD = pa.schema([(OP, pa.string()), (POSITION, pa.string()), (TIME, pa.timestamp("us", tz="UTC"))])


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for.

    Attributes:
        table: `database.table`, as the user writes it.
        documents: what `document.columns` of a sink would say.
        emptied: whether rows `t` say that a snapshot begins, too.
    """

    table: str
    documents: str = ""
    emptied: bool = False


@dataclass(frozen=True, slots=True)
class TableShape:
    """What rows of one table look like.

    Attributes:
        table: `database.table`, as the source has it.
        topic: that of its records before the transforms.
        columns: the table's own, as the transforms leave them.
        key: those of them that tell rows apart; none for a table without a key.
        documents: what declares columns of documents.
        emptied: see `Wanted`.
    """

    table: str
    topic: str
    columns: pa.Schema
    key: tuple[str, ...]
    documents: str = ""
    emptied: bool = False

    @property
    def all_columns(self) -> pa.Schema:
        """The table's columns, and those that tell of the change."""
        return pa.schema([*self.columns, *_TOLD])

    @property
    def spark_schema(self) -> StructType:
        """The same in Spark's types; metadata names the key."""
        made = from_arrow_schema(self.all_columns, prefer_timestamp_ntz=True)
        return StructType([StructField(one.name, one.dataType, True, self._metadata(one.name)) for one in made])

    def _metadata(self, name: str) -> dict[str, int | str | list[str]]:
        if name == POSITION:
            return {TABLE: self.table, KEY: [*self.key]}
        return {KEY: self.key.index(name)} if name in self.key else {}


def shape_now(pipeline: ResolvedPipeline, wanted: Wanted) -> TableShape:
    """What a table's rows look like, as the source has its definition now. Needs no state.

    Raises:
        ConfigError: no such table is captured, or it has no rows with columns of its own.
        SourceError: the source cannot be reached, or refuses.
    """
    source = make_source(pipeline)
    with closing(source), closing(make_chain(pipeline.transforms)) as chain:
        source.open(SourceContext(pipeline.name))
        try:
            captured = source.readable()
        except ConfigError as error:
            raise ConfigError("table: this source does not know which columns its tables have: leave 'table' out, and "
                              "take the messages", number="CDC2503") from error  # fmt: skip
        (name,) = named([wanted.table], captured, option="table")
        return shape_of(source.example(name), chain, wanted)


def shape_of(example: TableExample, chain: TransformChain, wanted: Wanted) -> TableShape:
    """What the transforms make of a table's rows.

    Raises:
        ConfigError: nothing, or rows of several tables; or a column has the name of one that tells of the change.
    """
    encode, made_rows = TableEncoder("changelog", "", declared(wanted.documents)), chain.apply([example.records[0]])
    groups = [*encode.gathered(made_rows)[0]]
    if len(groups) != 1:
        made = "no rows" if not groups else "rows of several topics"
        raise ConfigError(f"table: the transforms make {made} of those of '{example.table}': leave 'table' out, and "
                          "take the messages", number="CDC2402")  # fmt: skip
    (group,) = groups
    if wanted.documents and not any(map(_is_document, made_rows)):
        raise ConfigError("documentColumns: says which columns documents have, as of MongoDB's collections; "
                          f"'{example.table}' has columns of its own: take it away", number="CDC2402")  # fmt: skip
    taken = [name for name, _ in group.columns if name.lower() in _TOLD.names]
    if taken:
        raise ConfigError(f"table: '{example.table}' has a column '{taken[0]}', as this data source has: rename it on "
                          "its way with the transform ReplaceField", number="CDC2402")  # fmt: skip
    columns = pa.schema(Schema([Field(name, kind.arrow) for name, kind in group.columns]))
    topic = example.records[0].topic
    return TableShape(example.table, topic, columns, group.key, wanted.documents, wanted.emptied)


def _is_document(record: Record) -> bool:
    if not isinstance(record.value, Struct):
        return False
    shape = envelope_of(record.value.schema)
    return shape is not None and shape.has_documents


def declared(documents: str) -> tuple[DeclaredColumn, ...]:
    """The columns that are declared for documents.

    Raises:
        ConfigError: the text declares none.
    """
    try:
        return parse_columns(documents) if documents else ()
    except ValueError as error:
        raise ConfigError(f"documentColumns: {error}") from error


class DefinitionWatch(PassedNotices):
    """Notes that the log has changed a table's definition, and passes on all that is told.

    Args:
        notices: takes it.
        shape: whose.
    """

    def __init__(self, notices: Notices, shape: TableShape) -> None:
        super().__init__(notices)
        self._shape = shape
        self._changed = False

    def tell(self, notice: Notice) -> None:
        """Passes it on."""
        if notice.name == "schema_changed" and self._shape.table in notice.facts["tables"]:
            self._changed = True
        super().tell(notice)

    def require_same(self, source: Source, chain: Callable[[], TransformChain]) -> None:
        """Looks, where the log has changed the definition, whether that leads to the one which the query knows.

        Changes of before the query was planned do. So does one of a table that is gone meanwhile.

        Raises:
            SourceError: the table has other columns by now.
        """
        if not self._changed:
            return
        self._changed = False
        shape = self._shape
        if shape.table not in source.readable():
            return
        with closing(chain()) as transforms:
            now = shape_of(source.example(shape.table), transforms, Wanted(shape.table, shape.documents, shape.emptied))
        if now != shape:
            raise SourceError(
                f"{shape.table} has other columns than when the query was planned ({_difference(shape, now)}): start "
                "the query again; it goes on from its checkpoint, with the columns of now",
                number="CDC3505",
            )


def _difference(before: TableShape, now: TableShape) -> str:
    """What has changed, for people."""
    old, new = ({field.name: field.type for field in shape.columns} for shape in (before, now))
    said = [f"added: {', '.join(added)}" if (added := _beyond(new, old)) else ""]
    said.append(f"dropped: {', '.join(dropped)}" if (dropped := _beyond(old, new)) else "")
    said.append(f"of another type: {', '.join(n)}" if (n := [x for x in new if x in old and new[x] != old[x]]) else "")
    return "; ".join(filter(None, said)) or "their order or the key"


def _beyond(names: Iterable[str], others: Mapping[str, pa.DataType]) -> list[str]:
    return [name for name in names if name not in others]
