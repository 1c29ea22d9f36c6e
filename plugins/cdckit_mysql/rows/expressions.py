"""Expressions of generated code: text, bytes and vectors of row images and result rows, and DECIMALs of row images."""

from __future__ import annotations

from codecs import charmap_decode
from struct import iter_unpack

from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.values.charset import PYTHON_CODECS, decoding_table, text_decoder
from cdckit_mysql.values.decimals import DecimalLayout
from cdckit_mysql.values.numbers import BINARY_FORMS, SHORTEST_FLOATS, decimal_bytes, decimal_double, decimal_text
from cdckit_mysql.values.options import BinaryMode, DecimalMode


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


_LETTERS = {1: ("B",), 2: ("H",), 3: ("B", "H"), 4: ("I",)}


def decimal_cell(layout: DecimalLayout, mode: DecimalMode, scope: Scope) -> Cell:
    """The cell of a DECIMAL: an expression for numbers from 0 on, whose top bit is set, and one for negative ones."""
    letters: list[str] = []
    groups: list[str] = []
    for size, _ in layout.groups:
        first = len(letters)
        letters += _LETTERS[size]
        groups.append(f"{{{first}}}" if size != 3 else f"({{{first}}} << 16 | {{{first + 1}}})")
    top = 1 << (8 * layout.groups[0][0] - 1)
    positive = _unscaled(layout, [f"({groups[0]} - {top})", *groups[1:]])
    inverted = [f"({(1 << 8 * size) - 1} - {name})" for (size, _), name in zip(layout.groups, groups, strict=True)]
    inverted[0] = f"({top - 1} - {groups[0]})"
    negative = _unscaled(layout, inverted)
    value = f"{_shown(positive, layout.scale, mode, scope, negative=False)} if {groups[0]} >= {top} else "
    value += _shown(negative, layout.scale, mode, scope, negative=True)
    return Cell("".join(letters), layout.size, ">", value)


def _unscaled(layout: DecimalLayout, groups: list[str]) -> str:
    """The expression of the number without sign and point."""
    number = groups[0]
    for (_, digits), group in zip(layout.groups[1:], groups[1:], strict=True):
        number = f"({number} * {10**digits} + {group})"
    return number


def _shown(number: str, scale: int, mode: DecimalMode, scope: Scope, *, negative: bool) -> str:
    sign = "-" if negative else ""
    if mode == "precise":
        if negative:
            return f"{scope.name(decimal_bytes)}(-{number})"
        return f'(v := {number}).to_bytes((v.bit_length() >> 3) + 1, "big")'
    function = decimal_text if mode == "string" else decimal_double
    return f"{scope.name(function)}({sign}{number}, {scale})"
