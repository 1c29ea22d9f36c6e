"""The option `skipped.operations`: which changes make no records."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from cdckit.api.lists import NameList, split_names

_OPERATIONS = ("c", "u", "d", "t", "none")


def skipped_operations(text: str) -> frozenset[str]:
    """The operations that the option's value leaves out."""
    return frozenset(split_names(text)) - {"none"}


def _known(text: str) -> str:
    unknown = [item for item in split_names(text) if item not in _OPERATIONS]
    if unknown:
        raise ValueError(f"'{unknown[0]}' is no operation; known are {', '.join(_OPERATIONS)}")
    return text


OperationList = Annotated[NameList, AfterValidator(_known)]
"""Comma-separated letters of operations, or `none`."""
