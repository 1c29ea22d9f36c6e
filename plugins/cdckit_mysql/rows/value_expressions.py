"""Expressions of generated code that both row images and result rows use."""

from __future__ import annotations

from codecs import charmap_decode
from struct import iter_unpack

from cdckit_mysql.rows.scope import Scope
from cdckit_mysql.values.charset import PYTHON_CODECS, decoding_table, text_decoder
from cdckit_mysql.values.numbers import BINARY_FORMS, SHORTEST_FLOATS
from cdckit_mysql.values.options import BinaryMode


def text_expression(data: str, charset: str | None, scope: Scope) -> str:
    """Text in a character set; bytes that are no character become U+FFFD."""
    name = (charset or "utf8mb4").lower()
    codec = PYTHON_CODECS.get(name)
    if codec is not None:
        return f'{data}.decode("{codec}", "replace")'
    table = decoding_table(name)
    if table is not None:
        return f'{scope.name(charmap_decode)}({data}, "replace", {scope.name(table)})[0]'
    return f"{scope.name(text_decoder(name))}({data})"


def bytes_expression(data: str, mode: BinaryMode, scope: Scope) -> str:
    """Bytes as `binary.handling.mode` shows them."""
    if mode == "bytes":
        return data
    return f"{data}.hex()" if mode == "hex" else f"{scope.name(BINARY_FORMS[mode])}({data})"


def vector_of(data: bytes) -> list[float]:
    """The numbers of a VECTOR: floats of 32 bits, little end first."""
    return [SHORTEST_FLOATS[number] for (number,) in iter_unpack("<f", data)]
