"""Rows of records in the form in which a sink is read back: rows of tables, or of messages as JSON has them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

import orjson

from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit.engine.ledger.row_form import RowForm
from cdckit.engine.proof.canonical import DOCUMENT
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.serializers.json_payload import PayloadCompiler

_OF_MESSAGES, _OF_TABLES = "ledger.layout.messages", "ledger.layout.tables"


class Layout(Protocol):
    """Of the rows of one schema."""

    @property
    def form(self) -> RowForm:
        """Their columns."""

    def row(self, key: Struct, image: Struct | str) -> Any:
        """A row, of its key and what an event shows of it."""

    def texts(self, rows: Sequence[Any], names: Collection[str]) -> Iterable[bytes]:
        """The texts of rows, of some of their columns."""


Layouts = Callable[[Schema, Schema], Layout]
"""Makes the layout of rows of a schema, of it and that of the key."""


class MessageLayout:
    """Rows as the texts that `RowForm` makes of what JSON would have.

    Args:
        row: the schema of the rows.
        payloads: makes what JSON has.
    """

    def __init__(self, row: Schema, payloads: PayloadCompiler) -> None:
        self.documents = row.type == "string"
        self.form = RowForm({DOCUMENT: "document"}) if self.documents else RowForm.of(row)
        self._payload = payloads.payload(row)

    def row(self, key: Struct, image: Struct | str) -> Any:
        """What the event shows."""
        return image

    def texts(self, rows: Sequence[Any], names: Collection[str]) -> Iterable[bytes]:
        """As JSON, columns in their order."""
        if self.documents:
            return [self.form.text({DOCUMENT: row}) for row in rows]
        form = RowForm({name: self.form.columns[name] for name in names}, *self._kinds(names))
        return [form.of_text(orjson.dumps(self._payload(row))) for row in rows]

    def _kinds(self, names: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        form = self.form
        return tuple(name for name in form.documents if name in names), tuple(n for n in form.times if n in names)


def message_layouts(*, defaults: bool = True) -> Layouts:
    """Layouts of rows in messages.

    Args:
        defaults: whether a column's default is written where it is null.
    """
    payloads = PayloadCompiler(JsonConfig.model_validate({"replace.null.with.default": defaults}))
    known_as = _OF_MESSAGES, defaults

    def made(row: Schema, key: Schema) -> Layout:
        found: Layout | None = row.derived.get(known_as)
        if found is None:
            found = row.derived[known_as] = MessageLayout(row, payloads)
        return found

    return made


def table_layouts() -> Layouts:
    """Layouts of rows in tables."""
    from cdckit.tables.row_layout import RowLayout  # noqa: PLC0415 - it needs an extra

    def made(row: Schema, key: Schema) -> Layout:
        found: dict[Schema, _TableLayout] = row.derived.setdefault(_OF_TABLES, {})
        if key not in found:
            columns = RowLayout.of(row, key)
            form = RowForm({name: kind.ddl for name, kind in columns.columns}, tuple(sorted(columns.documents)))
            found[key] = _TableLayout(form, columns.texts)
        return found[key]

    return made


class _TableLayout:
    def __init__(self, form: RowForm, texts: Callable[[Sequence[Any], Collection[str]], Iterable[bytes]]) -> None:
        self.form = form
        self.texts = texts

    def row(self, key: Struct, image: Struct | str) -> Any:
        return image.values if isinstance(image, Struct) else (*key.values, image)
