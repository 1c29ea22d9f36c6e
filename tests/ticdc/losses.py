"""What each protocol loses: the rules under which a recorded row counts as decoded.

A rule says of a column's true text what is decoded instead. Whatever no rule names must come out as it is.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

Texts = str | None


@dataclass(frozen=True, slots=True)
class Loss:
    """One rule.

    Attributes:
        name: what is lost, and why.
        folders: the recordings it holds for: their names' beginnings.
        columns: the columns it holds for; in scenario `scenario` alone, where that is given.
        lost: the text that is decoded, of the true one.
        types_given: whether it holds with the user's `column.types` alone, or without them alone; None: either way.
    """

    name: str
    folders: tuple[str, ...]
    columns: tuple[str, ...]
    lost: Callable[[str, Texts], Texts]
    scenario: str = ""
    types_given: bool | None = None

    def holds(self, folder: str, scenario: str, column: str, *, types_given: bool) -> bool:
        if self.types_given not in {None, types_given}:
            return False
        named = any(folder == name or (name.endswith("*") and folder.startswith(name[:-1])) for name in self.folders)
        return named and column in self.columns and self.scenario in {"", scenario}


def _each(change: Callable[[str], str]) -> Callable[[str, Texts], Texts]:
    return lambda _column, text: None if text is None else change(text)


def _as_double(text: str) -> str:
    return repr(float(text))


def _double_at_scale(column: str, text: Texts) -> Texts:
    if text is None:
        return None
    scale = {"c_decimal_65_30": 30, "c_decimal_0": 0}[column]
    whole = f"{Decimal(repr(float(text))):f}".partition(".")
    return f"{whole[0]}.{whole[2].ljust(scale, '0')[:scale]}" if scale else whole[0]


def _as_base64(text: str) -> str:
    return base64.b64encode(bytes.fromhex(text[2:])).decode()


def _label_number(column: str, text: Texts) -> Texts:
    if text is None:
        return None
    labels = _LABELS[column]
    if column in {"c_set", "s"}:
        return str(sum(1 << labels.index(label) for label in text.split(",") if label))
    return str(labels.index(text) + 1)


def _eight_bytes(text: str) -> str:
    return f"0x{text[2:].zfill(16)}"


_LABELS = {
    "c_enum": ["a", "b", "c"],
    "c_set": ["a", "b", "c"],
    "e": ["x,y", "it's", "back\\slash", "ünïcode"],
    "s": ["p", "it's", "ünïcode"],
}
_DEFAULTS = {
    "c_int": "7", "c_varchar": "dflt", "c_dec": "1.5", "c_double": "2.5", "c_enum": "b", "c_set": "a,c",
    "c_datetime": "2020-01-02 03:04:05", "c_bit3": "0x05", "c_ts": None,
}  # fmt: skip
_BINARY = ("c_binary", "c_varbinary", "c_tinyblob", "c_blob", "c_mediumblob", "c_longblob")
_DEBEZIUM_NEW = ("debezium-ticdc*", "debezium-classic-v8.5.6*", "debezium-avro-ticdc")
_CLASSIC = ("debezium-classic-v8.5.0", "debezium-classic-v8.5.6")
_UNTYPED = ("canal-json", "canal-json-tidbext", "open-protocol")

LOSSES = [
    Loss(
        "NULL in a column with a default arrives as the default: the encoder puts it there",
        _DEBEZIUM_NEW,
        tuple(_DEFAULTS),
        lambda column, text: _DEFAULTS[column] if text is None else text,
        scenario="null_over_default",
    ),
    Loss(
        "DECIMAL is a double, exact up to 15 digits: here no message tells precision and scale",
        _CLASSIC,
        ("c_decimal_65_30", "c_decimal_0"),
        _each(_as_double),
        types_given=False,
    ),
    Loss(
        "DECIMAL is a double, exact up to 15 digits; the user gives precision and scale",
        _CLASSIC,
        ("c_decimal_65_30", "c_decimal_0"),
        _double_at_scale,
        types_given=True,
    ),
    Loss(
        "DECIMAL is a double, exact up to 15 digits; precision and scale come from the DDL event or the user",
        ("debezium-ticdc*", "debezium-classic-v8.5.6-noschema"),
        ("c_decimal_65_30", "c_decimal_0"),
        _double_at_scale,
    ),
    Loss(
        "FLOAT(M,D) is a double made of the float's 32 bits: digits that nobody wrote appear",
        ("debezium-avro-ticdc",),
        ("c_float_10_2",),
        _each(lambda text: repr(struct.unpack("f", struct.pack("f", float(text)))[0])),
    ),
    Loss(
        "bytes are base64 in a string, which no message of this version tells",
        _CLASSIC,
        _BINARY,
        _each(_as_base64),
        types_given=False,
    ),
    Loss(
        "BIGINT UNSIGNED is its two's complement, and nothing tells that the column is unsigned",
        _CLASSIC,
        ("seq",),
        lambda _column, text: "-1" if text == "18446744073709551615" else text,
        types_given=False,
    ),
    Loss("ENUM and SET are numbers, without the labels", _UNTYPED, tuple(_LABELS), _label_number, types_given=False),
    Loss(
        "the length of BIT is not told: eight bytes hold any",
        _UNTYPED,
        ("c_bit1", "c_bit3", "c_bit9", "c_bit64"),
        _each(_eight_bytes),
        types_given=False,
    ),
]


def decoded(folder: str, scenario: str, column: str, text: Texts, *, types_given: bool = False) -> Texts:
    """What the column's true text is decoded to, under the rules."""
    for loss in LOSSES:
        if loss.holds(folder, scenario, column, types_given=types_given):
            text = loss.lost(column, text)
    return text


def comparable(column: str, text: Texts) -> Texts:
    """A text without what is the same value written otherwise: zeros after the point, spaces in JSON."""
    if text is None:
        return None
    if column == "c_vector":
        return json.dumps([float(number) for number in json.loads(text)])
    if column.startswith(("c_float", "c_double", "c_dec", "total", "c_time", "c_date")) and "." in text:
        return text.rstrip("0").rstrip(".")
    return text
