"""The options of ExtractNewDocumentState."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from cdckit import IgnoredOptions, PluginConfig
from cdckit.connector.avro_names import NameAdjustment
from cdckit.connector.options.event_format import AS_TEXT
from cdckit_transforms.delete_handling import HANDLING, DeleteHandling, Mode, OldMode, old_handling
from cdckit_transforms.document_schemas import ArrayEncoding
from cdckit_transforms.field_reference import References
from cdckit_transforms.folding import folded

_NEWER = {
    "delete_tombstone_handling_mode",
    "delete_tombstone_handling_mode_rewrite_with_id",
    "field_name_adjustment_mode",
}


class ExtractNewDocumentStateConfig(PluginConfig):
    """What becomes of arrays, nested documents and deletes, and what of the envelope is kept."""

    ignored_options: ClassVar[tuple[IgnoredOptions, ...]] = (
        IgnoredOptions(
            r"route\.by\.field",
            "Debezium's transform of documents lists it with those of rows, and routes by no field: "
            "ContentBasedRouter does, behind this one",
        ),
    )

    event_format: Annotated[Literal["3", "1.9"], AS_TEXT] = "3"
    """Whose transform to be: Debezium `3`'s, or `1.9`'s for events of that format. In `1.9` deletes and tombstones are
    dropped unless the older options say otherwise, an update of a document that is gone by now counts as a delete, and
    `delete.tombstone.handling.mode` and `field.name.adjustment.mode`, which came later, mean nothing.
    """
    array_encoding: Annotated[ArrayEncoding, BeforeValidator(folded)] = "array"
    """Whether an array is an array, all of whose elements have one type (of documents: their fields together), or a
    struct with a field `_0`, `_1` … for each element.
    """
    flatten_struct: bool = False
    """Whether the fields of nested documents stand in the record itself."""
    flatten_struct_delimiter: Annotated[str, Field(min_length=1)] = "_"
    """What stands between the parts of such a field's name."""
    delete_tombstone_handling_mode: Annotated[Mode, BeforeValidator(folded)] = "tombstone"
    """What becomes of a delete and of the tombstone after it: `drop` leaves both out, `tombstone` and
    `delete-to-tombstone` leave one record without a value, `rewrite` the document as it was before (with a pre-image)
    and a field `__deleted` in every record, `rewrite-with-tombstone` the tombstone too.
    """
    delete_tombstone_handling_mode_rewrite_with_id: Annotated[
        bool, Field(alias="delete.tombstone.handling.mode.rewrite-with-id")
    ] = False
    """Whether a rewritten delete has the field `_id`, of the key, where there is no document before."""
    delete_handling_mode: Annotated[OldMode | None, BeforeValidator(folded)] = None
    """Debezium 1's option for deletes alone: `drop` (its default), `rewrite`, or `none` (a null value)."""
    drop_tombstones: bool | None = None
    """Debezium 1's option for tombstones alone; its default is true."""
    add_fields: References = ""
    """Fields of the envelope to add: a comma-separated list of `field` or `struct.field`, each optionally with
    `:NEW_NAME`.
    """
    add_fields_prefix: str = "__"
    """What the names of added fields begin with."""
    add_headers: References = ""
    """Fields of the envelope to add as headers; written like `add.fields`."""
    add_headers_prefix: str = "__"
    """What the names of added headers begin with."""
    field_name_adjustment_mode: Annotated[NameAdjustment, BeforeValidator(folded)] = "none"
    """What replaces characters that Avro does not allow in the names of fields and schemas: nothing, `_`, or `_uXXXX`.
    Empty arrays, whose type nobody knows, are then left out.
    """
    sanitize_field_names: bool = False
    """Debezium 1's way to say `field.name.adjustment.mode: avro`; the name of the document's own schema stays."""
    add_source_fields: References = ""
    """Debezium 1's option for fields of `source` to add."""
    operation_header: bool = False
    """Debezium 1's option for a header `__op` with the operation, where `add.headers` is empty."""

    @classmethod
    def load(cls, options: Mapping[str, Any], where: str, **more: Any) -> tuple[Self, list[str]]:
        """Also tells of options that `event.format` leaves without meaning."""
        config, warnings = super().load(options, where, **more)
        newer = sorted(cls.model_fields[name].alias or name for name in _NEWER & config.model_fields_set)
        if config.is_old and newer:
            warnings.append(f"{where}: options that Debezium 1.9 did not have, left out: {', '.join(newer)}")
        return config, warnings

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        old = [name for name in ("delete_handling_mode", "drop_tombstones") if getattr(self, name) is not None]
        if old and not self.is_old and "delete_tombstone_handling_mode" in self.model_fields_set:
            names = " and ".join(name.replace("_", ".") for name in old)
            raise ValueError(f"{names} say the same as delete.tombstone.handling.mode: keep the newer one")
        return self

    @property
    def handling(self) -> DeleteHandling:
        """What becomes of deletes and tombstones."""
        if self.is_old or self.delete_handling_mode is not None or self.drop_tombstones is not None:
            return old_handling(self.delete_handling_mode, self.drop_tombstones)
        return HANDLING[self.delete_tombstone_handling_mode]

    @property
    def is_old(self) -> bool:
        """Whether to do what Debezium 1.9 did."""
        return self.event_format == "1.9"

    @property
    def field_names(self) -> NameAdjustment:
        """How names of fields are adjusted, whichever option says it."""
        if self.is_old or self.field_name_adjustment_mode == "none":
            return "avro" if self.sanitize_field_names else "none"
        return self.field_name_adjustment_mode

    @property
    def schema_names(self) -> NameAdjustment:
        """How names of documents' schemas are adjusted."""
        return "none" if self.is_old else self.field_name_adjustment_mode
