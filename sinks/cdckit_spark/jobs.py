"""Tables kept by Spark jobs of one's own, out of the rows that the data source `cdckit` gives of one table.

    orders = spark.readStream.format("cdckit").option("table", "shop.orders")…load()
    orders.writeStream.foreachBatch(lambda rows, batch: mirror(rows, "s3a://lake/orders", batch))…start()

Both are the sink's own writers: tables are made, columns follow, and a batch that comes again is there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Literal, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cdckit import ConfigError
from cdckit.tables.context import TableContext
from cdckit.tables.destinations import folder_name
from cdckit.tables.own_columns import KEY, OP, POSITION, TABLE, TIME
from cdckit.tables.packets import PACKET_SCHEMA
from cdckit_spark.config import LakeConfig
from cdckit_spark.names import map_in_arrow
from cdckit_spark.own_packets import OwnPackets
from cdckit_spark.sink import LakeSink

Mode = Literal["changelog", "mirror"]


def mirror(
    rows: DataFrame,
    table: str,
    batch: int,
    *,
    key: Sequence[str] = (),
    application: str | None = None,
    options: Mapping[str, str] | None = None,
) -> int:
    """Brings a Delta table to the state behind a batch of rows; called again with the same batch, it changes nothing.

    Args:
        rows: of a batch, with the columns `_op`, `_position` and `_ts`; other columns may be any.
        table: the table: its folder, or an object store's URL, or the name `DATABASE.TABLE`.
        batch: the number of the batch, which counts up.
        key: the columns that tell rows apart; by default those that the source's table has as its key.
        application: what counts the batches; by default the query that calls this by `foreachBatch`.
        options: options of the sink `spark`, such as `schema.evolution`.

    Returns:
        how many rows the batch held.

    Raises:
        ConfigError: columns lack, or a key, or it is no batch of a query and there is no application.
        SinkError: the table does not take the rows.
    """
    return _write("mirror", rows, table, batch, tuple(key), application, options or {})


def changelog(
    rows: DataFrame,
    table: str,
    batch: int,
    *,
    application: str | None = None,
    options: Mapping[str, str] | None = None,
) -> int:
    """Appends a batch of rows, as the sink `spark` does with `mode: changelog`; raises and takes as `mirror`.

    `format: parquet` among the options makes a folder of parquet files.
    """
    return _write("changelog", rows, table, batch, (), application, options or {})


class _Writer(NamedTuple):
    """What writes the batches of one query into one table."""

    mode: Mode
    table: str
    options: tuple[tuple[str, str], ...]
    application: str
    by_query: bool


_TOLD = {OP: "string", POSITION: "string", TIME: "timestamp"}
"""The columns that tell of the change, and their types."""

_lock = Lock()
_open: dict[_Writer, tuple[str, LakeSink]] = {}
"""The sinks of this process by what they write, each with the run of the query that it was opened for."""


def _write(
    mode: Mode,
    rows: DataFrame,
    table: str,
    batch: int,
    key: tuple[str, ...],
    application: str | None,
    options: Mapping[str, str],
) -> int:
    _require_classic(mode, rows)
    place, topic = _place(table)
    columns = _columns(rows)
    packets = OwnPackets(mode, topic, _source(rows), columns, _key(mode, rows, key), _placeholder(options))
    run, query = _query(rows)
    if application is None and not query:
        raise ConfigError(
            "application: this is no batch of a streaming query, whose name could tell its batches from others': name "
            "what counts them",
            number="CDC2201",
        )
    writer = _Writer(mode, table, tuple(sorted(options.items())), application or query, application is None)
    # Between two calls that no query makes anything may happen to the table, and to the session.
    sink = _kept(writer, run, rows, place, options) if query else _made(writer, rows, place, options)
    try:
        written = sink.write(map_in_arrow(rows, packets.made, PACKET_SCHEMA), batch)
    except BaseException:
        with _lock:
            _open.pop(writer, None)  # what it knows of the table may be older than that
        sink.close()
        raise
    if not query:
        sink.close()
    return written


def _kept(writer: _Writer, run: str, rows: DataFrame, place: Mapping[str, str], options: Mapping[str, str]) -> LakeSink:
    """The sink of a run of a query, from batch to batch."""
    with _lock:
        known, sink = _open.get(writer, ("", None))
        if sink is not None and known == run:
            return sink
        if sink is not None:
            sink.close()
        made = _made(writer, rows, place, options)
        _open[writer] = run, made
        return made


def _made(writer: _Writer, rows: DataFrame, place: Mapping[str, str], options: Mapping[str, str]) -> LakeSink:
    config, _ = LakeConfig.load({**options, **place, "mode": writer.mode}, "options")
    made = LakeSink(config)
    # Spark repeats the last batch of a query; who numbers batches otherwise may write any of them again.
    context = TableContext("job", writer.application, commands=False, older_may_come=not writer.by_query)
    made.open(rows.sparkSession, context)
    return made


def _place(table: str) -> tuple[dict[str, str], str]:
    """Where the table is, as options of the sink, and the topic of that name.

    Raises:
        ConfigError: it cannot be called so.
    """
    if "/" in table:
        above, _, name = table.rstrip("/").rpartition("/")
        place = {"path": above or "/"}
        right = name == folder_name(name)
    else:
        above, _, name = table.rpartition(".")
        place = {"database": above}
        right = bool(above) and name.replace("_", "").isalnum()
    if not right:
        raise ConfigError(
            f"table: '{table}' should be a path whose last part has letters, digits, '.', '_' and '-' alone, or a name "
            "like DATABASE.TABLE",
            number="CDC2201",
        )
    return place, name


def _require_classic(mode: Mode, rows: DataFrame) -> None:
    """Looks whether the rows are of this process's own session.

    Raises:
        ConfigError: they are a server's, by Spark Connect.
    """
    if type(rows).__module__.startswith("pyspark.sql.connect."):
        raise ConfigError(
            f"{mode}: rows of Spark Connect cannot be written into tables from here, which the driver's own JVM does: "
            "run the job by spark-submit with a session of its own, let a pipeline keep the table (sink 'spark', cdc "
            "run), or write messages by writeStream.format('cdckit')",
            number="CDC2402",
        )


def _query(rows: DataFrame) -> tuple[str, str]:
    """The run and the name of the query whose batch this is; empty where it is none."""
    context = rows.sparkSession.sparkContext
    found = context.getLocalProperty("spark.jobGroup.id"), context.getLocalProperty("sql.streaming.queryId")
    return found[0] or "", found[1] or ""


def _columns(rows: DataFrame) -> tuple[tuple[str, str], ...]:
    """The table's columns.

    Raises:
        ConfigError: those that tell of the change lack, or are of other types; or there are two of one name, or one
            without a type.
    """
    lacking = [name for name in (OP, POSITION, TIME) if name not in rows.columns]
    if lacking:
        raise ConfigError(
            f"rows: lack the columns {', '.join(lacking)}, which those of the data source 'cdckit' with the option "
            "'table' have: select them, too",
            number="CDC2201",
        )
    if problems := [*_problems(rows.schema)]:
        raise ConfigError(*problems, number="CDC2203")
    told = {OP, POSITION, TIME}
    return tuple((field.name, field.dataType.simpleString()) for field in rows.schema if field.name not in told)


def _problems(schema: StructType) -> Iterator[str]:
    seen: dict[str, str] = {}
    for field in schema:
        found, wanted = field.dataType.simpleString(), _TOLD.get(field.name)
        if (before := seen.get(field.name.lower())) is not None:
            yield f"rows: columns '{before}' and '{field.name}' have one name in a table: rename one, or leave it out"
        seen[field.name.lower()] = field.name
        if wanted not in (None, found):
            yield f"rows: {field.name} should be {wanted}, and is {found}: leave it as it was read, or cast it"
        if found == "void":
            yield f"rows: column '{field.name}' has no type, as it is null everywhere: cast it"


def _source(rows: DataFrame) -> str:
    """The source's table, as far as the rows' metadata tell it."""
    return str(rows.schema[POSITION].metadata.get(TABLE, ""))


def _key(mode: Mode, rows: DataFrame, key: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that tell rows apart; those of the source's key by the names that they have now."""
    if mode == "changelog":
        return ()
    whole = rows.schema[POSITION].metadata.get(KEY, [])
    told = {
        field.metadata[KEY]: field.name for field in rows.schema if field.name != POSITION and KEY in field.metadata
    }
    wanted = key or tuple(told[place] for place in range(len(whole)) if place in told)
    missing = [name for name in wanted if name not in rows.columns]
    if missing or not wanted or (not key and len(wanted) < len(whole)):
        raise ConfigError(
            f"key: {f'the rows have no column {missing[0]}' if missing else 'the rows do not tell all of their key'}: "
            "a mirror finds its rows by it; name its columns by 'key', and select them",
            number="CDC2201",
        )
    return wanted


def _placeholder(options: Mapping[str, str]) -> str:
    default: str = LakeConfig.model_fields["unavailable_value_placeholder"].default
    return options.get("unavailable.value.placeholder", default)


__all__ = ["changelog", "mirror"]
