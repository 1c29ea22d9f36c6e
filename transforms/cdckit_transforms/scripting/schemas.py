"""The methods of schemas that expressions may call, in both languages."""

from __future__ import annotations

from typing import Any

from cdckit import Field, Schema, Struct
from cdckit_transforms.scripting.language import EvaluationError, Method, kind


def _name(of: Any) -> Any:
    if isinstance(of, Schema | Field):
        return of.name
    raise EvaluationError(f"{kind(of)} has no name")


def _version(of: Any) -> Any:
    return _schema_of(of).version


def _field(of: Any, name: Any) -> Any:
    schema = _schema_of(of)
    return schema.field(name) if isinstance(name, str) and name in schema.index else None


def _schema(of: Any) -> Schema:
    if isinstance(of, Field | Struct):
        return of.schema
    return _schema_of(of)


def _schema_of(of: Any) -> Schema:
    if not isinstance(of, Schema):
        raise EvaluationError(f"{kind(of)} is no schema")
    return of


SCHEMA_METHODS: dict[str, Method] = {"name": _name, "version": _version, "field": _field, "schema": _schema}
SCHEMA_TAKES = {"name": range(1), "version": range(1), "field": range(1, 2), "schema": range(1)}
