"""Log files are read as their server's log is, without the server."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.takeover import ConnectOffset
from cdckit.connector.resnapshot import ask
from cdckit.errors import CdcError, ConfigError, DecodeError, SourceError, StateError
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.files.reading import LogFileReader
from cdckit_mysql.files.storage import LogFile
from cdckit_mysql.source import MySqlSource
from mysql.capture import Capture, changes, config_for
from mysql.log_files import DATABASES, Files, archived, names
from mysql.recordings import DATA
from testkit.running import Pipeline
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

COMPRESSED = {
    MySQLServer: "SET SESSION binlog_transaction_compression = ON;",
    MariaDBServer: "SET GLOBAL log_bin_compress = ON;",
}
PLAIN = {MySQLServer: "", MariaDBServer: "SET GLOBAL log_bin_compress = OFF;"}
_TIMES = ("ts_ms", "ts_us", "ts_ns")


@pytest.fixture(scope="module", params=[MySQLServer, MariaDBServer], ids=["mysql", "mariadb"])
def logged(request: pytest.FixtureRequest) -> Iterator[SQLServer]:
    """A server whose log has all types, all operations, compressed transactions and several files."""
    with request.param() as server:
        server.create_user("dbz", "dbz")
        for script in ("types.setup", "types.stream", "dml.setup", "dml.stream"):
            server.run_sql_file(DATA / "sql" / f"{script}.sql")
            server.execute("FLUSH BINARY LOGS")
        values = ", ".join(f"({number}, REPEAT('wide ', 100))" for number in range(200))
        server.run_sql(
            f"CREATE TABLE packed (id INT PRIMARY KEY, v TEXT); {COMPRESSED[request.param]}"
            f"INSERT INTO packed VALUES {values}; {PLAIN[request.param]} UPDATE packed SET v = 'x' WHERE id < 3;",
            database="g_dml",
        )
        yield server


@pytest.fixture
def archive(logged: SQLServer, tmp_path: Path) -> Path:
    """A copy of its log files, which it has all closed but for the last one."""
    return archived(logged, tmp_path / "archive")


NewFiles = Callable[..., Files]


@pytest.fixture
def files(logged: SQLServer, tmp_path: Path) -> Iterator[NewFiles]:
    """Makes pipelines that read files of that server; a second one goes on with the state of the first."""
    made: list[Files] = []

    def new(pattern: Path | str, state: str = "state", **options: Any) -> Files:
        for other in made:
            other.close()
        made.append(Files(logged, tmp_path / state, pattern, **options))
        return made[-1]

    yield new
    for each in made:
        each.close()


def shown(records: Sequence[Record]) -> list[str]:
    """Records in full, but for when they were made."""
    return [_shown(record) for record in records]


def _shown(record: Record) -> str:
    value = record.value and record.value.to_dict()  # type: ignore[union-attr]
    value = value and {name: member for name, member in value.items() if name not in _TIMES}
    key = record.key and record.key.to_dict()  # type: ignore[union-attr]
    schemas = [datum.schema if datum is not None else None for datum in (record.key, record.value)]
    return f"{record.position} {record.topic} {key} {value} {_named(*schemas)}"


@cache
def _named(*schemas: Schema | None) -> str:
    return repr(schemas)


def from_server(server: SQLServer, state: Path, **options: Any) -> list[Record]:
    """What streaming from the server gives, from the beginning of its log on."""
    config = config_for(server, database_include_list=DATABASES, snapshot_mode="never", **options)
    with Capture(config, state).closing() as capture:
        return capture.once()


def test_what_is_read_and_left_out_is_counted(archive: Path, files: NewFiles) -> None:
    reading = files(archive / "*", table_exclude_list=r"g_dml\.packed")
    operations = [record.value.to_dict()["op"] for record in reading.once() if record.value]  # type: ignore[union-attr]
    counted, told = reading.counts.operations, Counter(operations)
    assert (counted["c"] + counted["u"], counted["d"] + counted["u"]) == (told["c"] + told["u"], told["d"] + told["u"])
    assert counted["u"] > told["u"] > 0, "a changed key is an update, and told of as two events"
    assert reading.counts.filtered > 0
    assert reading.counts.transactions > 0


def test_events_equal_those_of_the_server(logged: SQLServer, archive: Path, files: NewFiles, tmp_path: Path) -> None:
    expected = from_server(logged, tmp_path / "live", include_schema_changes=True)
    reading = files(archive / "*", include_schema_changes=True)
    assert shown(reading.once()) == shown(expected)
    assert len(expected) > 300
    assert reading.once() == []


def test_splits_read_apart_are_the_same(logged: SQLServer, archive: Path, files: NewFiles, tmp_path: Path) -> None:
    reading = files(archive / "*")
    start = reading.offset()
    end = reading.source.latest_offset(start)
    whole = shown(reading.once())
    for max_bytes in (1000, 20_000):
        cut = reading.source.cut(start, end, max_bytes)
        ranges = [*reading.source.plan(start, cut, 2), *reading.source.plan(cut, end, 2)]
        assert cut not in (start, end)
        assert shown([r for part in ranges for batch in reading.source.read(part) for r in batch.records]) == whole


def test_the_schema_history_of_a_pipeline_serves_and_the_server_is_gone_back_to(
    logged: SQLServer, files: NewFiles, tmp_path: Path
) -> None:
    logged.run_sql("DROP TABLE IF EXISTS h; CREATE TABLE h (id INT PRIMARY KEY, n INT DEFAULT 7)", database="g_dml")
    options = {"table_include_list": "g_dml.h"}
    with Capture(config_for(logged, **options), tmp_path / "state").closing() as capture:
        capture.once()
    logged.run_sql("FLUSH BINARY LOGS; INSERT INTO h (id) VALUES (1);", database="g_dml")
    folder = archived(logged, tmp_path / "later")
    reading = files(folder / "*", **options)
    found = reading.once()
    reading.close()
    logged.run_sql("INSERT INTO h (id) VALUES (2);", database="g_dml")
    with Capture(config_for(logged, **options), tmp_path / "state").closing() as capture:
        found += capture.once()
    assert changes(found) == [("c", "h", None, (1, 7)), ("c", "h", None, (2, 7))]
    assert all(record.value.to_dict()["source"]["gtid"] for record in found)  # type: ignore[union-attr]
    [schema] = {repr(record.value.schema) for record in found}  # type: ignore[union-attr]
    assert "7" in schema, "the default is that of the history's definition"


def test_the_log_itself_tells_the_definitions(logged: SQLServer, files: NewFiles, tmp_path: Path) -> None:
    logged.execute("SET GLOBAL binlog_row_metadata = FULL")
    logged.run_sql_file(DATA / "sql" / "types.setup.sql")
    logged.run_sql_file(DATA / "sql" / "types.stream.sql")
    logged.execute("FLUSH BINARY LOGS")
    start = logged.execute("SHOW BINARY LOGS")[-1][0]
    for (table,) in logged.execute("SHOW TABLES FROM g_types"):
        logged.execute(f"DELETE FROM g_types.{table}")
    expected = [r for r in from_server(logged, tmp_path / "live") if _file_of(r) == start and r.value is not None]
    folder = archived(logged, tmp_path / "archive")
    found = [r for r in files(folder / start).once() if r.value is not None]
    assert len(found) > 20
    for record, other in zip(found, expected, strict=True):
        assert _values(record) == _values(other)


def _file_of(record: Record) -> str:
    return str(record.value.to_dict()["source"]["file"]) if record.value is not None else ""  # type: ignore[union-attr]


def _values(record: Record) -> dict[str, Any]:
    """The row, but for columns whose values depend on what only statements tell: BOOLEAN, FLOAT(7,2), a default."""
    value = record.value.to_dict()  # type: ignore[union-attr]
    row = {name: member for name, member in value["before"].items() if name not in ("b", "f72", "ts_d")}
    return {"position": record.position, "key": record.key and record.key.to_dict(), "row": row}  # type: ignore[union-attr]


def test_without_history_and_metadata_the_error_says_so(logged: SQLServer, files: NewFiles, tmp_path: Path) -> None:
    logged.execute("SET GLOBAL binlog_row_metadata = MINIMAL")
    try:
        logged.run_sql("FLUSH BINARY LOGS; UPDATE packed SET v = 'y' WHERE id = 7;", database="g_dml")
    finally:
        logged.execute("SET GLOBAL binlog_row_metadata = FULL")
    start = logged.execute("SHOW BINARY LOGS")[-1][0]
    folder = archived(logged, tmp_path / "archive")
    with pytest.raises(DecodeError, match=rf"{start}:\d+: rows of g_dml.packed .*neither in the schema history nor"):
        files(folder / start).once()


def test_a_range_is_what_is_asked_for(archive: Path, files: NewFiles) -> None:
    whole = files(archive / "*", "whole").once()
    places = _places(files(archive / "*", "batches", max_batch_size=1))
    first, last = places[len(places) // 3], places[2 * len(places) // 3]
    options = {"binlog_files_start": first, "binlog_files_stop": last}
    before = shown(files(archive / "*", "before", binlog_files_stop=first).once())
    # the definitions are those of the statements before the start
    files(archive / "*", "range", binlog_files_stop=first).once()
    reading = files(archive / "*", "range", **options)
    found = shown(reading.once())
    assert before
    assert found
    assert before + found == shown(whole)[: len(before) + len(found)]
    reading.keep(None)
    assert shown(reading.once()) == found, "an offset that is forgotten makes it begin at the start again"


def _places(reading: Files) -> list[str]:
    """The places between transactions at which batches end."""
    offsets = [batch.offset or {} for batch in reading.batches()]
    return list(dict.fromkeys(f"{at['file']}:{at['pos']}" for at in offsets if not at.get("event")))


def test_a_start_within_a_transaction_is_told_with_the_place_before(archive: Path, files: NewFiles) -> None:
    file = names(archive)[0]
    start = files(archive / "*", binlog_files_stop=file).source.latest_offset({"file": file, "pos": 4})
    with pytest.raises(SourceError, match=rf"binlog.files.start={file}:{start['pos'] - 1} lies within .* {file}:\d+"):
        files(archive / "*", "other", binlog_files_start=f"{file}:{start['pos'] - 1}").offset()


def test_reading_that_was_interrupted_goes_on_within_the_transaction(archive: Path, files: NewFiles) -> None:
    whole = shown(files(archive / "*", "whole").once())
    found: list[str] = []
    reading = files(archive / "*", max_batch_size=7)
    while batch := next((batch for batch in reading.batches() if batch.records), None):
        found += shown(batch.records)
        reading.keep(batch.offset)
    assert found == whole


def test_a_file_that_is_still_written_is_read_as_far_as_it_goes(
    logged: SQLServer, archive: Path, files: NewFiles
) -> None:
    last = archive / names(archive)[-1]
    content = last.read_bytes()
    whole = shown(files(archive / "*", "whole").once())
    found: list[str] = []
    for size in (*range(300, len(content), len(content) // 5), len(content)):
        last.write_bytes(content[:size])
        found += shown(files(archive / "*").once())
        assert found == whole[: len(found)]
    assert found == whole


def test_a_closed_file_that_was_cut_is_an_error(archive: Path, files: NewFiles) -> None:
    first, second = (archive / name for name in names(archive)[:2])
    content = second.read_bytes()
    second.write_bytes(content[:-10])
    for pattern in (second, archive / "*"):
        with pytest.raises(SourceError, match=rf"{second.name} ends within the event at \d+.*make it anew"):
            files(pattern, f"cut-{pattern.name}").once()
    second.write_bytes(content)
    first.write_bytes(first.read_bytes()[:50])
    with pytest.raises(SourceError, match="does not begin with a format description"):
        files(archive / "*", "short").once()


def test_a_missing_file_is_an_error(archive: Path, files: NewFiles) -> None:
    removed = archive / names(archive)[2]
    removed.unlink()
    with pytest.raises(SourceError, match="a file is missing"):
        files(archive / "*").once()
    with pytest.raises(SourceError, match=rf"{removed.name} is not among the files"):
        files(archive / "*", "start", binlog_files_start=removed.name).once()
    with pytest.raises(SourceError, match="names no log file"):
        files(archive / "nothing.*", "none").once()


def test_files_that_begin_behind_what_was_read_are_refused(
    archive: Path, files: NewFiles, caplog: pytest.LogCaptureFixture
) -> None:
    offsets = [batch.offset for batch in files(archive / "*", max_batch_size=1).batches()]
    first, last = names(archive)[0], names(archive)[-1]
    at = next(at for at in offsets if at and at["file"] == first and not at.get("event"))
    reading = files(archive / last)
    reading.keep(at)
    end = reading.source.latest_offset(at)
    for read in (reading.once, lambda: reading.source.plan(at, end)):
        with pytest.raises(PositionLostError, match=rf"begins behind transactions .* come before {last}, and read"):
            read()
    assert sum("is another log than before" in one.getMessage() for one in caplog.records) == 1


def test_damage_is_found_by_checksums(archive: Path, files: NewFiles) -> None:
    damaged = archive / names(archive)[0]
    content = bytearray(damaged.read_bytes())
    content[content.rindex(b"g_types")] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(DecodeError, match=rf"{damaged.name}:\d+: the checksum"):
        files(archive / "*").once()


def test_damage_is_found_where_only_boundaries_are_looked_for(archive: Path, files: NewFiles) -> None:
    """The last file, whose end is looked for before anything is read."""
    damaged = archive / names(archive)[-1]
    content = bytearray(damaged.read_bytes())
    content[-10] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(DecodeError, match=rf"{damaged.name}:\d+: the checksum"):
        files(damaged).source.latest_offset({"file": damaged.name, "pos": 4})


@pytest.mark.parametrize("byte", [40, -5], ids=["version", "kind of checksums"])
def test_a_damaged_format_description_is_found(archive: Path, files: NewFiles, byte: int) -> None:
    damaged = archive / names(archive)[0]
    content = bytearray(damaged.read_bytes())
    (size,) = struct.unpack_from("<I", content, 4 + 9)
    content[4 + byte if byte > 0 else 4 + size + byte] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(DecodeError, match=rf"{damaged.name}:4: the checksum"):
        files(archive / "*").once()


@pytest.mark.parametrize("doubled", [False, True], ids=["missing", "doubled"])
def test_events_that_are_missing_or_doubled_are_found(archive: Path, files: NewFiles, doubled: bool) -> None:
    """Their checksums are right."""
    spoiled = archive / names(archive)[0]
    content = spoiled.read_bytes()
    with LogFileReader(LogFile(spoiled.name, str(spoiled))) as reader:
        spans = [span for _ in range(100) for span in reader.spans()]
    events = [buffer[at:end] for buffer, at, end in spans]
    number = next(number for number, event in enumerate(events) if event[4] in (23, 30) and number > 20)
    kept = [*events[: number + doubled], *events[number + 1 - doubled :]]
    spoiled.write_bytes(content[:4] + b"".join(kept))
    at = 4 + sum(map(len, events[: number + doubled]))
    said = f"{spoiled.name}:{at}: the event that follows .* events are {'doubled' if doubled else 'missing'}"
    with pytest.raises(DecodeError, match=said):
        files(archive / "*").once()


@pytest.mark.parametrize("checksum", ["NONE", "CRC32"])
def test_files_of_each_kind_of_checksum_are_whole(logged: SQLServer, tmp_path: Path, checksum: str) -> None:
    """Their descriptions have checksums in any case."""
    logged.execute(f"SET GLOBAL binlog_checksum = {checksum}")
    logged.run_sql("DELETE FROM packed WHERE id = 99; FLUSH BINARY LOGS", database="g_dml")
    logged.execute("SET GLOBAL binlog_checksum = CRC32")
    found = set()
    for path in sorted(archived(logged, tmp_path / "kinds").iterdir()):
        with LogFileReader(LogFile(path.name, str(path))) as reader:
            while reader.spans():
                pass
            assert reader.position == path.stat().st_size
            found.add(reader.checksums)
    assert (checksum == "CRC32") in found


def test_what_is_no_log_or_encrypted_is_told(archive: Path, files: NewFiles, logged: SQLServer) -> None:
    file = archive / names(archive)[0]
    content = file.read_bytes()
    for spoiled, said in (
        (b"", "is empty"),
        (b"PK\3\4" + content[4:], "is no binary log"),
        (b"\xfdbin" + content[4:], "is encrypted .binlog_encryption."),
        (_with_encryption_begun(file, content), "is encrypted .encrypt_binlog."),
    ):
        file.write_bytes(spoiled)
        with pytest.raises(SourceError, match=f"{file.name} {said}"):
            files(file, said[:9]).once()


def _with_encryption_begun(file: Path, content: bytes) -> bytes:
    """As MariaDB begins an encrypted file: the event behind the format's description starts encryption."""
    file.write_bytes(content)
    with LogFileReader(LogFile(file.name, str(file))) as reader:
        behind = 4 + len(reader.description)
    return content[: behind + 4] + b"\xa4" + content[behind + 5 :]


