"""Options of sinks whose tables are written by the process that has the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, NonNegativeInt, PositiveInt, SecretStr, model_validator

from cdckit.api.lists import NameList
from cdckit.tables.documents import parse_columns
from cdckit.tables.options import TableOptions


def _as_text(value: Any) -> Any:
    """What YAML takes for a number or a truth value."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _declared(text: str) -> str:
    parse_columns(text)
    return text


Secret = Annotated[SecretStr, BeforeValidator(_as_text)]
"""A value that may be a password."""


def revealed(options: Mapping[str, SecretStr]) -> dict[str, str]:
    """Options with their secrets, for the library that is to know them."""
    return {name: secret.get_secret_value() for name, secret in options.items()}


class LakeOptions(TableOptions):
    """What tables hold, how they follow their sources, and when they are written."""

    document_columns: Annotated[str, AfterValidator(_declared)] = ""
    """For documents (MongoDB): columns to read out of them in the place of one that holds the document as JSON, as
    `FIELD TYPE, …`: `name string, address.city string, bought timestamp, price decimal(10,2), tags json`. A dot leads
    into a nested field and becomes `_` in the column's name. Types: string, json, boolean, int, bigint, double,
    decimal(p,s), timestamp, binary.
    """
    mirror_apply_interval_ms: NonNegativeInt = 0
    """With `mode: mirror`: for how long, in milliseconds, changes wait in a table beside the mirror (its name
    has `~changes` behind it, in a catalog `__changes`) before they are merged into it together; 0 merges each batch.
    """
    optimize_interval_ms: NonNegativeInt = 0
    """How often, in milliseconds, small files of a table are put together and versions that its
    retention time does not need are forgotten, between two commits; 0 leaves that to others.
    """
    cluster_by: NameList = ""
    """The columns by which rows that are near each other are put into the same files, as a list or with commas, so that
    who looks for some of them reads few files: a Delta table's with `optimize.interval.ms`, by Z-order; a new Iceberg
    table's in each file that is written, by its sort order. A table is not clustered by columns that it lacks.
    """
    commit_interval_ms: NonNegativeInt = 0
    """How long, in milliseconds, changes are gathered for one commit; 0 commits as they come, and gathers them for half
    a second at the most while there are more than commits could follow.
    """
    tables_parallel: PositiveInt = 4
    """How many tables are written at the same time."""

    @model_validator(mode="after")
    def _check_waiting(self) -> Self:
        if self.mode == "history" and self.mirror_apply_interval_ms:
            raise ValueError(
                "'mirror.apply.interval.ms' is for 'mode: mirror': 'commit.interval.ms' gathers changes of a history"
            )
        return self
