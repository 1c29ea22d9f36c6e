"""Whether a column that gets another type keeps its values: the log tells of no row that ALTER TABLE converts.

https://dev.mysql.com/doc/refman/en/alter-table.html: MODIFY and CHANGE convert the data; what does not fit is cut or
rounded, or an error, as `sql_mode` says.
"""

from __future__ import annotations

from cdckit_mysql.table import Column

_INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}
_TEXTS = {"CHAR": 255, "VARCHAR": 65_535, "TINYTEXT": 255, "TEXT": 65_535, "MEDIUMTEXT": 1 << 24, "LONGTEXT": 1 << 32}
_BYTES = {"VARBINARY": 65_535, "TINYBLOB": 255, "BLOB": 65_535, "MEDIUMBLOB": 1 << 24, "LONGBLOB": 1 << 32}
_CLOCKS = {"DATETIME", "TIMESTAMP", "TIME"}
_UNICODE = {"utf8mb4"}
_WITHIN = {"ascii": {"latin1", "utf8", "utf8mb3", "utf8mb4"}, "utf8": {"utf8mb3"}, "utf8mb3": {"utf8"}}


def keeps_values(before: Column, after: Column, *, strict: bool) -> bool:
    """Whether the rows that are there have the same values in `after` as in `before`; in doubt they have not.

    Args:
        before: the old definition.
        after: the new one.
        strict: whether numbers out of range, lacking labels and nulls were errors.
    """
    if before.optional and not after.optional and not strict:
        return False
    if before.base_type in _INTEGERS:
        return (strict and after.base_type in _INTEGERS) or _keeps_integers(before, after)
    if before.base_type in _TEXTS or before.enum_values:
        return _keeps_text(before, after, strict=strict)
    if before.base_type in _BYTES and after.base_type in _BYTES:
        return _room(before, _BYTES) <= _room(after, _BYTES)
    if before.base_type != after.base_type:
        return (before.base_type, after.base_type) == ("FLOAT", "DOUBLE") and after.scale is None
    if before.base_type in _CLOCKS:
        return (before.length or 0) <= (after.length or 0)
    if before.base_type == "DECIMAL":
        return _keeps_digits(before, after)
    same = (before.type_name, before.length, before.scale) == (after.type_name, after.length, after.scale)
    return same and before.charset == after.charset


def _keeps_integers(before: Column, after: Column) -> bool:
    if after.base_type == "DECIMAL" and not (after.unsigned and not before.unsigned):
        digits = len(str(1 << _INTEGERS[before.base_type]))
        return _digits(after) >= digits
    size, room = _INTEGERS[before.base_type], _INTEGERS.get(after.base_type, 0)
    if before.unsigned == after.unsigned:
        return size <= room
    return before.unsigned and size < room


def _keeps_digits(before: Column, after: Column) -> bool:
    signed = before.unsigned or not after.unsigned
    return signed and (before.scale or 0) <= (after.scale or 0) and _digits(before) <= _digits(after)


def _digits(column: Column) -> int:
    """How many digits there are before the point."""
    return (10 if column.length is None else column.length) - (column.scale or 0)


def _keeps_text(before: Column, after: Column, *, strict: bool) -> bool:
    if before.enum_values or after.enum_values:
        return (
            before.base_type == after.base_type
            and before.charset == after.charset
            and _keeps_labels(before, after, strict=strict)
        )
    if after.base_type not in _TEXTS or not _keeps_characters(before.charset, after.charset):
        return False
    padded = before.base_type != "CHAR" and after.base_type == "CHAR"  # whose ends are cut
    return not padded and _room(before, _TEXTS) <= _room(after, _TEXTS)


def _keeps_labels(before: Column, after: Column, *, strict: bool) -> bool:
    """A SET shows its labels in the order of its definition."""
    if before.base_type == "SET" and [one for one in after.enum_values if one in before.enum_values] != [
        one for one in before.enum_values if one in after.enum_values
    ]:
        return False
    return strict or set(before.enum_values) <= set(after.enum_values)


def _keeps_characters(before: str | None, after: str | None) -> bool:
    return before == after or after in _UNICODE or after in _WITHIN.get(before or "", ())


def _room(column: Column, types: dict[str, int]) -> int:
    """How long values may be: a type with a length of its own counts by that."""
    own = column.base_type in ("CHAR", "VARCHAR", "VARBINARY")
    return column.length if own and column.length is not None else types[column.base_type]