def test_any_url_of_fsspec_is_read(archive: Path, files: NewFiles) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name in names(archive):
        memory.pipe(f"/archive/{name}", (archive / name).read_bytes())
    assert shown(files("memory://archive/*", "remote").once()) == shown(files(archive / "*").once())
    with pytest.raises(CdcError, match="no-such-protocol"):
        files("no-such-protocol://archive/*", "none").once()


def test_a_server_without_row_metadata_is_read_from_its_statements(mysql56_server: SQLServer, tmp_path: Path) -> None:
    server = mysql56_server
    server.run_sql_file(DATA / "sql" / "dml.setup.sql")
    server.run_sql_file(DATA / "sql" / "dml.stream.sql")
    folder = archived(server, tmp_path / "archive")
    expected = from_server(server, tmp_path / "live")
    with closing(Files(server, tmp_path / "state", folder / "*")) as reading:
        assert shown(reading.once()) == shown(expected)
    assert len(expected) > 20


def test_what_is_found_before_it_runs(archive: Path, files: NewFiles) -> None:
    last = archive / names(archive)[-1]
    (archive / "binlog.index").write_text("what lies beside log files")
    config = files(archive / "*").config
    [found] = MySqlSource.check(config)
    assert (found.name, found.status) == ("binlog.files", "ok")
    assert found.message.endswith(f"to {last.name}:{last.stat().st_size}")
    [missing] = MySqlSource.check(config.model_copy(update={"binlog_files": str(archive / "none.*")}))
    assert missing.status == "fail"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, r"database\.user is needed, unless binlog\.files names files"),
        ({"database.user": "u", "binlog.files.stop": "b.1"}, r"binlog\.files\.stop is a place in files, but"),
        ({"binlog.files": "b.*", "binlog.files.start": "b.1:x"}, "'b.1:x' does not look like binlog.000012"),
        ({"binlog.files": "b.*", "signal.data.collection": "d.signals"}, r"binlog\.files: signals need a server, and"),
        ({"binlog.files": "b.*", "signal.enabled.channels": "in-process"}, r"take signal\.data\.collection and"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        MySqlConfig.load({"topic.prefix": "p", **options}, "source")


def test_what_needs_a_server_is_refused(logged: SQLServer, archive: Path, files: NewFiles, tmp_path: Path) -> None:
    reading = files(archive / "*")
    with pytest.raises(ConfigError, match=r"binlog\.files: log files hold changes, not tables.* take binlog\.files"):
        reading.source.readable()
    with pytest.raises(StateError, match=r"binlog\.files: a connector of Debezium is taken over from at its server"):
        reading.source.adopt([ConnectOffset("dbz", {}, {"file": names(archive)[0], "pos": 4})], None)
    snapshot = MySqlSource(config_for(logged)).initial_offset()
    with closing(Capture(config_for(logged, database_include_list=DATABASES), tmp_path / "live")) as live:
        point = live.source.latest_offset(snapshot)
    for plan in (
        lambda: reading.source.latest_offset(snapshot),
        lambda: reading.source.plan(snapshot, None),
        lambda: reading.source.plan(snapshot, point),
    ):
        with pytest.raises(SourceError, match="lies within a snapshot, which log files cannot give: finish"):
            plan()


def test_rows_that_are_to_be_read_again_wait_for_the_server(
    logged: SQLServer, files: NewFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logged.run_sql("DROP TABLE IF EXISTS a; CREATE TABLE a (id INT PRIMARY KEY)", database="g_dml")
    options = {"table_include_list": "g_dml.a"}
    with Capture(config_for(logged, **options), tmp_path / "state").closing() as capture:
        capture.once()
        ask(capture.state, capture.offset(), ["g_dml.a"])
    logged.run_sql("INSERT INTO a VALUES (1)", database="g_dml")
    reading = files(archived(logged, tmp_path / "later") / "*", **options)
    assert not reading.source.owes_rows(reading.offset())
    assert changes(reading.once()) == [("c", "a", None, (1,))]
    [said] = [one.getMessage() for one in caplog.records if "cdc resnapshot" in one.getMessage()]
    assert said == "g_dml.a: not read again (cdc resnapshot) until the database itself is read"
    reading.close()
    with Capture(config_for(logged, **options), tmp_path / "state").closing() as capture:
        assert changes(capture.once()) == [("r", "a", None, (1,))]


def test_a_snapshot_that_is_not_taken_and_captured_tables_are_told(
    logged: SQLServer, files: NewFiles, tmp_path: Path
) -> None:
    logged.run_sql("DROP TABLE IF EXISTS n; CREATE TABLE n (id INT PRIMARY KEY)", database="g_dml")
    options = {"table_include_list": "g_dml.n", "notification_enabled_channels": "log"}
    with Capture(config_for(logged, **options), tmp_path / "state").closing() as capture:
        capture.once()
    logged.run_sql("INSERT INTO n VALUES (1)", database="g_dml")
    reading = files(archived(logged, tmp_path / "later") / "*", **options)
    reading.once()
    assert [told["notification"].type for told in reading.heard.of("notification")] == ["SKIPPED"]
    assert reading.heard.of("captured") == [{"data_collections": ["g_dml.n"]}]


def test_the_command_ends_with_the_files(archive: Path, logged: SQLServer, tmp_path: Path) -> None:
    kind = "mariadb" if isinstance(logged, MariaDBServer) else "mysql"
    source = {"type": kind, "topic.prefix": "p", "binlog.files": str(archive / "*"), "database.include.list": "g_dml"}
    output = tmp_path / "out.jsonl"
    pipeline = Pipeline(tmp_path, source, {"type": "file", "path": str(output)})
    ended = pipeline.run()
    assert ended.code == 0, ended.stderr
    events = len(output.read_bytes().splitlines())
    assert events > 200
    assert pipeline.run("--once").code == 0
    assert len(output.read_bytes().splitlines()) == events
