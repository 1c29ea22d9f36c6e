"""The base of a source's config model: its options, and what others must know of a source before there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from cdckit.api.plugin_config import PluginConfig, dotted
from cdckit.api.record import Offset
from cdckit.errors import ConfigError


class SourceConfig(PluginConfig):
    """Options of a source. What follows is true of a plain one; a source overrides what is not true of it.

    A theme of options that overrides something here is a subclass of this class, so that Python asks it first.
    """

    named_by: ClassVar[str | None] = None
    """The field, such as `topic_prefix`, that holds the source's own name: that of a pipeline which has none, the label
    `server` of its metrics, and what a connector's offsets are found by when they are taken over."""
    choosing: ClassVar[tuple[str, ...]] = ()
    """The fields that say which tables are captured, where these can be listed (`Source.readable`)."""
    shaping: ClassVar[tuple[str, ...]] = ()
    """The fields that say what events look like: with others a saved offset is not gone on from in silence."""
    tells_documents: ClassVar[bool] = True
    """Whether rows may be documents, of which a sink is told the columns (`document.columns`)."""

    @property
    def logical_name(self) -> str | None:
        """The source's own name, where it has one."""
        found = None if self.named_by is None else getattr(self, self.named_by)
        return None if found is None else str(found)

    @classmethod
    def naming_option(cls) -> str | None:
        """The option that says it."""
        return None if cls.named_by is None else cls.model_fields[cls.named_by].alias or dotted(cls.named_by)

    @property
    def metric_labels(self) -> Mapping[str, str]:
        """Labels that every metric of its pipeline has beside the usual ones."""
        return {}

    @property
    def inputs(self) -> Sequence[str]:
        """The names of what it reads, for OpenLineage, where its options alone say them; tables it tells by notices."""
        return ()

    @property
    def skipped(self) -> frozenset[str]:
        """The operations (`c`, `u`, `d`, `t`) that it leaves out."""
        return frozenset()

    @property
    def partial_updates(self) -> str | None:
        """Where updates carry only what has changed: what to do to have whole rows. None: they carry whole rows."""
        return None

    @property
    def changes_left_out(self) -> str | None:
        """Why changes of captured tables may rightly be missing in the sink, besides `skipped`; None: none may."""
        return None

    @property
    def reads_in_order(self) -> bool:
        """Whether one process has to read the log in order, also on Spark: signals say what it reads next."""
        return False

    @property
    def looks_up_rows(self) -> bool:
        """Whether the log tells of rows as they are when it is read, so that `Source.as_it_was` is asked instead."""
        return False

    def ends_exactly(self, offset: Offset) -> bool:
        """Whether the log can be read up to just an offset that another reader of it has saved."""
        return False

    @property
    def no_sums(self) -> str | None:
        """Why the changes of its log do not add up to its rows, for a pipeline's `ledger`; None: they do.

        They do where each change is told once with the row before it, and the log goes on just where the snapshot's
        rows end.
        """
        return "this source does not promise that its changes add up to its rows"

    @property
    def snapshot_overlaps(self) -> bool:
        """Whether the log may tell again what the rows of the whole snapshot show, on the direct runner.

        Where tables are read in parts beside each other (`Source.plan` up to an end), it always may.
        """
        return False

    @property
    def new_tables(self) -> Literal["snapshot", "warn", "off"] | None:
        """What becomes of the rows of tables that its lists capture now, and did not when the offset was saved.

        `snapshot` reads them (`Source.readable`), `warn` says that they are not read, `off` says nothing. None: they
        are read where the sink keeps mirrors and the snapshot reads rows.
        """
        return None

    @property
    def snapshot_takes_rows(self) -> bool:
        """Whether its snapshot reads rows."""
        return True

    def snapshot_takes(self, table: str) -> bool:
        """Whether the snapshot is to read the rows of one table, where it reads any."""
        return True

    def without_effect_on_spark(self) -> dict[str, str]:
        """The options that are set and do nothing while Spark reads: the reason, and what to do instead.

        What would be done wrongly there is refused by `not_on_spark`.
        """
        return {}

    def beside(self) -> Self:
        """These options for a reading beside the pipeline, as `cdc record` does it; the same by default.

        What would write to a system, take signals, or go by an address that one reader alone can have, is left out.
        """
        return self

    def whole(self, tables: Sequence[str]) -> Self:
        """These options for a reading of all rows that tables have now, and of their changes since, as `cdc diff` does.

        Nobody is locked out. Not known by default.

        Args:
            tables: the names of captured tables to confine it to; none: all that are captured.

        Raises:
            ConfigError: this source has no rows to read.
        """
        raise ConfigError("source.type: this source reads no tables, so that there is nothing to compare the sink with")

    def anew(self, tables: Sequence[str]) -> Self:
        """As `whole`, for a reading of the log alone, from an offset on, by somebody who has nothing but the offset.

        What the log needs and it does not tell (definitions) is taken as the source has it now.
        """
        return self.whole(tables)

    def rows_with(self, keys: Sequence[Mapping[str, Any]]) -> str:
        """The condition that chooses rows by their keys, as `additional-conditions` of a signal take one.

        Not known by default.

        Args:
            keys: at least one, each as JSON has it in records: numbers and texts alone.

        Raises:
            ConfigError: this source takes no such conditions.
        """
        raise ConfigError("source.type: no rows of this source can be asked for by their keys")

    def rows_left_out(self, table: str) -> str | None:
        """Why rows of a captured table from before the pipeline may rightly be missing in the sink; None: none may."""
        if not self.snapshot_takes_rows:
            return "snapshot.mode reads no rows, so that those from before the pipeline may be missing"
        if not self.snapshot_takes(table):
            return "the snapshot does not read this table, so that rows from before the pipeline may be missing"
        return None
