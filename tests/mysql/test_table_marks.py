"""What the source tells about whole tables: for each statement its marks, at places among the rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.marks import MarkKind, RoutedMark, TableMark
from cdckit.api.record import Offset
from cdckit.api.source import SourceContext
from cdckit.api.struct import Struct
from cdckit.engine.chain import build_chain
from cdckit.engine.mark_routes import MarkRoutes
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import RetriableSourceError
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.source import MySqlSource
from mysql.capture import config_for
from mysql.signalling import SIGNALS
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

TABLES = """
create table a (id int primary key, n int);
create table b (id int primary key, n int);
create table parts (id int primary key) partition by range (id) (partition p0 values less than (10),
    partition p1 values less than maxvalue);
create table swapped (id int primary key);
insert into a values (1, 1);
"""


class Marked:
    """A source that tells marks, planned and read as Spark does."""

    def __init__(self, server: SQLServer, database: str, folder: Path, **options: Any) -> None:
        self._config = config_for(server, database_include_list=database, **options)
        self._state = SqliteStateStore(folder)
        self._planner = MySqlSource(self._config)
        self._planner.open(SourceContext("p", self._state, marks=True))
        self._worker = MySqlSource(self._config)
        self._worker.open(SourceContext("p", marks=True))
        self._at: Offset = self._planner.initial_offset()
        self.rows: list[str] = []
        self.told: list[str] = []
        self.splits: list[bytes] = []

    def next(self, parallelism: int = 1) -> list[TableMark]:
        """The marks up to the log's end, in their order; `rows` are then the positions of the records."""
        end = self._planner.latest_offset(self._at)
        self.splits = [pickle.dumps(split) for split in self._planner.plan(self._at, end, parallelism)]
        batches = [b for split in self.splits for b in self._worker.read(pickle.loads(split))]
        self._at = end
        self.told = [record.position for batch in batches for record in batch.records]
        self.rows = sorted(self.told)
        return sorted((mark for batch in batches for mark in batch.marks), key=lambda mark: mark.position)

    def define(self, model: tuple[str, str], others: int) -> None:
        """Makes the pipeline know so many captured tables more, of one shape."""
        history, at = SchemaHistory(self._state), LogOffset.from_json(self._at).position
        tables = history.tables_at(at)
        for number in range(others):
            tables.put(replace(tables[model], name=f"other_{number}"))
        history.start(at, tables)

    def next_here(self) -> list[TableMark]:
        """The marks up to the log's end where the planner itself reads, as it does to hear signals."""
        end, plan = self._planner.latest_offset(self._at), self._planner.plan(self._at, None, 1)
        splits = [bounded for split in plan for bounded in self._planner.bounded(split, end)]
        return [mark for split in splits for batch in self._planner.read(split) for mark in batch.marks]

    def close(self) -> None:
        self._planner.close()
        self._worker.close()
        self._state.close()


@pytest.fixture
def marked(db_server: SQLServer, database: str, tmp_path: Path) -> Iterator[Marked]:
    db_server.run_sql(f"USE {database}; {TABLES}")
    found = Marked(db_server, database, tmp_path)
    yield found
    found.close()


def _told(marks: list[TableMark]) -> list[tuple[str, str]]:
    return [(str(mark.kind), mark.table.partition(".")[2]) for mark in marks]


def test_a_snapshot_begins_before_all_rows_and_ends_behind_them(marked: Marked) -> None:
    """Also that of a table without rows, which no chunk reads."""
    marks = marked.next(parallelism=4)
    begins = [mark for mark in marks if mark.kind is MarkKind.SNAPSHOT_BEGIN]
    ends = [mark for mark in marks if mark.kind is MarkKind.SNAPSHOT_END]
    assert [[mark.table.partition(".")[2] for mark in found] for found in (begins, ends)] == [
        ["a", "b", "parts", "swapped"]
    ] * 2
    assert {mark.position for mark in begins} < {*marked.rows, begins[0].position}
    assert max(mark.position for mark in begins) < marked.rows[0] < min(mark.position for mark in ends)


