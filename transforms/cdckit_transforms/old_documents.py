"""Documents in MongoDB's Extended JSON as Debezium 1.9 typed them."""

from __future__ import annotations

from typing import Any, ClassVar

from cdckit_transforms.document_schemas import NULL, DocumentReader, Typed

_UNKNOWN = ("$minKey", "$maxKey", "$undefined", "$symbol")


class OldDocumentReader(DocumentReader):
    """Leaves out what 1.9 did not know, and arrays of nulls alone are empty.

    Where names are adjusted there are no empty arrays, whose type nobody knows.
    """

    _names_empty: ClassVar[bool] = True
    _optional_code: ClassVar[bool] = False

    def members(self, document: dict[str, Any], name: str | None) -> dict[str, Typed]:
        """A document's fields that 1.9 knew."""
        return super().members({field: value for field, value in document.items() if self._is_known(value)}, name)

    def _is_known(self, value: Any) -> bool:
        if isinstance(value, dict):
            return next(iter(value), None) not in _UNKNOWN
        return value != [] or self._adjust is None

    def _array(self, items: list[Any], name: str | None) -> Typed:
        if items and self._arrays == "array" and all(item is None for item in items):
            return Typed(self._array_of(NULL), [])
        return super()._array(items, name)

    def _element(self, item: Any, name: str | None) -> Typed:
        return self.value(item, name)
