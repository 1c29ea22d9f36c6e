"""mysql-replication beside our decoder on the same live log: where they differ, it is known to be wrong.

Each entry of `oracle_cases.WRONG` and `REFUSED`, and each loss below, must still be wrong: it goes when the library is
mended.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from pymysqlreplication.event import GtidEvent, MariadbGtidEvent, RotateEvent

from cdckit_mysql.binlog.events import Gtid, MariaDbGtid
from mysql.decoding.oracle import OPTIONS, plain_ours, plain_selected, plain_theirs, their_events, theirs
from mysql.decoding.oracle_cases import ANYTHING, REFUSED, RIGHT, WRONG, Case
from mysql.decoding.random_values import COLUMNS
from mysql.decoding.reading import Change, Reading

pytestmark = pytest.mark.filterwarnings("ignore:'db' is deprecated")  # its way to call PyMySQL

SEED = 20_261_123
ROWS = 60
SECOND = timedelta(seconds=1)
LONG = "compressible " * 40

Values = dict[Case, list[tuple[str, Any, Any]]]
"""For each case the kind of each change, and the value before and after it."""


class Log:
    """The log of one table for each case, into which a row goes, is updated and is deleted.

    Args:
        reading: the database.
        cases: the values; those that the server does not have are left out.
    """

    def __init__(self, reading: Reading, cases: Sequence[Case]) -> None:
        self.reading = reading
        self.cases = [case for case in cases if reading.flavor.value in case.servers.split()]
        self._names = {f"t{number}": case for number, case in enumerate(self.cases)}
        columns = {name: f"(id INT PRIMARY KEY, v {case.kind})" for name, case in self._names.items()}
        reading.execute(*(f"DROP TABLE IF EXISTS {name}" for name in self._names))
        reading.execute(ANYTHING, *(f"CREATE TABLE {name} {told}" for name, told in columns.items()))
        self.start = reading.position()
        rows = {name: case.literal for name, case in self._names.items()}
        insert = [f"INSERT INTO {name} (id, v) VALUES (1, {literal})" for name, literal in rows.items()]
        self._change(*insert)
        self._change(*(f"UPDATE {name} SET id = 2" for name in rows), *(f"DELETE FROM {name}" for name in rows))
        self._change(*insert)
        self._kinds = {name: table.columns[1].base_type for name, table in reading.tables().items()}

    def ours(self) -> Values:
        """What our decoder makes of it."""
        return self._values(self.reading.changes(self.reading.events(self.start), OPTIONS), plain_ours)

    def theirs(self) -> Values:
        """What the library makes of it."""
        return self._values(theirs(self.reading, self.start), plain_theirs)

    def selected(self) -> dict[Case, Any]:
        """What the server's own SELECT gives."""
        found: dict[Case, Any] = {}
        with self.reading.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            for name, case in self._names.items():
                shown = "CAST(v AS BINARY)" if self._kinds[name] == "VECTOR" else "v"
                cursor.execute(f"SELECT {shown} FROM {self.reading.database}.{name}")
                [[value]] = cursor.fetchall()
                found[case] = plain_selected(self._kinds[name], value)
        return found

    def _change(self, *statements: str) -> None:
        self.reading.execute(ANYTHING, *statements)

    def _values(self, changes: Sequence[Change], plain: Any) -> Values:
        found: Values = {case: [] for case in self.cases}
        for name, kind, before, after in changes:
            one, other = (image and (plain(self._kinds[name], image["v"]),) for image in (before, after))
            found[self._names[name]].append((kind, one, other))
        return found


def logged(value: Any) -> list[tuple[str, Any, Any]]:
    """A value's changes in the log; it is wrapped so that null is told from no image."""
    one = (value,)
    return [("write", None, one), ("update", one, one), ("delete", one, None), ("write", None, one)]


def test_every_type_is_read_alike(reading: Reading) -> None:
    log = Log(reading, RIGHT)
    expected = {case: logged(value) for case, value in log.selected().items()}
    assert log.ours() == expected
    assert log.theirs() == expected


def test_what_it_reads_wrongly(reading: Reading) -> None:
    log = Log(reading, [wrong.case for wrong in WRONG])
    known = [wrong for wrong in WRONG if wrong.case in log.cases]
    assert log.selected() == {wrong.case: wrong.right for wrong in known}
    assert log.ours() == {wrong.case: logged(wrong.right) for wrong in known}
    assert log.theirs() == {wrong.case: logged(wrong.says) for wrong in known}
    assert all(wrong.says != wrong.right for wrong in known)


def test_what_it_cannot_read(reading: Reading) -> None:
    for refused in REFUSED:
        log = Log(reading, [refused.case])
        assert log.ours() == {case: logged(value) for case, value in log.selected().items()}
        if log.cases:
            with pytest.raises(ValueError, match=refused.error):
                log.theirs()


def test_random_rows_of_every_type(reading: Reading) -> None:
    kinds = {f"c{number}": kind for number, kind in enumerate(COLUMNS)}
    reading.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {', '.join(f'{n} {k}' for n, k in kinds.items())})")
    rng = random.Random(SEED)
    rows = [[COLUMNS[kind](rng) if rng.random() > 0.1 else "NULL" for kind in kinds.values()] for _ in range(ROWS)]
    start = reading.position()
    reading.execute(
        ANYTHING,
        *(f"INSERT INTO t VALUES ({number}, {', '.join(row)})" for number, row in enumerate(rows)),
        "UPDATE t SET id = id + 1000",
        "DELETE FROM t",
    )
    ours, read = reading.changes(reading.events(start), OPTIONS), theirs(reading, start)
    assert [change[:2] for change in ours] == [change[:2] for change in read]
    assert len(ours) == 3 * ROWS
    base_types = {column.name: column.base_type for column in reading.tables()["t"].columns}
    wrong: Counter[str] = Counter()
    for one, other in zip(ours, read, strict=True):
        for our_image, their_image in zip(one[2:], other[2:], strict=True):
            assert (our_image is None) == (their_image is None)
            for name, value in (our_image or {}).items():
                said, base = (their_image or {})[name], base_types[name]
                wrong[_fault(base, plain_ours(base, value), plain_theirs(base, said))] += 1
    assert wrong.keys() == {"", "a negative time's fraction", "trailing zero bytes", "no bytes"}


