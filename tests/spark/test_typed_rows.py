"""The option `table`: rows with the columns that the table itself has, as readers give them to Spark."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from bson import Decimal128

from cdckit.engine.spark.failures import WorkerError
from spark.own_rows import Stream, in_order, number, own_options, read_rows, told
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer

DDL = """
CREATE TABLE {0}.orders (
  id INT, line SMALLINT, name VARCHAR(20), price DECIMAL(8,2), big BIGINT UNSIGNED, seen DATETIME(3), at TIMESTAMP NULL,
  raw VARBINARY(4), PRIMARY KEY (id, line)
);
CREATE TABLE {0}.others (id INT PRIMARY KEY);
INSERT INTO {0}.orders VALUES
  (1, 1, 'ä', 1.50, 18446744073709551615, '2024-02-29 23:59:59.123', '2024-03-01 00:00:00', x'00ff'),
  (2, 1, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO {0}.others VALUES (7);
"""


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with a table of two orders, and another one."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name};{DDL.format(unique_name)}")
    yield unique_name
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


def test_a_stream_tells_each_change_with_the_row_of_a_delete(
    mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    orders = f"{shop}.orders"
    with Stream(own_options(mysql_server, shop, tmp_path, table=orders)) as stream:
        # A begun snapshot says that all rows are told from here on.
        assert told(stream.batch(), "id", "name") == [("t", None, None), ("r", 1, "ä"), ("r", 2, None)]
        mysql_server.run_sql(
            f"UPDATE {orders} SET name = 'b' WHERE id = 2; UPDATE {orders} SET id = 3 WHERE id = 2;"
            f"INSERT INTO {shop}.others VALUES (8); DELETE FROM {orders} WHERE id = 1; TRUNCATE {orders};"
            f"INSERT INTO {orders} (id, line) VALUES (4, 1)"
        )
        assert told(stream.batch(), "id", "name", "big") == [
            ("u", 2, "b", None), ("d", 2, "b", None), ("c", 3, "b", None), ("d", 1, "ä", Decimal(2**64 - 1)),
            ("t", None, None, None), ("c", 4, None, None),
        ]  # fmt: skip


def test_rows_are_what_an_auto_cdc_flow_asks_for(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    """Whatever their order: of each key the greatest position counts, unless that row is a delete."""
    orders = f"{shop}.orders"
    with Stream(own_options(mysql_server, shop, tmp_path, table=orders)) as stream:
        rows = stream.batch()
        mysql_server.run_sql(
            f"INSERT INTO {orders} (id, line, name) VALUES (3, 1, 'c'), (4, 1, 'd'), (5, 1, 'e'); BEGIN;"
            f"UPDATE {orders} SET name = 'x' WHERE id > 2; UPDATE {orders} SET name = 'y' WHERE id = 3;"
            f"DELETE FROM {orders} WHERE id = 4; INSERT INTO {orders} (id, line, name) VALUES (4, 1, 'again'); COMMIT;"
            f"UPDATE {orders} SET line = line + 1; DELETE FROM {orders} WHERE id = 1; DELETE FROM {orders} WHERE id = 5"
        )
        rows = [row for row in [*rows, *stream.batch()] if row["_op"] != "t"]
    assert all(row["_position"] and None not in (row["id"], row["line"]) for row in rows)
    assert len({row["_position"] for row in rows}) == len(rows) > 15
    kept = {(row["id"], row["line"]): row for row in in_order(rows)}
    found = [(*key, row["name"]) for key, row in sorted(kept.items()) if row["_op"] != "d"]
    assert found == list(mysql_server.execute(f"SELECT id, line, name FROM {orders} ORDER BY id"))


def test_times_are_those_of_the_commits(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    with Stream(own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders")) as stream:
        stream.batch()
        before = datetime.now(UTC).replace(microsecond=0)
        mysql_server.run_sql(f"DELETE FROM {shop}.orders WHERE id = 1")
        (row,) = stream.batch()
        assert before <= row["_ts"] <= datetime.now(UTC)


def test_rows_of_before_a_change_of_columns_have_those_of_now(
    mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    orders, options = f"{shop}.orders", own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders")
    with Stream(options) as stream:
        stream.batch()
        at = stream.at
    mysql_server.run_sql(
        f"INSERT INTO {orders} (id, line, name) VALUES (3, 1, 'c');"
        f"ALTER TABLE {orders} ADD COLUMN note TEXT, DROP COLUMN name, MODIFY line INT NOT NULL;"
        f"INSERT INTO {orders} (id, line, note) VALUES (4, 100000, 'd')"
    )
    with Stream(options, at) as stream:
        rows = stream.batch()
    assert told(rows, "id", "line", "note") == [("c", 3, 1, None), ("c", 4, 100000, "d")]
    assert "name" not in rows[0]


def test_columns_are_known_by_their_names(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    orders, options = f"{shop}.orders", own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders")
    mysql_server.run_sql(f"ALTER TABLE {orders} ADD other VARCHAR(20)")
    with Stream(options) as stream:
        stream.batch()
        at = stream.at
    mysql_server.run_sql(
        f"INSERT INTO {orders} (id, line, name, other) VALUES (3, 1, 'name', 'other');"
        f"ALTER TABLE {orders} RENAME COLUMN name TO other, RENAME COLUMN other TO name;"
        f"UPDATE {orders} SET price = 2 WHERE id = 3"
    )
    with Stream(options, at) as stream:
        assert told(stream.batch(), "name", "other") == [("c", "name", "other"), ("u", "other", "name")]


def test_a_change_of_columns_stops_a_running_query_which_goes_on_when_it_is_started_again(
    mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    orders, options = f"{shop}.orders", own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders")
    with Stream(options) as stream:
        stream.batch()
        at = stream.at
        mysql_server.run_sql(f"ALTER TABLE {shop}.others ADD COLUMN x INT; UPDATE {orders} SET name = 'n' WHERE id = 2")
        assert told(stream.batch(), "name") == [("u", "n")], "another table's columns are of no concern"
        at = stream.at
        mysql_server.run_sql(f"ALTER TABLE {orders} ADD COLUMN note TEXT; UPDATE {orders} SET note = 'x' WHERE id = 2")
        with pytest.raises(WorkerError, match="added: note") as failure:
            stream.batch()
        assert number(failure) == "CDC3505"
    with Stream(options, at) as stream:
        assert told(stream.batch(), "id", "note") == [("u", 2, "x")]


def test_values_of_another_type_are_told_by_their_place(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    options = own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders")
    with Stream(options) as stream:
        stream.batch()
        at = stream.at
    mysql_server.run_sql(
        f"UPDATE {shop}.orders SET name = 'no number' WHERE id = 1; UPDATE {shop}.orders SET name = '5';"
        f"ALTER TABLE {shop}.orders MODIFY name INT"
    )
    with Stream(options, at) as stream, pytest.raises(WorkerError, match="column 'name', string there") as failure:
        stream.batch()
    assert number(failure) == "CDC3506"


def test_what_the_log_does_not_tell_of_the_table_stops_the_query(
    mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    mysql_server.run_sql(
        f"CREATE TABLE {shop}.parts (id INT PRIMARY KEY) PARTITION BY RANGE (id) "
        f"(PARTITION low VALUES LESS THAN (10), PARTITION high VALUES LESS THAN (20))"
    )
    with Stream(own_options(mysql_server, shop, tmp_path, table=f"{shop}.parts")) as stream:
        stream.batch()
        mysql_server.run_sql(f"ALTER TABLE {shop}.parts DROP PARTITION low")
        with pytest.raises(WorkerError, match="does not tell which rows came or went") as failure:
            stream.batch()
        assert number(failure) == "CDC3507"


def test_another_table_goes_on_at_the_place_of_the_checkpoint(
    mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    with Stream(own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders")) as stream:
        stream.batch()
        at = stream.at
    mysql_server.run_sql(f"INSERT INTO {shop}.others VALUES (8)")
    with Stream(own_options(mysql_server, shop, tmp_path, table=f"{shop}.others"), at) as stream:
        assert told(stream.batch(), "id") == [("c", 8)], "not row 7, which was there before"


def test_a_state_that_is_gone_is_made_anew_where_no_definition_has_changed(
    mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    orders, state = f"{shop}.orders", tmp_path / "state"
    with Stream(own_options(mysql_server, shop, state, table=orders)) as stream:
        stream.batch()
        at = stream.at
    shutil.rmtree(state)
    mysql_server.run_sql(f"DELETE FROM {orders} WHERE id = 1")
    options = own_options(mysql_server, shop, state, table=orders)
    with Stream(options, at) as stream, pytest.raises(WorkerError, match=r"source\.snapshot\.mode=recovery"):
        stream.batch()
    with Stream({**options, "source.snapshot.mode": "recovery"}, at) as stream:
        assert told(stream.batch(), "id") == [("d", 1)]


@pytest.mark.parametrize(("table", "said"), [
    ("{}.order", r"table: '{0}.order' is no captured table; did you mean '{0}.orders'\?"),
    ("nothing", r"captured: {0}.orders, {0}.others"),
])  # fmt: skip
def test_a_table_that_is_not_there_is_refused_by_name(
    mysql_server: MySQLServer, shop: str, tmp_path: Path, table: str, said: str
) -> None:
    with pytest.raises(WorkerError, match=said.format(shop)) as failure:
        read_rows(own_options(mysql_server, shop, tmp_path, table=table.format(shop)))
    assert number(failure) == "CDC2502"


def test_a_source_without_tables_says_so(tmp_path: Path) -> None:
    source = {"source.type": "debezium", "source.bootstrap.servers": "127.0.0.1:1", "source.topics": "t.shop.orders"}
    with pytest.raises(WorkerError, match="does not know which columns its tables have") as failure:
        read_rows({**source, "table": "shop.orders", "state": str(tmp_path)})
    assert number(failure) == "CDC2503"


def test_a_column_with_the_name_of_one_of_ours_is_refused(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    mysql_server.run_sql(f"ALTER TABLE {shop}.others ADD COLUMN _OP INT")
    with pytest.raises(WorkerError, match="has a column '_OP'"):
        read_rows(own_options(mysql_server, shop, tmp_path, table=f"{shop}.others"))


def test_transforms_say_which_columns_there_are(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    pipeline = tmp_path / "shop.yaml"
    pipeline.write_text(
        "source: {type: mysql}\ntransforms:\n- {type: ExtractNewRecordState, delete.tombstone.handling.mode: rewrite}\n"
        "- {type: MaskField$Value, fields: name, replacement: xx}\n- {type: ReplaceField$Value, exclude: 'raw,at'}\n"
    )
    options = own_options(mysql_server, shop, tmp_path / "state", table=f"{shop}.orders", pipeline=pipeline)
    with Stream(options) as stream:
        rows = stream.batch()[1:]
        assert {"raw", "at"}.isdisjoint(rows[0]) and [row["name"] for row in rows] == ["xx", None]
        mysql_server.run_sql(f"DELETE FROM {shop}.orders WHERE id = 1")
        assert told(stream.batch(), "id", "__deleted") == [("d", 1, "true")]


def test_columns_of_documents_are_refused_of_a_table_that_has_its_own(
    mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    options = own_options(mysql_server, shop, tmp_path, table=f"{shop}.orders", documentColumns="name string")
    with pytest.raises(WorkerError, match=rf"documentColumns: .*'{shop}.orders' has columns of its own") as failure:
        read_rows(options)
    assert number(failure) == "CDC2402"


def test_collections_have_declared_columns_or_the_document(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path
) -> None:
    with mongo.client() as client:
        people = client[unique_name].people
        people.insert_one({"_id": 1, "name": "Ada", "price": Decimal128("12.50"), "address": {"city": "Bern"}})
        options = {
            "source.type": "mongodb", "source.mongodb.connection.string": mongo.uri, "source.topic.prefix": "m",
            "source.database.include.list": unique_name, "table": f"{unique_name}.people",
        }  # fmt: skip
        (row,) = read_rows({**options, "state": str(tmp_path / "a")})
        assert (row["_op"], row["id"], row["document"].count("Ada")) == ("r", "1", 1)
        declared = "name string, price decimal(10,2), address.city string"
        with Stream({**options, "state": str(tmp_path / "b"), "documentColumns": declared}) as stream:
            rows, begun = stream.batch(), datetime.now(UTC)
            people.update_one({"_id": 1}, {"$set": {"name": "Bea"}})
            people.delete_one({"_id": 1})
            deadline = time.monotonic() + 60
            while len(rows) < 4 and time.monotonic() < deadline:
                rows += stream.batch()
        assert told(rows, "id", "price", "address_city")[1] == ("r", "1", Decimal("12.50"), "Bern")
        assert told(rows[-1:], "id", "name") == [("d", "1", None)]
        assert all(abs((row["_ts"] - begun).total_seconds()) < 300 for row in rows[2:])
        client.drop_database(unique_name)
