"""DECIMAL columns of row images, unpacked group by group."""

from __future__ import annotations

from cdckit_mysql.rows.cell import Cell
from cdckit_mysql.rows.scope import Scope
from cdckit_mysql.values.decimals import DecimalLayout
from cdckit_mysql.values.numbers import decimal_bytes, decimal_double, decimal_text
from cdckit_mysql.values.options import DecimalMode

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
