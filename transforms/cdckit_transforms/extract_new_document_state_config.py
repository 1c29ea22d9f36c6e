"""The options of ExtractNewDocumentState."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from cdckit.config.model import PluginConfig
from cdckit_transforms.delete_handling import HANDLING, DeleteHandling, Mode, OldMode, old_handling
from cdckit_transforms.document_schemas import ArrayEncoding
from cdckit_transforms.field_reference import References
from cdckit_transforms.folding import folded


class ExtractNewDocumentStateConfig(PluginConfig):
    """What becomes of arrays, nested documents and deletes, and what of the envelope is kept."""

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
    delete_tombstone_handling_mode_rewrite_with_id: bool = False
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
