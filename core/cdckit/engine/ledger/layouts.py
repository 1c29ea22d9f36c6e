"""Rows of records in the form in which a sink is read back: rows of tables, or of messages as JSON has them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

import orjson

from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit.engine.ledger.row_form import RowForm, digest
from cdckit.engine.proof.canonical import DOCUMENT, document_row
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit.engine.serializers.row_text_compiler import plain_where

_OF_MESSAGES, _OF_TABLES = "ledger.layout.messages", "ledger.layout.tables"


class Layout(Protocol):
    """Of the rows of one schema."""

    @property
    def form(self) -> RowForm:
        """Their columns."""

    def rows(self, keys: Sequence[Struct], images: Sequence[Any]) -> Sequence[Any]:
        """Rows, of their keys and what events show of them."""

    def hashes(self, rows: Sequence[Any], names: Collection[str]) -> list[bytes]:
        """The hashes of rows, of some of their columns; of each as soon as it is written, while it is in the caches."""


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
        self._hashes = _document_hashes if self.documents else self._compiled(row)

    def rows(self, keys: Sequence[Struct], images: Sequence[Any]) -> Sequence[Any]:
        """What events show."""
        return images

    def hashes(self, rows: Sequence[Any], names: Collection[str]) -> list[bytes]:
        """Of their JSON, columns in their order."""
        if self.documents or [*names] == [*self.form.columns]:
            return self._hashes(rows)
        form = RowForm({name: self.form.columns[name] for name in names}, *self._kinds(names))
        return [digest(form.of_text(orjson.dumps(self._payload(row)))) for row in rows]

    def _compiled(self, row: Schema) -> Callable[[Sequence[Any]], list[bytes]]:
        """The function for rows with all their columns; most are written in one way alone, which is the form's."""
        plain, text = plain_where(row, "row.values[{}]"), "dumps(payload(row))"
        written = text if plain == "True" else f"{text} if {plain} else form({text})"
        scope = {"dumps": orjson.dumps, "payload": self._payload, "form": self.form.of_text, "digest": digest}
        made: Callable[[Sequence[Any]], list[bytes]] = eval(f"lambda rows: [digest({written}) for row in rows]", scope)  # noqa: S307 - of the schema alone
        return made

    def _kinds(self, names: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        form = self.form
        return tuple(name for name in form.documents if name in names), tuple(n for n in form.times if n in names)


def _document_hashes(documents: Sequence[str]) -> list[bytes]:
    return [digest(orjson.dumps(document_row(document))) for document in documents]


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
            found[key] = _TableLayout(form, columns.texts, documents=row.type == "string")
        return found[key]

    return made


class _TableLayout:
    def __init__(
        self, form: RowForm, texts: Callable[[Sequence[Any], Collection[str]], Iterable[bytes]], *, documents: bool
    ) -> None:
        self.form = form
        self._texts = texts
        self.documents = documents

    def hashes(self, rows: Sequence[Any], names: Collection[str]) -> list[bytes]:
        return [*map(digest, self._texts(rows, names))]

    def rows(self, keys: Sequence[Struct], images: Sequence[Any]) -> Sequence[Any]:
        if not self.documents:
            return [image.values for image in images]
        return [(*key.values, image) for key, image in zip(keys, images, strict=True)]
