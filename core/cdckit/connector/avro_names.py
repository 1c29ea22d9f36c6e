"""Names that Avro allows, for `schema.name.adjustment.mode` and `field.name.adjustment.mode`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

NameAdjustment = Literal["none", "avro", "avro_unicode"]
Adjust = Callable[[str], str]


def schema_names(mode: NameAdjustment) -> Adjust:
    """What is done to a schema's full name, in which dots stand between the parts."""
    return _adjust(mode, dot=".")


def field_names(mode: NameAdjustment) -> Adjust:
    """What is done to a field's name."""
    return _adjust(mode, dot="")


def _adjust(mode: NameAdjustment, *, dot: str) -> Adjust:
    """Avro allows letters, digits and `_`, no digit in front (Avro's specification, "Names").

    `avro` puts `_` in place of what is not allowed, and in front of a leading digit. `avro_unicode` puts `_u` and the
    character's hexadecimal code, as Debezium prints it; since `_` begins such a code it is itself written so. Both
    count in UTF-16 units.
    """
    if mode == "none":
        return str
    if mode == "avro":
        digit, wrong = re.compile("^(?=[0-9])"), re.compile(f"^[^A-Za-z0-9_]|[^A-Za-z0-9_{dot}]")
        return lambda name: digit.sub("_", wrong.sub(lambda found: "_" * len(code_units(found[0])), name))
    wrong = re.compile(f"^[^A-Za-z]|[^A-Za-z0-9{dot}]")
    return lambda name: wrong.sub(lambda found: "".join(map(unicode_escape, code_units(found[0]))), name)


def code_units(character: str) -> list[int]:
    """The units of UTF-16 that Java counts a text in."""
    encoded = character.encode("utf-16-be")
    return [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]


def unicode_escape(unit: int) -> str:
    """One or two hexadecimal digits get two zeros in front, three get none: so Debezium has it."""
    return f"_u00{unit:x}" if unit <= 0xFF else f"_u{unit:x}"
