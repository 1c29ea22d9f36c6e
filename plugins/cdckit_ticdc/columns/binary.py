"""Bytes as the protocols write them into texts."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from typing import Any

from cdckit_ticdc.columns.options import BinaryForm

_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)", re.S)
_SIMPLE = {
    "a": b"\a", "b": b"\b", "f": b"\f", "n": b"\n", "r": b"\r", "t": b"\t", "v": b"\v",
    "\\": b"\\", "'": b"'", '"': b'"',
}  # fmt: skip


def from_base64(value: Any) -> bytes:
    """Standard base64.

    Raises:
        ValueError: it is none.
    """
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (binascii.Error, TypeError) as error:
        raise ValueError(f"is no base64: {error}") from error


BINARY_FORMS: dict[BinaryForm, Callable[[Any], bytes]] = {
    "base64": from_base64,
    "base64-url-safe": lambda value: from_base64(value.translate(str.maketrans("-_", "+/"))),
    "hex": bytes.fromhex,
}
"""How each mode's texts are read."""


def from_latin1(value: Any) -> bytes:
    """A byte in each character (canal-json)."""
    return bytes(value.encode("latin-1"))


def from_go_quoted(value: Any) -> bytes:
    r"""What Go's `strconv.Quote` writes between the quotes (open-protocol): `\x00`, `\n`, `é`.

    Raises:
        ValueError: an escape that Go does not have.
    """
    made, at = [], 0
    for found in _ESCAPE.finditer(value):
        made += [value[at : found.start()].encode(), _escaped(found[1])]
        at = found.end()
    made.append(value[at:].encode())
    return b"".join(made)


def _escaped(code: str) -> bytes:
    if code[0] == "x":
        return bytes.fromhex(code[1:])
    if code[0] in "uU":
        return chr(int(code[1:], 16)).encode()
    if len(code) == 3:
        return bytes((int(code, 8),))
    if code not in _SIMPLE:
        raise ValueError(f"\\{code} is no escape")
    return _SIMPLE[code]
