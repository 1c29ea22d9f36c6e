"""ReplaceField: leaves fields out and renames others (Kafka Connect's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Annotated, ClassVar

from pydantic import AfterValidator

from cdckit import NameList, Record, Schema, Struct
from cdckit_transforms.extended_schema import struct_like
from cdckit_transforms.name_lists import names, pairs
from cdckit_transforms.record_part import Change, FieldsTransform, KeyTransform, Members, NullsConfig, Values, filling
from cdckit_transforms.unavailable_fields import told_as


def _checked(text: str) -> str:
    pairs(text)
    return text


class ReplaceFieldConfig(NullsConfig):
    """Which fields stay, and what they are called."""

    renamed: ClassVar[dict[str, str]] = {"blacklist": "exclude", "whitelist": "include"}

    exclude: NameList = ""
    """The fields to leave out, with commas between, also if `include` names them."""
    include: NameList = ""
    """The fields to keep; all of them where none is named."""
    renames: Annotated[NameList, AfterValidator(_checked)] = ""
    """New names: `old:new,other:newer`. `include` and `exclude` have the old ones."""


class ReplaceField(FieldsTransform):
    """The value with other fields."""

    purpose = "field replacement"

    def __init__(self, config: ReplaceFieldConfig) -> None:
        self._exclude = frozenset(names(config.exclude))
        self._include = frozenset(names(config.include))
        self._renames = pairs(config.renames)
        self._replaces_null = config.replace_null_with_default

    @property
    def conceals(self) -> bool:
        """It does where it leaves fields out."""
        return bool(self._exclude or self._include)

    def apply(self, record: Record) -> Record:
        """The record with other fields, which are called so, too, where a header names those without their values."""
        changed = super().apply(record)
        renames = self._renames
        return told_as(changed, lambda name: [renames.get(name, name)]) if renames else changed

    def change_of(self, schema: Schema) -> Change:
        """Leaves fields out of structs of a schema."""
        kept = [field for field in schema.fields if self._keeps(field.name)]
        other = struct_like(schema, [(self._renames.get(field.name, field.name), field.schema) for field in kept])
        pick = picking([field.index for field in kept])
        fill = filling(other, replaces_null=self._replaces_null)
        if fill is None:
            return lambda values, _: Struct(other, pick(values))
        return lambda values, _: Struct(other, fill(pick(values)))

    def changed_map(self, members: Members, record: Record) -> Members:
        """The map with other members."""
        renames = self._renames
        return {renames.get(name, name): value for name, value in members.items() if self._keeps(name)}

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)


def picking(places: Sequence[int]) -> Callable[[Values], Values]:
    """What takes some of a struct's values, in another order."""
    if places == list(range(len(places))):
        end = len(places)
        return lambda values: values[:end]
    if len(places) == 1:
        only = places[0]
        return lambda values: (values[only],)
    return itemgetter(*places)


class ReplaceFieldOfKey(KeyTransform, ReplaceField):
    """The key with other fields."""
