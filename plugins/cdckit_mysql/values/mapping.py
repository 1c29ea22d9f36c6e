"""What the options `column.truncate.*` and `column.mask.*` make of a column's values and schema, as Debezium does it.

Debezium's manual for MySQL, "column.truncate.to.length.chars", "column.mask.with.length.chars" and
"column.mask.hash.hashAlgorithm.with.salt.salt".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from cdckit import Schema
from cdckit_mysql.table import Column
from cdckit_mysql.values.kinds import Kind

Convert = Callable[[Any], Any]

_MASKED_KINDS = frozenset({"text", "enum", "set"})
_JAVA_DIGESTS = {
    "MD5": "md5",
    "SHA": "sha1",
    "SHA1": "sha1",
    "SHA-1": "sha1",
    "SHA-224": "sha224",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
    "SHA-512/224": "sha512_224",
    "SHA-512/256": "sha512_256",
    "SHA3-224": "sha3_224",
    "SHA3-256": "sha3_256",
    "SHA3-384": "sha3_384",
    "SHA3-512": "sha3_512",
}
"""Java's names of message digests (Java Security Standard Algorithm Names) and Python's."""


class ColumnMapping(Protocol):
    """What becomes of a column.

    Attributes:
        keeps_type: whether a propagated type stands in the schema besides; Debezium has one or the other.
    """

    keeps_type: ClassVar[bool]

    def parameters(self, column: Column) -> dict[str, str]:
        """What its field's schema says of it besides."""

    def function(self, column: Column, kind: Kind, schema: Schema) -> Convert | None:
        """What is done to each value, None among them; None where values of its type are left as they are."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """Texts and bytes longer than `length` are cut; columns that cannot hold more are left alone."""

    keeps_type: ClassVar[bool] = False
    length: int

    def parameters(self, column: Column) -> dict[str, str]:
        """How long values are at the most."""
        return {"truncateLength": str(self.length)} if self._cuts(column) else {}

    def function(self, column: Column, kind: Kind, schema: Schema) -> Convert | None:
        """Lengths count Java's characters (UTF-16); half of a pair is left out."""
        if not self._cuts(column):
            return None
        if schema.type == "string":
            return text_cutter(self.length)
        length = self.length
        return (lambda data: data and data[:length]) if kind == "bytes" and schema.type == "bytes" else None

    def _cuts(self, column: Column) -> bool:
        return column.length is None or column.length > self.length


@dataclass(frozen=True, slots=True)
class Mask:
    """So many asterisks stand for each value of a column of text, for NULL too."""

    keeps_type: ClassVar[bool] = False
    length: int

    def parameters(self, column: Column) -> dict[str, str]:
        """That it is masked; columns that are no text have that, too."""
        return {"masked": "true"}

    def function(self, column: Column, kind: Kind, schema: Schema) -> Convert | None:
        """Only text is masked."""
        mask = "*" * self.length
        return (lambda _value: mask) if kind in _MASKED_KINDS else None


@dataclass(frozen=True, slots=True)
class Hash:
    """The salted digest of each value of a column of text, in hexadecimal digits, cut to the column's length.

    Attributes:
        algorithm: Python's name of it.
        salt: what goes before the value.
        serialized: whether the value is hashed as Java serializes a string (the first version), not as UTF-8.
    """

    keeps_type: ClassVar[bool] = True
    algorithm: str
    salt: str = field(repr=False)
    serialized: bool

    def parameters(self, column: Column) -> dict[str, str]:
        """That it is masked; columns that are no text have that, too."""
        return {"masked": "true"}

    def function(self, column: Column, kind: Kind, schema: Schema) -> Convert | None:
        """Only text is masked. NULL stays NULL."""
        if kind not in _MASKED_KINDS:
            return None
        salted, length = hashlib.new(self.algorithm, self.salt.encode()), column.length or None
        encode = java_serialized if self.serialized else str.encode

        def digest(value: str | None) -> str | None:
            if value is None:
                return None
            hashed = salted.copy()
            hashed.update(encode(value))
            return hashed.hexdigest()[:length]

        return digest


def digest_name(java_name: str) -> str:
    """Python's name of a message digest of Java's.

    Raises:
        ValueError: there is none; the message lists those that there are.
    """
    found = _JAVA_DIGESTS.get(java_name.upper())
    if found is None or found not in hashlib.algorithms_available:
        known = ", ".join(name for name, own in _JAVA_DIGESTS.items() if own in hashlib.algorithms_available)
        raise ValueError(f"there is no hash algorithm '{java_name}'; known are {known}")
    return found


def text_cutter(length: int) -> Convert:
    """A function that cuts texts to so many units of UTF-16."""

    def cut(text: str | None) -> str | None:
        if text is None or text.isascii():
            return text and text[:length]
        return text.encode("utf-16-le", "surrogatepass")[: 2 * length].decode("utf-16-le", "ignore")

    return cut


def java_serialized(text: str) -> bytes:
    """A string as Java writes an object (Java Object Serialization Specification, "Grammar for the Stream Format")."""
    data = modified_utf8(text)
    if len(data) < 1 << 16:
        return b"\xac\xed\x00\x05\x74" + len(data).to_bytes(2, "big") + data
    return b"\xac\xed\x00\x05\x7c" + len(data).to_bytes(8, "big") + data


def modified_utf8(text: str) -> bytes:
    """Java's own UTF-8 (`java.io.DataInput`): U+0000 has two bytes, characters beyond U+FFFF are pairs of three."""
    if text.isascii():
        return text.encode().replace(b"\0", b"\xc0\x80")
    units = text.encode("utf-16-be", "surrogatepass")
    halves = "".join(chr(units[at] << 8 | units[at + 1]) for at in range(0, len(units), 2))
    return halves.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
