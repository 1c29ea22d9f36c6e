"""How tables are partitioned: `days(bought), bucket(16, id)`.

https://iceberg.apache.org/spec/#partition-transforms
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import DoubleType, FloatType, IcebergType

_UNFIT = (FloatType, DoubleType)
"""Types of which pyiceberg writes rows with 0.0 and with -0.0 into both partitions."""
AnyTransform: TypeAlias = Transform[Any, Any]

_NUMBERED: dict[str, Callable[[int], AnyTransform]] = {"bucket": BucketTransform, "truncate": TruncateTransform}
_PLAIN: dict[str, Callable[[], AnyTransform]] = {
    "identity": IdentityTransform,
    "years": YearTransform,
    "months": MonthTransform,
    "days": DayTransform,
    "hours": HourTransform,
}


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a partitioning.

    Attributes:
        column: the column that it is made of.
        how: `identity`, `years`, `months`, `days`, `hours`, `bucket` or `truncate`.
        number: of the buckets, or how wide values are cut off.
    """

    column: str
    how: str = "identity"
    number: int | None = None

    @property
    def transform(self) -> AnyTransform:
        """Iceberg's."""
        return _PLAIN[self.how]() if self.number is None else _NUMBERED[self.how](self.number)

    @property
    def name(self) -> str:
        """What the partition's field is called, as Spark does it."""
        if self.how == "identity":
            return self.column
        return f"{self.column}_{self.how.removesuffix('s')}"


def parse_terms(text: str) -> tuple[Term, ...]:
    """The terms of an option's value.

    Raises:
        ValueError: it is no list of terms.
    """
    return tuple(_terms(text))


def _terms(text: str) -> Iterator[Term]:
    if not text.strip():
        return
    for part in _parts(text):
        yield _term(part.strip())


def _parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no parentheses."""
    begun, deep = 0, False
    for at, sign in enumerate(text):
        if sign in "()":
            deep = sign == "("
        elif sign == "," and not deep:
            yield text[begun:at]
            begun = at + 1
    if text[begun:].strip():  # a comma may stand at the end
        yield text[begun:]


def _term(text: str) -> Term:
    how, opened, rest = text.partition("(")
    if not opened and text and ")" not in text:
        return Term(text)
    inside, closed, behind = rest.partition(")")
    number, comma, column = inside.rpartition(",")
    term = _made(how.strip(), number.strip() if comma else None, column.strip())
    if term is None or not closed or behind or set(column) & set("(),"):
        known = [*(f"{name}(COLUMN)" for name in _PLAIN), *(f"{name}(NUMBER, COLUMN)" for name in _NUMBERED)]
        raise ValueError(
            f"'{text}' is no partitioning, as 'days(bought), bucket(16, id)' is; there are {', '.join(known)}"
        )
    return term


def _made(how: str, number: str | None, column: str) -> Term | None:
    if not column:
        return None
    if number is None:
        return Term(column, how) if how in _PLAIN else None
    return Term(column, how, int(number)) if how in _NUMBERED and number.isdecimal() and int(number) else None


def partition_spec(schema: Schema, terms: Iterable[Term]) -> PartitionSpec:
    """How a new table is partitioned: by the terms whose column it has, and that take its type."""
    fields: list[PartitionField] = []
    for term in terms:
        column = next((column for column in schema.fields if column.name == term.column), None)
        if column is not None and _takes(term.transform, column.field_type):
            number = PARTITION_FIELD_ID_START + len(fields)
            fields.append(PartitionField(column.field_id, number, term.transform, term.name))
    return PartitionSpec(*fields)


def _takes(transform: AnyTransform, kind: IcebergType) -> bool:
    return transform.can_transform(kind) and not isinstance(kind, _UNFIT)


def unused(schema: Schema, spec: PartitionSpec, terms: Sequence[Term]) -> list[str]:
    """The columns of terms that a table is not partitioned by."""
    used = {schema.find_column_name(field.source_id) for field in spec.fields}
    return [term.column for term in terms if term.column not in used]
