"""What the operators and methods of an expression mean: the part that two languages share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from cdckit import Schema, Struct, logical
from cdckit.connector.connect_json.decimals import number_of
from cdckit_transforms.scripting.parser import Grammar

Operation = Callable[[Any, Any], Any]
Method = Callable[..., Any]
Convert = Callable[[Any], Any]

_MOMENTS = (logical.CONNECT_DATE.name, logical.CONNECT_TIME.name, logical.CONNECT_TIMESTAMP.name)


class EvaluationError(Exception):
    """An expression that cannot be evaluated for a record, as it fails in its own language, too."""


class Missing:
    """JavaScript's `undefined`."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Missing()


class Language(ABC):
    """A language of expressions.

    Attributes:
        grammar: what is read.
        operations: what its operators between two values do; those that may leave one out are `both` and `either`.
        methods: its methods, the first argument of each the value that it is called on.
        absent: what a header that is not there is.
        keeps_operands: whether `&&` and `||` give one of their operands, and no boolean.
        null_has: the methods that null has, too.
    """

    grammar: Grammar
    operations: Mapping[str, Operation]
    methods: Mapping[str, Method]
    absent: Any
    keeps_operands: bool
    null_has: frozenset[str] = frozenset()

    @abstractmethod
    def true(self, value: Any) -> bool:
        """Whether a value counts as true."""

    @abstractmethod
    def member(self, of: Any, name: str) -> Any:
        """The field or property of a value.

        Raises:
            EvaluationError: it has none of that name.
        """

    @abstractmethod
    def item(self, of: Any, key: Any) -> Any:
        """What stands in brackets behind a value; raises as `member`."""

    @abstractmethod
    def negative(self, value: Any) -> Any:
        """A number with the other sign.

        Raises:
            EvaluationError: it is no number.
        """

    @abstractmethod
    def decimal(self, value: bytes, scale: int) -> Any:
        """A field's decimal."""

    @abstractmethod
    def unknown_field(self, struct: Schema, name: str) -> Any:
        """What a field gives that a struct does not have.

        Raises:
            EvaluationError: it gives nothing.
        """

    def conversion(self, schema: Schema | None) -> Convert | None:
        """What makes of a field's value the one that expressions see; None where that is the same.

        Raises:
            EvaluationError: there is no such value.
        """
        if schema is None or schema.name is None:
            return None
        if schema.name == logical.DECIMAL_NAME:
            scale = int((schema.parameters or {})["scale"])
            return lambda value: self.decimal(value, scale)
        if schema.name in _MOMENTS:
            raise EvaluationError(f"values of the type {schema.name} are not known in expressions")
        return None

    def field(self, struct: Struct, name: str) -> Any:
        """The value of a struct's field; its default in the place of null."""
        at = struct.schema.index.get(name)
        if at is None:
            return self.unknown_field(struct.schema, name)
        schema = struct.schema.fields[at].schema
        return self.seen(struct.values[at], schema)

    def seen(self, value: Any, schema: Schema | None) -> Any:
        """A value as expressions see it."""
        if schema is None:
            return value
        if value is None:
            value = schema.default
        convert = self.conversion(schema)
        return value if value is None or convert is None else convert(value)


def exact(value: bytes, scale: int) -> Any:
    """A decimal's number."""
    return number_of(value, scale)


def kind(value: Any) -> str:
    """What a value is called in messages."""
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a text", list: "a list", dict: "a map", Struct: "a struct", bytes: "bytes"}
    return names.get(type(value), str(value) if value is UNDEFINED else "a number" if _is_number(value) else "no value")


def _is_number(value: Any) -> bool:
    return hasattr(value, "__truediv__")
