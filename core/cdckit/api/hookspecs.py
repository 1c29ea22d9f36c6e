"""Every hook that a plugin may implement. A plugin is any object in the entry-point group `cdckit`.

Registrations are strings, so that listing what is installed imports no driver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pluggy

from cdckit.api.event_traits import EventTraits
from cdckit.api.notices import DefinedColumn
from cdckit.api.record import Offset
from cdckit.api.schema import Schema
from cdckit.api.snapshotting import SnapshotLock, SnapshotMode, SnapshotQuery
from cdckit.api.source_counts import SourceCounts

if TYPE_CHECKING:
    import click

    from cdckit.api.notification import Notification

hookspec = pluggy.HookspecMarker("cdckit")
hookimpl = pluggy.HookimplMarker("cdckit")


@dataclass(frozen=True, slots=True)
class Registration:
    """A component that a plugin brings.

    Attributes:
        name: what stands behind `type:` in a pipeline file.
        factory: `module:Class`, called with an instance of the config model.
        config: `module:Model`, a `PluginConfig`.
        summary: one line for `cdc plugins`.
        extra: the extra of cdckit (or the package) that installs what it needs; None when nothing more is needed.
        requires: the import packages which that extra brings.
        aliases: other names for it, such as Debezium's and Kafka's class names.
        events: of a source: what is particular to the events of the connectors that it stands for.
        on_spark: of a sink: `module:Class` of what is made in the factory's place where Spark runs the pipeline; None:
            the factory's.
    """

    name: str
    factory: str
    config: str
    summary: str
    extra: str | None = None
    requires: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    events: tuple[EventTraits, ...] = ()
    on_spark: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """A column as a converter sees it.

    Attributes:
        data_collection: `database.table`.
        name: the column's name.
        type_name: the database's type in capitals, such as `INT UNSIGNED`.
        length: the declared length or display width, or None.
        scale: the declared scale, or None.
        optional: whether it may be NULL.
        has_default: whether a default is declared.
        default: the default as its SQL literal's text, or None.
        charset: the character set of a column of text, or None.
        schema: the schema that its values have without a converter.
    """

    data_collection: str
    name: str
    type_name: str
    length: int | None
    scale: int | None
    optional: bool
    has_default: bool
    default: str | None
    charset: str | None
    schema: Schema


class ColumnConverter:
    """What a converter hook answers for a column: its schema, and how a value becomes one of that schema.

    Attributes:
        schema: the field's schema. It becomes optional where the column may hold NULL, and gets the column's default,
            converted.
    """

    takes_null: ClassVar[bool] = False
    """Whether `convert` is given None too: for NULL, and for what cannot be shown, such as a date with zeros, which
    without the converter would be null, or the epoch where the column forbids NULL."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def convert(self, value: Any) -> Any:
        """The value that the event shows, in the schema's primitive type; None only where the schema is optional.

        Given what would be shown without it.
        """
        raise NotImplementedError


@hookspec
def cdckit_sources() -> Sequence[Registration]:  # type: ignore[empty-body]
    """The sources that the plugin brings; a factory makes a `cdckit.api.source.Source`."""


@hookspec
def cdckit_sinks() -> Sequence[Registration]:  # type: ignore[empty-body]
    """The sinks that the plugin brings; a factory makes a `cdckit.api.sink.Sink` or a `TableSink`."""


@hookspec
def cdckit_transforms() -> Sequence[Registration]:  # type: ignore[empty-body]
    """The transforms that the plugin brings; a factory makes a `cdckit.api.transform.Transform`."""


@hookspec
def cdckit_predicates() -> Sequence[Registration]:  # type: ignore[empty-body]
    """The predicates that the plugin brings; a factory makes a `cdckit.api.transform.Predicate`."""


@hookspec
def cdckit_serializers() -> Sequence[Registration]:  # type: ignore[empty-body]
    """The serializers that the plugin brings; a factory makes a `cdckit.api.serializer.Serializer`."""


@hookspec
def cdckit_state_stores() -> Sequence[Registration]:  # type: ignore[empty-body]
    """The state stores that the plugin brings; a factory makes a `cdckit.api.state_store.StateBackend`."""


@hookspec
def cdckit_converter_types() -> Sequence[str]:  # type: ignore[empty-body]
    """What may stand behind `NAME.type` of a converter: the types that the plugin's `cdckit_converter` answers for."""


