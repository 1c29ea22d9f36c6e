"""The JSON serializer: equal to Kafka Connect's JsonConverter as parsed JSON, field order included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from cdckit.api.messages import EncodedHeaders
from cdckit.api.record import Datum, Header, Record, SchemaAndValue
from cdckit.api.schema import STRING, Schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit.engine.serializers.json_text import Text, TextCompiler
from cdckit.engine.serializers.row_text_compiler import Digest, OfText, TextAlone
from cdckit.engine.serializers.row_texts import RowTexts
from cdckit.engine.serializers.simple_text import simple_text
from cdckit.errors import TransformError

Column = Callable[[Sequence[Datum | None]], list[bytes | None]]


class JsonSerializer(Serializer):
    """Keys, values and headers as JSON texts, with or without their schemas; headers may be plain texts."""

    key_form = value_form = "json"

    def __init__(self, config: JsonConfig) -> None:
        self.config = config
        self.header_form = "json" if config.header_format == "json" else "text"
        payloads = self._payloads = PayloadCompiler(config)
        keys = TextCompiler(payloads, with_schema=_first(config.key_schemas_enable, config.schemas_enable))
        of_values = self._of_values = _first(config.value_schemas_enable, config.schemas_enable)
        of_headers = _first(config.header_schemas_enable, of_values)
        self._header_texts = TextCompiler(payloads, with_schema=of_headers)
        self._key = self._column(keys)
        self._value = self._column(TextCompiler(payloads, with_schema=of_values))
        self._rows: RowTexts | None = None
        self._last_headers: tuple[Header, ...] | None = None
        self._last_encoded: EncodedHeaders = ()

    @property
    def around_position(self) -> tuple[str, str]:
        """What makes a position the header that the serializer would write of it."""
        if self.header_form != "json":
            return "", ""
        before, after = self._header_texts.around(STRING)
        return f'{before.decode()}"', f'"{after.decode()}'

    def noting_rows(self, of_text: OfText, digest: Digest) -> RowTexts:
        """From now on the hashes of rows are noted, those of the messages that were written last.

        Args:
            of_text: brings texts to one form, where a row may be written in more than one.
            digest: the hash of a text.
        """
        rows = RowTexts(self._payloads, with_schema=self._of_values, of_text=of_text, digest=digest)
        self._value, self._rows = self._noting_column(rows), rows
        return rows

    def keys(self, records: Sequence[Record]) -> list[bytes | None]:
        """The keys as JSON texts."""
        return self._encode_column(records, "key")

    def values(self, records: Sequence[Record]) -> list[bytes | None]:
        """The values as JSON texts."""
        if self._rows is not None:
            self._rows.begin(records)
        return self._encode_column(records, "value")

    def headers(self, records: Sequence[Record]) -> list[EncodedHeaders]:
        """The headers as JSON, or as plain texts."""
        return [self._headers(record.headers) for record in records]

    def _encode_column(self, records: Sequence[Record], part: str) -> list[bytes | None]:
        column = self._key if part == "key" else self._value
        try:
            return column([r.key for r in records] if part == "key" else [r.value for r in records])
        except (TypeError, ValueError, AttributeError) as error:
            raise self._blame(records, part, error) from error

    def _blame(self, records: Sequence[Record], part: str, error: Exception) -> TransformError:
        """The error of a column, told of the one record that made it."""
        column = self._key if part == "key" else self._value
        for record in records:
            try:
                column([getattr(record, part)])
            except (TypeError, ValueError, AttributeError) as found:
                return TransformError(
                    f"topic {record.topic}, position {record.position or 'unknown'}: the {part} does not fit its "
                    f"schema ({found}); check the last transform that changed it",
                    number="CDC6201",
                )
        return TransformError(f"a {part} cannot be written as JSON: {error}", number="CDC6201")

    def _column(self, texts: TextCompiler) -> Column:
        """The function for a column; it looks a schema or template up only when it differs from the one before."""

        def encode(data: Sequence[Datum | None]) -> list[bytes | None]:
            schema: Schema | None = None
            template: Template | None = None
            text: Text = _never
            filled: Text = _never
            out: list[bytes | None] = []
            append = out.append
            for datum in data:
                if type(datum) is TemplateStruct:
                    if datum.template is not template:
                        template = datum.template
                        filled = texts.filled_text(template)
                    append(filled(datum.fills))
                elif type(datum) is Struct:
                    if datum.schema is not schema:
                        schema = datum.schema
                        text = texts.text(schema)
                    append(text(datum))
                else:
                    append(None if datum is None else _single(texts, datum))
            return out

        return encode

    def _noting_column(self, rows: RowTexts) -> Column:
        """As `_column`, for values whose rows are noted."""
        texts = rows.texts

        def encode(data: Sequence[Datum | None]) -> list[bytes | None]:
            template: Template | None = None
            filled: Text = _never
            schema: Schema | None = None
            text: TextAlone = _never
            out: list[bytes | None] = []
            append = out.append
            for datum in data:
                if type(datum) is TemplateStruct:
                    if datum.template is not template:
                        template = datum.template
                        filled = rows.filled_text(template, len(out))
                    append(filled(datum.fills))
                elif type(datum) is Struct:
                    template = None
                    if datum.schema is not schema:
                        schema = datum.schema
                        text = rows.text(schema)
                    append(text(datum, len(out)))
                else:
                    append(None if datum is None else _single(texts, datum))
            return out

        return encode

    def _headers(self, headers: tuple[Header, ...]) -> EncodedHeaders:
        if headers is not self._last_headers:
            self._last_encoded = tuple((h.key, self._header(h)) for h in headers)
            self._last_headers = headers
        return self._last_encoded

    def _header(self, header: Header) -> bytes | None:
        if header.value is None and header.schema is None:
            return None
        if self.config.header_format == "json":
            return _single(self._header_texts, _datum(header))
        return None if header.value is None else simple_text(header.schema, header.value).encode()


def _datum(header: Header) -> Datum:
    return header.value if isinstance(header.value, Struct) else SchemaAndValue(header.schema, header.value)


def _first(given: bool | None, otherwise: bool) -> bool:
    return otherwise if given is None else given


def _never(_value: Any, _number: int = 0) -> bytes:
    raise AssertionError("a schema is looked up before its first value")


def _single(texts: TextCompiler, datum: Datum) -> bytes:
    """A key, value or header that is no plain struct."""
    schema = datum.schema
    before, after = texts.around(schema)
    value = datum.value if isinstance(datum, SchemaAndValue) else datum
    if schema is not None and (value is not None or schema.default is not None):
        value = texts.payloads.payload(schema)(value)
    return before + orjson.dumps(value) + after
