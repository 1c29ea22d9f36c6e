"""Options: tables that the lists capture now, and did not when the pipeline's offset was saved."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from cdckit.api.source_config import SourceConfig

NewTables = Annotated[
    Literal["snapshot", "warn", "off"], BeforeValidator(lambda value: "snapshot" if value == "parallel" else value)
]
"""Debezium 1 says `parallel`."""


class NewTablesOptions(SourceConfig):
    """What becomes of them."""

    snapshot_new_tables: NewTables | None = None
    """What becomes of the rows of tables that the lists capture since they were changed: `snapshot` reads them, while
    the other tables go on; `warn` says that they are not read; `off` says nothing. By default `snapshot` where the sink
    keeps mirrors (and `snapshot.mode` reads rows), else `warn`.
    """

    @property
    def new_tables(self) -> Literal["snapshot", "warn", "off"] | None:
        """What the option says."""
        return self.snapshot_new_tables


def capture_lists(*kinds: str) -> tuple[str, ...]:
    """The fields of the include and exclude lists of these kinds."""
    return tuple(f"{kind}_{which}_list" for kind in kinds for which in ("include", "exclude"))