@hookspec(firstresult=True)
def cdckit_converter(type_name: str, options: dict[str, str], column: ColumnDescription) -> ColumnConverter | None:
    """The converter for a column, or None to leave it to the next plugin.

    Asked once per column and configured converter (`converters`, `NAME.type`), never per row.

    Args:
        type_name: what stands behind `NAME.type`.
        options: the other options of that converter, without their prefix.
        column: the column in question.

    Raises:
        ConfigError: an option of the converter cannot be understood.
    """


@hookspec(firstresult=True)
def cdckit_snapshot_mode(name: str) -> SnapshotMode | None:
    """The snapshot mode called `name` (`snapshot.mode.custom.name`), or None to leave it to the next plugin."""


@hookspec(firstresult=True)
def cdckit_snapshot_lock(name: str) -> SnapshotLock | None:
    """The way of locking called `name` (`snapshot.locking.mode.custom.name`), or None."""


@hookspec(firstresult=True)
def cdckit_snapshot_query(name: str) -> SnapshotQuery | None:
    """The choice of rows called `name` (`snapshot.query.mode.custom.name`), or None."""


@hookspec
def cdckit_commands() -> Sequence[click.Command]:  # type: ignore[empty-body]
    """More commands for `cdc`."""


@hookspec
def cdckit_started(pipeline: str, runner: str, offset: Offset | None) -> None:
    """A pipeline starts; `offset` is the one that is saved (None: none is). Where it reads from, its source decides."""


@hookspec
def cdckit_activity(pipeline: str, activity: str) -> None:
    """The runner is at something for which everything waits, such as `starting Spark`; empty: that is done."""


@hookspec
def cdckit_batch_committed(
    pipeline: str,
    records: int,
    offset: Offset,
    log_time_ms: int | None,
    log_bytes: int,
    lag_bytes: int | None,
    lag_messages: int | None,
    counts: SourceCounts,
) -> None:
    """The sink holds `records` more, and `offset` is saved.

    Args:
        pipeline: its name.
        records: how many the sink took since the last notice.
        offset: what was saved.
        log_time_ms: when the newest of these changes was committed at the source.
        log_bytes: how much of the log was read since the last notice.
        lag_bytes: how much of the log lies between `offset` and its end, or None where the source cannot tell.
        lag_messages: the same in messages, for a source whose log consists of them.
        counts: what the source counted since the last notice; where metrics are off, only what is rare.
    """


@hookspec
def cdckit_schema_changed(pipeline: str, position: str, ddl: str, tables: Sequence[str]) -> None:
    """The source met a change of definition at `position` that concerns `tables` (`database.table`)."""


@hookspec
def cdckit_table_defined(pipeline: str, data_collection: str, columns: Sequence[DefinedColumn]) -> None:
    """A captured table has these columns from here on; told only where OpenLineage is (`openlineage.integration.*`)."""


@hookspec
def cdckit_schema_history(pipeline: str, recovering: bool, changes: int, last: str | None) -> None:
    """The source begins to read its schema history (`recovering`), or has done so.

    Args:
        pipeline: its name.
        recovering: whether it begins.
        changes: how many entries were read.
        last: the position of the last of them.
    """


@hookspec
def cdckit_captured(pipeline: str, data_collections: Sequence[str]) -> None:
    """The log is read from here on for these tables (`database.table`); told only where metrics are on."""


@hookspec
def cdckit_unmatched(pipeline: str, entries: Sequence[str]) -> None:
    """What was found at the start of entries in the include lists that match nothing: a sentence about each."""


@hookspec
def cdckit_connection(pipeline: str, connected: bool, reason: str) -> None:
    """The connection that the log is read from stands, or was lost for a `reason` and is opened anew."""


@hookspec
def cdckit_snapshot_started(pipeline: str, data_collections: Mapping[str, int | None]) -> None:
    """A snapshot begins to read these tables (`database.table`), each of about so many rows (None: not known)."""


@hookspec
def cdckit_snapshot_locked(pipeline: str, locked: bool) -> None:
    """A snapshot has locked writers out, or lets them go on."""


@hookspec
def cdckit_snapshot_progress(
    pipeline: str, data_collection: str, rows: int, estimate: int | None, finished: bool
) -> None:
    """The snapshot has read `rows` of about `estimate` of one table."""


@hookspec
def cdckit_snapshot_ended(pipeline: str, completed: bool) -> None:
    """A snapshot is over: everything was read, or it was broken off."""


@hookspec
def cdckit_notification(pipeline: str, notification: Notification) -> None:
    """The source tells of a snapshot: that it begins, how far it is, that it is done."""


@hookspec
def cdckit_stopped(pipeline: str, error: BaseException | None) -> None:
    """A pipeline has ended: by itself or a signal (None), or by an error."""
