"""Options: which tables or collections are captured, and which of their changes."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from cdckit.api.lists import NameList, split_names
from cdckit.api.plugin_config import dotted
from cdckit.api.source_config import SourceConfig
from cdckit.connector.guardrail import GuardrailOptions

_OPERATIONS = ("c", "u", "d", "t", "none")


def _known(text: str) -> str:
    unknown = [item for item in split_names(text) if item not in _OPERATIONS]
    if unknown:
        raise ValueError(f"'{unknown[0]}' is no operation; known are {', '.join(_OPERATIONS)}")
    return text


OperationList = Annotated[NameList, AfterValidator(_known)]
"""Comma-separated letters of operations, or `none`."""

NewTables = Annotated[
    Literal["snapshot", "warn", "off"], BeforeValidator(lambda value: "snapshot" if value == "parallel" else value)
]
"""Debezium 1 says `parallel`."""


class CaptureOptions(GuardrailOptions, SourceConfig):
    """What is captured. Each source has include and exclude lists of its own: `KIND_include_list`."""

    snapshot_new_tables: NewTables | None = None
    """What becomes of the rows of tables that the lists capture since they were changed: `snapshot` reads them, while
    the other tables go on; `warn` says that they are not read; `off` says nothing. By default `snapshot` where the sink
    keeps mirrors (and `snapshot.mode` reads rows), else `warn`.
    """
    skipped_operations: OperationList = "t"
    """Operations to leave out: `c`, `u`, `d`, `t`, or `none`. An update that changes a row's key is one of `u`,
    although it makes a delete and a create.
    """

    @model_validator(mode="after")
    def _one_of_each_pair(self) -> Self:
        fields = type(self).model_fields
        for include in (name for name in fields if name.endswith("_include_list")):
            exclude = include.replace("_include_list", "_exclude_list")
            if exclude in fields and getattr(self, include) and getattr(self, exclude):
                raise ValueError(f"{dotted(include)} and {dotted(exclude)} exclude each other; keep one")
        return self

    @property
    def skipped(self) -> frozenset[str]:
        """The operations that make no records."""
        return frozenset(split_names(self.skipped_operations)) - {"none"}

    @property
    def new_tables(self) -> Literal["snapshot", "warn", "off"] | None:
        """What becomes of the rows of newly captured tables."""
        return self.snapshot_new_tables


def capture_lists(*kinds: str) -> tuple[str, ...]:
    """The fields of the include and exclude lists of these kinds."""
    return tuple(f"{kind}_{which}_list" for kind in kinds for which in ("include", "exclude"))
