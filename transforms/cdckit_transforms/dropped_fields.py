"""Fields that a header names, dropped from value and key (`drop.fields.*`)."""

from __future__ import annotations

from collections.abc import Collection

from cdckit import Datum, Header, SchemaAndValue, Struct, TransformError
from cdckit_transforms.extended_schema import reduced


class DroppedFields:
    """Says which fields a record's header names, and leaves them out.

    Args:
        header: the header's name.
        keep_compatible: whether only fields that may be null go, so that readers of the old schema can go on.
        from_key: whether the key loses them too.
    """

    def __init__(self, header: str, *, keep_compatible: bool, from_key: bool) -> None:
        self._header = header
        self._keep_compatible = keep_compatible
        self._from_key = from_key

    def names(self, headers: tuple[Header, ...]) -> frozenset[str]:
        """The fields to drop; none without such a header.

        Raises:
            TransformError: the header holds something else.
        """
        given = next((header.value for header in headers if header.key == self._header), None)
        if given is None:
            return frozenset()
        if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
            raise TransformError(f"header '{self._header}' should hold a list of field names, not {given!r}")
        return frozenset(given)

    def from_key(self, key: Datum | None, names: frozenset[str]) -> Datum | None:
        """The key without the fields."""
        return self.from_value(key, names) if self._from_key else key

    def from_value(self, value: Datum | None, names: frozenset[str]) -> Datum | None:
        """The value without the fields."""
        if isinstance(value, Struct):
            going = self._going(value, names)
            return reduced(value, going) if going else value
        if value is None or not isinstance(value.value, dict):
            return value
        return SchemaAndValue(None, _without(value.value, names))

    def _going(self, struct: Struct, names: frozenset[str]) -> frozenset[str]:
        if not self._keep_compatible:
            return names
        return frozenset(f.name for f in struct.schema.fields if f.schema.optional and f.name in names)


def _without(members: dict[str, object], names: Collection[str]) -> dict[str, object]:
    return {name: value for name, value in members.items() if name not in names}
