"""The options of ExtractNewRecordState."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from cdckit import PluginConfig
from cdckit_transforms.delete_handling import HANDLING, DeleteHandling, Mode, OldMode, old_handling
from cdckit_transforms.field_reference import References


def _folded(value: Any) -> Any:
    """Debezium takes its modes in any case, with blanks around."""
    return value.strip().lower() if isinstance(value, str) else value


class ExtractNewRecordStateConfig(PluginConfig):
    """What becomes of deletes, and what of the envelope is kept."""

    delete_tombstone_handling_mode: Annotated[Mode, BeforeValidator(_folded)] = "tombstone"
    """What becomes of a delete and of the tombstone after it.

    `drop` leaves both out. `tombstone` leaves one record whose value is null, with the row's schema (a converter with
    schemas writes that schema). `delete-to-tombstone` leaves one record without any value, which compaction
    understands whatever the converter. `rewrite` leaves the row as it was before, and every row gets a field
    `__deleted` with `true` or `false`; `rewrite-with-tombstone` leaves the tombstone too.
    """
    delete_handling_mode: Annotated[OldMode | None, BeforeValidator(_folded)] = None
    """Debezium 1's option for deletes alone: `drop` (its default), `rewrite`, or `none` (a null value)."""
    drop_tombstones: bool | None = None
    """Debezium 1's option for tombstones alone; its default is true."""
    add_fields: References = ""
    """Fields of the envelope to add to the row: a comma-separated list of `field` or `struct.field`, each optionally
    with `:NEW_NAME`. A field without a struct is looked for in `source`, `op` and `ts_ms`, `ts_us`, `ts_ns` in the
    envelope, `id`, `total_order` and `data_collection_order` in `transaction`. What an event does not have is left
    out.
    """
    add_fields_prefix: str = "__"
    """What the names of added fields begin with."""
    add_headers: References = ""
    """Fields of the envelope to add as headers; written like `add.fields`."""
    add_headers_prefix: str = "__"
    """What the names of added headers begin with."""
    route_by_field: str = ""
    """A field of the row whose text is the record's topic; the topic stays where it is null or blank."""
    replace_null_with_default: bool = True
    """Whether a null in a field with a default becomes that default when rows are rewritten (`rewrite…`)."""
    drop_fields_header_name: str = ""
    """A header that holds a list of field names, which are dropped from the row."""
    drop_fields_from_key: bool = False
    """Whether they are dropped from the key as well."""
    drop_fields_keep_schema_compatible: bool = True
    """Whether only those are dropped that may be null, so that readers of the old schema still understand the new."""

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        old = [name for name in ("delete_handling_mode", "drop_tombstones") if getattr(self, name) is not None]
        if old and "delete_tombstone_handling_mode" in self.model_fields_set:
            names = " and ".join(name.replace("_", ".") for name in old)
            raise ValueError(f"{names} say the same as delete.tombstone.handling.mode: keep the newer one")
        return self

    @property
    def handling(self) -> DeleteHandling:
        """What becomes of deletes and tombstones."""
        if self.delete_handling_mode is not None or self.drop_tombstones is not None:
            return old_handling(self.delete_handling_mode, self.drop_tombstones)
        return HANDLING[self.delete_tombstone_handling_mode]
