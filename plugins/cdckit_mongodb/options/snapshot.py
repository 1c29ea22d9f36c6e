"""Options: when and how collections are read as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, model_validator

from cdckit import NameList, split_names
from cdckit.connector.options import snapshot
from cdckit_mongodb.options.stream import Stage, read_json

_SNAPSHOT_MODES = {"never": "no_data"}

SnapshotMode = Annotated[
    Literal["always", "initial", "initial_only", "no_data", "when_needed", "configuration_based", "custom"],
    BeforeValidator(lambda value: _SNAPSHOT_MODES.get(value, value)),
]


class SnapshotOptions(snapshot.SnapshotOptions, snapshot.SnapshotBatchOptions):
    """The snapshot."""

    snapshot_mode: SnapshotMode = "initial"
    """When collections are read as they are now: `initial` (the first time), `initial_only` (and end after it),
    `no_data` (never), `when_needed` (also when the position is gone from the oplog), `always` (at every start),
    `configuration_based` (the first time, as `snapshot.mode.configuration.based.*` say), `custom` (as a plugin says).
    """
    snapshot_collection_filter_overrides: NameList = ""
    """Collections of which the snapshot reads a part; the filter, a JSON document, stands in
    `snapshot.collection.filter.overrides.DATABASE.COLLECTION`.
    """
    snapshot_filters: dict[str, str] = Field(default_factory=dict)
    """The filters for `snapshot.collection.filter.overrides`, one option each."""
    snapshot_fetch_size: NonNegativeInt = 0
    """How many documents the server sends at a time in a snapshot; 0: `max.batch.size`."""

    patterns: ClassVar[Mapping[str, str]] = {
        r"snapshot\.collection\.filter\.overrides\..+": "snapshot_filters",
    }

    @model_validator(mode="after")
    def _filters_of_snapshots(self) -> Self:
        prefix = "snapshot.collection.filter.overrides"
        listed = split_names(self.snapshot_collection_filter_overrides)
        for collection in listed:
            if f"{prefix}.{collection}" not in self.snapshot_filters:
                raise ValueError(f"{prefix} names {collection}, but '{prefix}.{collection}' is not given")
            self.filter_for(collection)
        for option in self.snapshot_filters:
            if option.removeprefix(f"{prefix}.") not in listed:
                raise ValueError(f"{option} is given, but {prefix} does not name that collection")
        return self

    def filter_for(self, collection: str) -> Stage:
        """The user's filter for a collection's snapshot (`database.collection`); empty for all of it.

        Raises:
            ValueError: it is no JSON document.
        """
        if collection not in split_names(self.snapshot_collection_filter_overrides):
            return {}
        text = self.snapshot_filters.get(f"snapshot.collection.filter.overrides.{collection}", "")
        parsed = read_json(text, f"snapshot.collection.filter.overrides.{collection}") if text else {}
        if isinstance(parsed, dict):
            return parsed
        raise ValueError(f"snapshot.collection.filter.overrides.{collection} should be a JSON document")