def _fault(base: str, ours: Any, read: Any) -> str:
    """Which of the library's known faults makes a value another one."""
    if ours == read and type(ours) is type(read):
        return ""
    if base == "TIME" and ours < timedelta() and ours.microseconds:
        whole = -ours // SECOND * SECOND
        assert read == -(whole + (SECOND - (-ours - whole)))
        return "a negative time's fraction"
    if base == "BINARY" and ours.endswith(b"\0"):
        assert (read or b"") == ours.rstrip(b"\0")
        return "trailing zero bytes"
    assert (ours, read) == (b"", "")
    return "no bytes"


def test_transactions_have_the_same_gtids(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = reading.position()
    reading.execute("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)", "ALTER TABLE t ADD n INT")
    ours = [event.gtid for event in reading.events(start) if isinstance(event, Gtid | MariaDbGtid)]
    assert [event.gtid for event in their_events(reading, start, [GtidEvent, MariadbGtidEvent])] == ours
    assert len(ours) == 3


def test_it_loses_compressed_transactions(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = mysql_reading.position()
    mysql_reading.execute(
        "SET binlog_transaction_compression = ON",
        "INSERT INTO t VALUES (1)",
        "SET binlog_transaction_compression = OFF",
        "INSERT INTO t VALUES (2)",
    )
    ours = mysql_reading.changes(mysql_reading.events(start))
    assert ours == [("t", "write", None, {"id": 1}), ("t", "write", None, {"id": 2})]
    assert theirs(mysql_reading, start) == ours[1:]


def test_it_loses_compressed_events(mariadb_reading: Reading) -> None:
    mariadb_reading.execute("CREATE TABLE t (id INT PRIMARY KEY, text TEXT)")
    start = mariadb_reading.position()
    mariadb_reading.server.execute("SET GLOBAL log_bin_compress = ON")
    mariadb_reading.server.execute("SET GLOBAL log_bin_compress_min_len = 10")
    try:
        mariadb_reading.execute(
            f"INSERT INTO t VALUES (1, '{LONG}')", "UPDATE t SET id = 2", "DELETE FROM t WHERE id = 2"
        )
    finally:
        mariadb_reading.server.execute("SET GLOBAL log_bin_compress = OFF")
    mariadb_reading.execute("INSERT INTO t VALUES (3, 'c')")
    ours = mariadb_reading.changes(mariadb_reading.events(start))
    assert [kind for _, kind, _, _ in ours] == ["write", "update", "delete", "write"]
    assert theirs(mariadb_reading, start) == ours[3:]


def test_it_loses_all_but_the_first_change_of_a_document(mysql_reading: Reading) -> None:
    document = {"a": 1, "b": "b" * 60, "c": 3}
    mysql_reading.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, j JSON)", f"INSERT INTO t VALUES (1, '{json.dumps(document)}')"
    )
    start = mysql_reading.position()
    mysql_reading.execute(
        "SET binlog_row_value_options = PARTIAL_JSON", "UPDATE t SET j = JSON_SET(j, '$.a', 2, '$.c', 4)"
    )
    [(_, _, _, ours)] = mysql_reading.changes(mysql_reading.events(start))
    assert ours is not None
    assert json.loads(ours["j"]) == {**document, "a": 2, "c": 4}
    [(_, _, before, after)] = theirs(mysql_reading, start)
    assert before is not None
    assert plain_theirs("JSON", before["j"]) == document
    assert after is not None
    assert (after["j"].op.name, after["j"].path, after["j"].value) == ("Replace", b"$.a", 2)


def test_it_loses_tagged_gtids(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = mysql_reading.position()
    mysql_reading.execute(
        "SET gtid_next = 'AUTOMATIC:blue'",
        "INSERT INTO t VALUES (1)",
        "SET gtid_next = 'AUTOMATIC'",
        "INSERT INTO t VALUES (2)",
    )
    tagged, plain = [event.gtid for event in mysql_reading.events(start) if isinstance(event, Gtid)]
    assert tagged is not None
    assert ":blue:" in tagged
    assert [event.gtid for event in their_events(mysql_reading, start, [GtidEvent])] == [plain]
    with pytest.raises(ValueError, match="blue"):
        list(their_events(mysql_reading, start, [GtidEvent], auto_position=tagged))


def test_as_mariadb_it_takes_no_position(mariadb_reading: Reading) -> None:
    """It begins with the first log that there is; without `is_mariadb` it begins where it is told."""
    mariadb_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    start = mariadb_reading.position()
    mariadb_reading.execute("INSERT INTO t VALUES (2)")
    ours = mariadb_reading.changes(mariadb_reading.events(start))
    assert theirs(mariadb_reading, start) == ours == [("t", "write", None, {"id": 2})]
    [first, *_] = mariadb_reading.server.execute("SHOW BINARY LOGS")
    for options, begins in (({}, start), ({"is_mariadb": True}, (first[0], 4))):
        with closing(their_events(mariadb_reading, start, [RotateEvent], **options)) as events:
            place = next(events)
        assert (place.next_binlog, place.position) == begins
