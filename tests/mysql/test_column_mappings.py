"""Columns that are cut or masked: Debezium's values, in snapshot and log, in before and after, keys as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cdckit.api.schema import BYTES, STRING
from cdckit.errors import ConfigError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.table import Column, TableId
from cdckit_mysql.values.column_mappings import ColumnMappings
from cdckit_mysql.values.mapping import Hash, Truncation, java_serialized, modified_utf8
from mysql.capture import changes
from mysql.conftest import NewCapture

TEXT = Column("c", "TEXT", 1)


@pytest.mark.parametrize(
    ("algorithm", "salt", "serialized", "hashed"),
    [
        ("md5", "salt", True, "46f48a7a5ea32efba87cbff49d46d35a"),
        ("md5", "salt", False, "06decc8b095724f80103712c235586be"),
        ("sha256", "salt", True, "af5843a0f0e728ab0332c8888b6e1190bfb79e584f0d40538de8f10df6ef29c6"),
        ("sha256", "CzQMA0cB5K", True, "b4d39ab0d198fb4cac8b2f023da74f670bcaf192dcc79b5d6361b7ae6b2fafdf"),
        ("sha256", "salt", False, "cd31b3b98ece60cb739c0bf770b2de892ae0ad133f645513c3d83f08757a843a"),
    ],
)
def test_hashes_are_debeziums(algorithm: str, salt: str, serialized: bool, hashed: str) -> None:
    digest = Hash(algorithm, salt, serialized=serialized).function(TEXT, "text", STRING)
    assert digest is not None
    assert digest("hello") == hashed
    assert digest("hello") == hashed
    assert digest(None) is None


def test_a_hash_is_cut_to_the_columns_length() -> None:
    digest = Hash("md5", "salt", serialized=False).function(Column("c", "VARCHAR", 1, length=5), "text", STRING)
    assert digest is not None
    assert digest("hello") == "06dec"


def test_strings_as_java_serializes_them() -> None:
    assert java_serialized("abc") == bytes.fromhex("aced0005740003616263")
    assert java_serialized("a" * 65536)[:13] == bytes.fromhex("aced00057c0000000000010000")
    assert modified_utf8("\0é😀") == bytes.fromhex("c080c3a9eda0bdedb880")


@pytest.mark.parametrize(
    ("text", "length", "cut"),
    [
        ("abcdef", 3, "abc"),
        ("éèê", 2, "éè"),
        ("a😀b", 3, "a😀"),
        ("a😀b", 2, "a"),
        ("ab", 0, ""),
        ("", 2, ""),
        (None, 2, None),
    ],
)
def test_lengths_count_javas_characters(text: str | None, length: int, cut: str | None) -> None:
    function = Truncation(length).function(TEXT, "text", STRING)
    assert function is not None
    assert function(text) == cut


def test_bytes_are_cut_and_short_columns_left_alone() -> None:
    cut = Truncation(2).function(Column("c", "BLOB", 1), "bytes", BYTES)
    assert cut is not None
    assert (cut(b"abc"), cut(None)) == (b"ab", None)
    assert Truncation(5).function(Column("c", "VARCHAR", 1, length=5), "text", STRING) is None
    assert Truncation(5).parameters(Column("c", "VARCHAR", 1, length=5)) == {}


def test_what_is_to_be_hidden_is_not_shown_in_part() -> None:
    mappings = ColumnMappings({"column.truncate.to.2.chars": "d.t.*", "column.mask.with.3.chars": r"d\.t\.c"})
    [masked, cut] = [mappings.of(TableId("d", "t"), Column(name, "TEXT", 1)) for name in "ca"]
    assert masked is not None
    assert cut is not None
    assert (masked.parameters(TEXT), cut.parameters(TEXT)) == ({"masked": "true"}, {"truncateLength": "2"})
    assert mappings.of(TableId("d", "u"), TEXT) is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("column.mask.hash.MD7.with.salt.hush", "d.t.c", "no hash algorithm 'MD7'"),
        ("column.mask.hash.v2.MD5.with.salt.hush", "d.(", "a group is not closed"),
        ("column.mask.hash.v3.MD5.with.salt.hush", "d.t.c", "should be column.truncate"),
        ("column.truncate.to.many.chars", "d.t.c", "should be column.truncate"),
    ],
)
def test_what_cannot_be_understood_is_told_without_the_salt(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MySqlConfig.load({"topic.prefix": "p", "database.user": "u", name: value}, "source")
    assert said in str(caught.value)
    assert "hush" not in str(caught.value)


def test_the_salt_is_not_shown() -> None:
    options = {"topic.prefix": "p", "database.user": "u", "column.mask.hash.MD5.with.salt.hush": "d.t.c"}
    config, warnings = MySqlConfig.load(options, "source")
    assert "hush" not in repr(config) + str(warnings)


def test_snapshot_and_log_show_the_same_and_keys_are_whole(
    capture: NewCapture, sql: Callable[[str], None], database: str
) -> None:
    sql(
        "CREATE TABLE t (id VARCHAR(9) PRIMARY KEY, name VARCHAR(20), kind ENUM('small', 'large'), note TEXT, n INT);"
        "INSERT INTO t VALUES ('first', 'Ann', 'small', 'a long note', 1), ('second', NULL, NULL, NULL, NULL)"
    )
    made = capture(
        **{
            "column.truncate.to.2.chars": f"{database}.t.id,{database}.t.note",
            "column.mask.with.3.chars": f"{database}.t.(name|n)",
            "column.mask.hash.v2.MD5.with.salt.salt": f"{database}.t.kind",
        }
    )
    snapshot = made.once()
    hashed = Hash("md5", "salt", serialized=False).function(Column("kind", "ENUM", 3, length=1), "enum", STRING)
    assert hashed is not None
    expected = [("fi", "***", hashed("small"), "a ", 1), ("se", "***", None, None, None)]
    assert [change[3] for change in changes(snapshot)] == expected
    assert [key_of(record) for record in snapshot] == [("first",), ("second",)]
    sql("UPDATE t SET n = 2; DELETE FROM t WHERE id = 'first'; UPDATE t SET id = 'sequel'")
    log = made.once()
    shown = [change[2:] for change in changes(log) if change[0] != "tombstone"]
    after = [(*row[:4], 2) for row in expected]
    assert shown == [
        (expected[0], after[0]),
        (expected[1], after[1]),
        (after[0], None),
        (after[1], None),
        (None, after[1]),
    ]
    assert [key_of(record) for record in log][-3:] == [("second",), ("second",), ("sequel",)]
    labels = {"allowed": "small,large", **MASKED}
    assert schema_parameters(log[0]) == [CUT, MASKED, labels, CUT, MASKED]


MASKED = {"masked": "true"}
CUT = {"truncateLength": "2"}


def key_of(record: Any) -> Any:
    """The values of a record's key."""
    return record.key.values


def schema_parameters(record: Any) -> list[Any]:
    """The parameters of the fields of a row."""
    return [field.schema.parameters for field in record.value["after"].schema.fields]
