"""`converters`: those of Debezium, those of plugins, in snapshot and log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from cdckit.api.hookspecs import ColumnConverter, ColumnDescription, hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.api.record import Record
from cdckit.api.schema import STRING
from cdckit.errors import ConfigError
from cdckit_mysql.config import MySqlConfig
from mysql.capture import changes
from mysql.conftest import NewCapture

Sql = Callable[[str], None]
DEBEZIUM = "io.debezium.connector.binlog.converters."


def test_numbers_of_length_one_become_booleans(capture: NewCapture, sql: Sql, database: str) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, a TINYINT(1) NOT NULL DEFAULT 1, b BOOL, c TINYINT(4), d INT(1))")
    sql("INSERT INTO t VALUES (1, 0, 2, 3, 4), (2, 1, NULL, NULL, NULL)")
    options = {"converters": "bool", "bool.type": f"{DEBEZIUM}TinyIntOneToBooleanConverter"}
    made = capture(**options)
    snapshot = made.once()
    assert rows(snapshot) == [(1, False, True, 3, 4), (2, True, None, None, None)]
    assert [(field.schema.type, field.schema.default) for field in fields(snapshot)[1:3]] == [
        ("boolean", True),
        ("boolean", None),
    ]
    sql("INSERT INTO t VALUES (3, -1, 0, 0, 0)")
    assert rows(made.once()) == [(3, True, False, 0, 0)]


def test_a_selector_and_any_length(capture: NewCapture, sql: Sql, database: str) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, b TINYINT(1)); INSERT INTO t VALUES (1, 5, 1)")
    made = capture(
        **{
            "converters": "bool",
            "bool.type": "TinyIntOneToBooleanConverter",
            "bool.selector": rf"{database}\.t\.a",
            "bool.length.checker": "false",
        }
    )
    assert rows(made.once()) == [(1, True, 1)]


def test_dates_with_zeros_and_null_become_what_the_user_says(capture: NewCapture, sql: Sql, database: str) -> None:
    sql(
        "SET sql_mode = ''; CREATE TABLE t (id INT PRIMARY KEY, a DATE NOT NULL, b DATETIME, c DATETIME(6) NOT NULL, "
        "d TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00', e DATETIME NOT NULL)"
    )
    insert = (
        "SET sql_mode = '', time_zone = '+00:00'; INSERT INTO t VALUES "
        "({0}, '0000-00-00', NULL, '0000-00-00', '0000-00-00', '2000-00-01'), "
        "({1}, '1970-01-01', '2001-02-03 04:05:06', '1970-01-01', '2001-02-03 04:05:06', '1970-01-01')"
    )
    sql(insert.format(1, 2))
    made = capture(
        **{
            "converters": "zero",
            "zero.type": f"{DEBEZIUM}ZeroDateFallbackConverter",
            "zero.fallback.date": "1999-12-31",
            "zero.fallback.datetime": "2000-01-01 00:00:01",
            "zero.fallback.timestamp": "1990-01-01T01:00:00+01:00",
            f"zero.column.{database}.t.e.fallback": "NULL",
        }
    )
    zeros = (10956, 946684801000, 946684801000000, "1990-01-01T00:00:00Z", None)
    others = (0, 981173106000, 0, "2001-02-03T04:05:06Z", 0)
    snapshot = made.once()
    assert rows(snapshot) == [(1, *zeros), (2, *others)]
    assert [field.schema.optional for field in fields(snapshot)] == [False, False, True, False, False, True]
    sql(insert.format(3, 4))
    assert rows(made.once()) == [(3, *zeros), (4, *others)]


def test_types_for_a_jdbc_sink(capture: NewCapture, sql: Sql, database: str) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, a TINYINT(1), b FLOAT, c CHAR(3) CHARACTER SET latin1)")
    sql("INSERT INTO t VALUES (1, 3, 1.5, 'é'), (2, 0, NULL, NULL)")
    made = capture(
        **{
            "converters": "sink",
            "sink.type": "JdbcSinkDataTypesConverter",
            "sink.selector.boolean": ".*.a",
            "sink.selector.real": ".*.b",
            "sink.selector.string": ".*.c",
        }
    )
    records = made.once()
    assert rows(records) == [(1, 1, 1.5, "é"), (2, 0, None, None)]
    assert [field.schema.type for field in fields(records)] == ["int32", "int16", "float64", "string"]
    assert fields(records)[3].schema.parameters == {"__debezium.source.column.character_set": "latin1"}


class _Shouting:
    """A plugin with a converter that writes texts in capitals."""

    class Capitals(ColumnConverter):
        """Capitals and what the option `mark` says."""

        def __init__(self, mark: str) -> None:
            super().__init__(STRING.replace(name="test.Capitals"))
            self._mark = mark

        def convert(self, value: str) -> str:
            return value.upper() + self._mark

    @hookimpl
    def cdckit_converter_types(self) -> Sequence[str]:
        return ["Capitals"]

    @hookimpl
    def cdckit_converter(
        self, type_name: str, options: dict[str, str], column: ColumnDescription
    ) -> ColumnConverter | None:
        if type_name != "Capitals" or column.type_name != "VARCHAR":
            return None
        if "mark" not in options:
            raise ConfigError("mark: required, but not given")
        return self.Capitals(options["mark"])


@pytest.fixture
def shouting() -> Iterator[None]:
    plugin = _Shouting()
    plugin_manager().register(plugin)
    yield
    plugin_manager().unregister(plugin)


@pytest.mark.usefixtures("shouting")
def test_a_plugins_converter_in_values_and_keys_and_before_a_mask(capture: NewCapture, sql: Sql, database: str) -> None:
    sql("CREATE TABLE t (a VARCHAR(9) PRIMARY KEY, b VARCHAR(9) NOT NULL DEFAULT 'none', c VARCHAR(9), d TEXT)")
    sql("INSERT INTO t VALUES ('a', 'b', NULL, 'd')")
    made = capture(
        **{"converters": "loud", "loud.type": "Capitals", "loud.mark": "!", "column.truncate.to.1.chars": ".*.b"}
    )
    [record] = made.once()
    assert rows([record]) == [("A!", "B", None, "d")]
    assert record.key.values == ("A!",)  # type: ignore[union-attr]
    assert [(field.schema.name, field.schema.default) for field in fields([record])] == [
        ("test.Capitals", None),
        ("test.Capitals", "NONE!"),
        ("test.Capitals", None),
        (None, None),
    ]


@pytest.mark.usefixtures("shouting")
def test_what_a_converter_does_not_understand_names_its_option(capture: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (a VARCHAR(9) PRIMARY KEY)")
    with pytest.raises(ConfigError, match=r"^source\.loud\.mark: required"):
        capture(**{"converters": "loud", "loud.type": "Capitals"}).once()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"converters": "a"}, "'a.type' is not given"),
        ({"converters": "a", "a.type": "com.example.Mine"}, "no installed plugin has a converter 'com.example.Mine'"),
        ({"a.type": "TinyIntOneToBooleanConverter"}, "a.type: unknown option"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MySqlConfig.load({"topic.prefix": "p", "database.user": "u", **options}, "source")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("zero.fallback.date", "31.12.1999", "'31.12.1999' should look like 1970-01-01"),
        ("zero.fallback.timestamp", "1999-12-31T00:00:00", "should look like 1970-01-01T00:00:00Z"),
        ("zero.target.types", "YEAR", "'YEAR' is no type of dates"),
        ("zero.fallbak.date", "1999-12-31", "did you mean 'fallback.date'"),
    ],
)
def test_options_of_converters_are_checked(capture: NewCapture, sql: Sql, option: str, value: str, said: str) -> None:
    sql("CREATE TABLE t (a DATE NOT NULL PRIMARY KEY)")
    with pytest.raises(ConfigError, match=rf"^source\.{option}: ") as caught:
        capture(**{"converters": "zero", "zero.type": "ZeroDateFallbackConverter", option: value}).once()
    assert said in str(caught.value)


def rows(records: Sequence[Record]) -> list[tuple[Any, ...] | None]:
    """The rows after the changes."""
    return [change[3] for change in changes(records)]


def fields(records: Sequence[Record]) -> Any:
    """The fields of a row's schema."""
    return records[0].value["after"].schema.fields  # type: ignore[index,union-attr,call-overload]
