"""The header that names fields without their values, behind a transform that calls fields otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cdckit import UNAVAILABLE_HEADER, Record, names_in, names_text


def told_as(record: Record, called: Callable[[str], Iterable[str]]) -> Record:
    """The record with that header, where it has one, as its fields are called now.

    Args:
        record: the changed record.
        called: gives what has become of a field.
    """
    header = record.header(UNAVAILABLE_HEADER)
    if header is None:
        return record
    value = names_text(new for name in names_in(str(header.value)) for new in called(name))
    told = header._replace(value=value)
    return record.replace(headers=tuple(told if one is header else one for one in record.headers))
