"""What an expression is made of; `at` is where a part stands in the text, counted from 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdckit.java.regex import UserPattern


class ScriptError(ValueError):
    """An expression that is not understood.

    It is a ValueError so that a config model tells it with the option's name.
    """

    def __init__(self, at: int, fault: str) -> None:
        super().__init__(f"column {at}: {fault}")


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, a number, true, false or null."""

    at: int
    value: Any


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression between slashes (JavaScript)."""

    at: int
    pattern: UserPattern


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list in brackets."""

    at: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """`of.name`, or `of?.name`, which is null where `of` is."""

    at: int
    of: Node
    name: str
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """`of[key]`."""

    at: int
    of: Node
    key: Node


@dataclass(frozen=True, slots=True)
class Call:
    """`of.method(arguments)`, or `of?.method(arguments)`."""

    at: int
    of: Node
    method: str
    arguments: tuple[Node, ...]
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Unary:
    """`!operand` or `-operand`."""

    at: int
    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands and what stands between them; also `&&`, `||`, `?:` and `??`, which may leave the right one out."""

    at: int
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Choice:
    """`condition ? yes : no`."""

    at: int
    condition: Node
    yes: Node
    no: Node


Node = Literal | Pattern | ListOf | Name | Member | Item | Call | Unary | Binary | Choice