STATEMENTS = [
    ("truncate a; insert into a values (2, 2); truncate table a;", [("truncate", "a")] * 2),
    ("drop table a, b;", [("drop", "a"), ("drop", "b")]),
    ("drop table if exists nothing; drop view if exists b_view;", [("drop", "nothing")]),
    ("create table c like a; create table if not exists a (id int);", [("create", "c")]),
    ("create table c as select * from a;", [("create", "c")]),
    ("rename table a to c;", [("drop", "a"), ("rename", "c")]),
    ("alter table a rename to c;", [("drop", "a"), ("rename", "c")]),
    ("rename table a to c, b to a, c to b;", [("rename", "a"), ("rename", "b")]),
    ("rename table a to c, c to a;", []),
    ("create view v as select * from a; rename table v to w;", []),
    (
        "create table _a_gho like a; alter table _a_gho add column x int not null default 7; "
        "rename table a to _a_del, _a_gho to a;",
        [("create", "_a_gho"), ("alter", "_a_gho"), ("drop", "_a_gho"), ("drop", "_a_del"), ("alter", "a")],
    ),
    ("alter table parts truncate partition p0;", [("untold", "parts")]),
    ("alter table parts drop partition p0;", [("untold", "parts")]),
    (
        "alter table parts exchange partition p0 with table swapped;",
        [("untold", "parts"), ("untold", "swapped")],
    ),
    ("alter table parts reorganize partition p1 into (partition p1 values less than maxvalue);", []),
    ("analyze table a; create index i on a (n); alter table a engine innodb;", []),
]


@pytest.mark.parametrize(("script", "expected"), STATEMENTS)
def test_statements(
    marked: Marked, db_server: SQLServer, database: str, script: str, expected: list[tuple[str, str]]
) -> None:
    marked.next()
    db_server.run_sql(f"USE {database}; {script}")
    marks = marked.next()
    assert sorted(_told(marks)) == sorted(expected)
    assert len({mark.position for mark in marks}) == len(marks)


def test_a_split_with_statements_carries_the_definitions_that_it_names(
    marked: Marked, db_server: SQLServer, database: str
) -> None:
    """Its marks tell of all captured tables, by definitions that are packed."""
    marked.next()
    marked.define((database, "b"), 5000)
    db_server.run_sql(
        f"USE {database}; insert into a values (2, 2); alter table a add m int; create table new (id int); "
        "rename table swapped to moved; drop table parts;"
    )
    marks = marked.next()
    assert _told(marks) == [
        ("alter", "a"), ("create", "new"), ("drop", "swapped"), ("rename", "moved"), ("drop", "parts"),
    ]  # fmt: skip
    [split] = marked.splits
    assert len(split) < 50_000
    named = pickle.loads(split).payload.tables
    assert {table.name for table in named} == {"a", "parts", "swapped"}
    captured = {example.table.partition(".")[2]: example for example in marks[-1].captured()}
    others = {f"other_{number}" for number in range(5000)}
    assert captured.keys() == {"a", "b", "moved", "new"} | others
    envelope = captured["other_7"].records[0].value
    assert isinstance(envelope, Struct)
    assert envelope["after"].schema.name == f"p.{database}.other_7.Value"
    assert [field.name for field in envelope["after"].schema.fields] == ["id", "n"]
    assert {"swapped", "parts"} <= {example.table.partition(".")[2] for example in marks[0].captured()}


def test_a_database_that_is_dropped_takes_its_tables(marked: Marked, db_server: SQLServer, database: str) -> None:
    marked.next()
    db_server.run_sql(f"drop database {database}; create database {database};")
    assert _told(marked.next()) == [("drop", name) for name in ("a", "b", "parts", "swapped")]


