"""Which rows a Delta table has refused: those for which what it asks of rows does not hold, found by Spark as a filter.

Delta tells of one row, and of no place. So only once a table has refused a write are its constraints evaluated here,
over the rows of that write; a write that is taken costs nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window, functions as f

from cdckit.tables.layout import OP, POSITION
from cdckit.tables.passing import passes, texts
from cdckit.tables.refused import RowsFoundError
from cdckit.tables.target import quoted
from cdckit_spark.targets import DeltaTarget, SparkTarget

MOST = 10_000
"""So many rows are looked for at a time; where there are more, the batch without these is refused again."""

_REFUSED = re.compile(
    r"\bDELTA_(?:VIOLATE_CONSTRAINT_WITH_VALUES|NOT_NULL_CONSTRAINT_VIOLATED|EXCEED_CHAR_VARCHAR_LIMIT)\b"
    r"|\b(?:EXCEED_LIMIT_LENGTH|NOT_NULL_ASSERT_VIOLATION)\b|\bDeltaInvariantViolationException\b"
)
"""What Delta and Spark say of rows that break a constraint (their error classes)."""
_NULL_IN = re.compile(r"NOT NULL constraint violated for column: (\S+?)\.?(?:\s|$)")
_CONSTRAINT = "delta.constraints."
"""What the names of properties that are CHECK constraints begin with (Delta's protocol, "CHECK Constraints")."""
_LENGTH, _LIMITED = "__CHAR_VARCHAR_TYPE_STRING", re.compile(r"(?:var)?char\((\d+)\)")
"""The part of a text column's metadata in which Spark notes that it is a CHAR or VARCHAR."""
_REASON, _KEPT_BEFORE = "__cdckit_reason", "__cdckit_good"

Search = Callable[[Sequence["Rule"]], DataFrame]
"""Gives the positions of the rows that break a rule, with what is said of each."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a table asks of its rows.

    Attributes:
        said: of a row that breaks it.
        about: the text in which the columns are named that it is about.
        broken: whether a row breaks it.
    """

    said: str
    about: str
    broken: Column


def refuses_rows(error: BaseException) -> bool:
    """Whether it is said of what rows hold."""
    return any(_REFUSED.search(text) for text in texts(error))


@contextmanager
def finding_rows(target: SparkTarget, search: Search) -> Iterator[None]:
    """Has the rows looked for that a table refuses.

    Raises:
        RowsFoundError: these are the rows.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if passes(error) or not refuses_rows(error) or not isinstance(target, DeltaTarget):
            raise
        found = search(_rules(target.table(), error)).where(f.col(POSITION) != "").limit(MOST).collect()
        if not found:
            raise
        reasons = {position: f"table {target}: {said}" for position, said in found}
        raise RowsFoundError(next(iter(reasons.values())), reasons) from error


def _rules(table: DeltaTable, error: BaseException) -> list[Rule]:
    """Those of a table."""
    schema = table.toDF().schema
    said = {match[1].strip("`") for text in texts(error) for match in _NULL_IN.finditer(text)}
    rules = [_no_null(field.name) for field in schema.fields if not field.nullable or field.name in said]
    for field in schema.fields:
        if limit := _LIMITED.fullmatch(str(field.metadata.get(_LENGTH, ""))):
            rules.append(_short(field.name, int(limit[1])))
    (detail,) = table.detail().collect()
    properties: dict[str, str] = detail.properties
    rules += [_check(name, text) for name, text in properties.items() if name.startswith(_CONSTRAINT)]
    return rules


def _no_null(name: str) -> Rule:
    return Rule(f"column '{name}' takes no null", name, f.col(quoted(name)).isNull())


def _short(name: str, most: int) -> Rule:
    long = f.coalesce(f.length(quoted(name)) > most, f.lit(False))
    return Rule(f"column '{name}' takes {most} characters at the most", name, long)


def _check(name: str, text: str) -> Rule:
    said = f"constraint '{name.removeprefix(_CONSTRAINT)}' ({text}) does not hold"
    # To Delta a constraint holds only where it is true: null is not.
    return Rule(said, text, ~f.coalesce(f.expr(text), f.lit(False)))


def refused_rows(rows: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """The search among rows each of which is put."""
    return _judged(rows, rules, {}).where(f.col(_REASON).isNotNull()).select(POSITION, _REASON)


def refused_changes(
    changes: DataFrame, rules: Sequence[Rule], key: Sequence[str], missing: dict[str, Column]
) -> DataFrame:
    """The search among changes, of which the newest of each key is put.

    Where that is refused the one before it would be put, and so on: so those behind the last that is taken are found.

    Args:
        changes: with OP.
        rules: what the table asks of rows.
        key: the columns that identify a row.
        missing: the columns that a row may lack, and whether it does; then no rule about them is evaluated.
    """
    put = f.when(f.col(OP) != "d", f.col(_REASON))
    judged = _judged(changes, rules, missing).withColumn(_REASON, put)
    good = f.max(f.when(f.col(_REASON).isNull(), f.col(POSITION))).over(Window.partitionBy(*map(quoted, key)))
    behind = f.col(_KEPT_BEFORE).isNull() | (f.col(POSITION) > f.col(_KEPT_BEFORE))
    judged = judged.withColumn(_KEPT_BEFORE, good)
    return judged.where(f.col(_REASON).isNotNull() & behind).select(POSITION, _REASON)


def _judged(rows: DataFrame, rules: Sequence[Rule], missing: dict[str, Column]) -> DataFrame:
    """The rows with what is said of each that breaks a rule."""
    said = [f.when(_known(rule, missing) & rule.broken, f.lit(rule.said)) for rule in rules]
    return rows.withColumn(_REASON, f.coalesce(*said, f.lit(None).cast("string")))


def _known(rule: Rule, missing: dict[str, Column]) -> Column:
    """Whether a row has all that a rule is about."""
    known = f.lit(True)
    for name, lacks in missing.items():
        if name.lower() in rule.about.lower():
            known = known & ~lacks
    return known