def test_marks_stand_among_the_rows(marked: Marked, db_server: SQLServer, database: str) -> None:
    """Every truncate behind the rows before it and before those behind it, however the log is divided."""
    marked.next()
    for number in range(3):
        db_server.run_sql(f"USE {database}; insert into b values ({number}, 0); truncate b;")
    marks = [mark.position for mark in marked.next(parallelism=3)]
    assert [kind for _, kind in sorted([(p, "row") for p in marked.rows] + [(p, "mark") for p in marks])] == [
        "row", "mark", "row", "mark", "row", "mark",
    ]  # fmt: skip


def test_marks_are_told_beside_signals(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    db_server.run_sql(f"USE {database}; {TABLES} {SIGNALS}")
    marked = Marked(db_server, database, tmp_path, signal_data_collection=f"{database}.signals")
    try:
        marked.next()
        db_server.run_sql(f"USE {database}; truncate a; drop table b;")
        assert _told(marked.next_here()) == [("truncate", "a"), ("drop", "b")]
    finally:
        marked.close()


@pytest.mark.parametrize("kind", [MySQLServer, MariaDBServer])
def test_a_server_that_was_restarted_has_a_new_file(kind: type[SQLServer], tmp_path: Path) -> None:
    """Of which no event of the log tells: what stands there comes behind what was written before."""
    with kind() as server:
        server.run_sql("create database d; create table d.b (id int primary key);")
        server.create_user("dbz", "dbz")
        marked = Marked(server, "d", tmp_path)
        marked.next()
        server.run_sql("use d; insert into b values (1); insert into b values (2);")
        server.restart()
        server.run_sql("use d; insert into b values (3); truncate b; insert into b values (4);")
        marks = []
        with suppress(RetriableSourceError):  # unless a slow restart has made it look at the connection first
            marks += marked.next()
        [mark] = marks or marked.next()
        marked.close()
    assert marked.rows == marked.told
    assert marked.rows[2] < mark.position < marked.rows[3]


def test_an_altered_table_says_what_is_otherwise(marked: Marked, db_server: SQLServer, database: str) -> None:
    marked.next()
    db_server.run_sql(
        f"USE {database}; alter table a change n amount bigint not null, add column (word varchar(10) default 'x', "
        "made timestamp not null default current_timestamp, plain int not null), comment 'about a'; "
        "alter table b drop column n, add column k int not null, drop primary key, add primary key (k);"
    )
    first, second = marked.next()
    assert (first.kind, first.before is not None) == (MarkKind.ALTER, True)
    assert first.change is not None and second.change is not None
    assert (first.change.renamed, first.change.retyped) == ((("n", "amount"),), ("amount",))
    assert first.change.added == ("word", "made", "plain")
    assert first.change.comments == {"": "about a"}
    assert (second.change.dropped, second.change.key) == (("n",), (("id",), ("k",)))


KEPT = [
    ("int", "bigint"), ("int", "smallint"), ("int", "decimal(10,0)"), ("int unsigned", "bigint"),
    ("int", "int not null"), ("decimal(10,2)", "decimal(12,4)"),
    ("float", "double"), ("varchar(20)", "varchar(30)"), ("varchar(20)", "text"),
    ("datetime", "datetime(6)"), ("varbinary(3)", "blob"), ("enum('a','b')", "enum('b','c','a')"),
]  # fmt: skip
CHANGED = [
    ("int", "decimal(9,0)"), ("int", "varchar(20)"), ("decimal(10,2)", "decimal(10,1)"), ("decimal(10,2)", "double"),
    ("varchar(20)", "varchar(10)"), ("varchar(20)", "char(20)"), ("datetime(6)", "datetime(3)"), ("datetime", "date"),
    ("double", "float"), ("blob", "varbinary(3)"),
    ("varchar(3) character set utf8mb4", "varchar(3) character set latin1"),
]  # fmt: skip


def test_a_type_that_may_change_values_is_told(marked: Marked, db_server: SQLServer, database: str) -> None:
    """In the strict mode, which is the default of both servers."""
    marked.next()
    for number, (old, new) in enumerate([*KEPT, *CHANGED]):
        db_server.run_sql(
            f"create table t{number} (id int primary key, x {old}); alter table t{number} modify x {new};",
            database=database,
        )
    changes = [mark.change for mark in marked.next() if mark.kind is MarkKind.ALTER]
    assert [change and (change.retyped, change.rewritten) for change in changes] == [
        *[(("x",), ())] * len(KEPT),
        *[(("x",), ("x",))] * len(CHANGED),
    ]


def test_a_column_that_is_dropped_and_added_again_is_another_one(
    marked: Marked, db_server: SQLServer, database: str
) -> None:
    marked.next()
    db_server.run_sql(f"USE {database}; alter table a drop column n, add column n int default 5;")
    (mark,) = marked.next()
    assert mark.change is not None
    assert (mark.change.added, mark.change.dropped, mark.change.retyped) == (("n",), ("n",), ())


ROUTED = {"type": "ByLogicalTableRouter", "topic.regex": r"(.*)\.(a|b)", "topic.replacement": "$1.all"}


def _routed(marks: list[TableMark], **options: Any) -> list[RoutedMark]:
    routes = MarkRoutes(build_chain([{**ROUTED, **options}], {}))
    return [found for mark in marks for found in routes.of(mark)]


def test_a_mark_arrives_where_the_rows_do(marked: Marked, db_server: SQLServer, database: str) -> None:
    """With what tells a shard's rows from the others', or the names of those."""
    marked.next()
    db_server.run_sql(f"USE {database}; truncate a; truncate swapped;")
    marks = marked.next()
    shard, alone = _routed(marks)
    assert (shard.topic, alone.topic) == (f"p.{database}.all", f"p.{database}.swapped")
    assert shard.scope == {"__dbz__physicalTableIdentifier": f"p.{database}.a"}
    assert (shard.sharing, alone.sharing, alone.scope) == ((), (), {})
    shard, alone = _routed(marks, **{"key.enforce.uniqueness": False})
    assert (shard.scope, shard.sharing, alone.sharing) == ({}, (f"{database}.b",), ())


WANT_MORE = [
    {"type": "HeaderFrom", "fields": "op", "headers": "op", "operation": "copy"},
    {"type": "MaskField", "fields": "op"},
    {"type": "ValueToKey", "fields": "source"},
    {"type": "TimestampRouter"},
]


def test_the_mark_of_a_table_that_nothing_is_known_of_passes_transforms_that_want_more_than_its_topic(
    marked: Marked, db_server: SQLServer, database: str
) -> None:
    """Such is one that is dropped if it exists, and never did: the log has the statement."""
    marked.next()
    db_server.run_sql(f"USE {database}; drop table if exists nowhere;")
    [mark] = marked.next()
    chain = build_chain([*WANT_MORE, {"type": "RegexRouter", "regex": "p[.](.*)", "replacement": "q.$1"}], {})
    [found] = MarkRoutes(chain).of(mark)
    assert (found.topic, found.mark.kind) == (f"q.{database}.nowhere", MarkKind.DROP)


def test_marks_are_told_to_those_alone_who_want_them(
    marked: Marked, db_server: SQLServer, database: str, tmp_path: Path
) -> None:
    config = config_for(db_server, database_include_list=database)
    source, state = MySqlSource(config), SqliteStateStore(tmp_path / "other")
    source.open(SourceContext("p", state))
    start = source.initial_offset()
    point = source.latest_offset(start)
    splits = list(source.plan(start, point))
    db_server.run_sql(f"USE {database}; truncate a;")
    splits += source.plan(point, source.latest_offset(point))
    assert not [batch for split in splits for batch in source.read(split) if batch.marks]
    source.close()
    state.close()
