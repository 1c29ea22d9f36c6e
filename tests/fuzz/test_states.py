"""What a pipeline keeps, damaged: read, or a StateError; never another exception."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cdckit.api.state_store import HistoryEntry
from cdckit.connector.resnapshot import KEPT_AS, pending
from cdckit.connector.takeover.history import read_history
from cdckit.connector.takeover.offsets import offsets_of
from cdckit.engine.metrics.status import pipeline_status
from cdckit.engine.metrics.status_file import read_status
from cdckit.engine.state.copies import copy_state, restore_state
from cdckit.engine.state.generation import NOTE
from cdckit.engine.state.made_for import KEPT_AS as MADE_FOR, MadeFor
from cdckit.engine.state.runner_handover import open_state
from cdckit.engine.state.spark_checkpoint import committed_batch, planned_batch
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import StateError
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.tokens import check_token
from cdckit_mysql.ddl import DdlReader, Flavor
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.streaming.epochs import KEY as EPOCH, Epochs
from cdckit_mysql.streaming.progress import LogProgress
from cdckit_mysql.streaming.range_ends import KEY, RangeEnds
from cdckit_mysql.table import Tables
from cdckit_ticdc.definitions import HISTORY as DEFINITIONS, Definitions
from cdckit_ticdc.offsets import LogOffset as TopicOffset
from fuzz.documents import mutated_bytes, mutated_document
from fuzz.guard import limited
from testkit.states import state_in

GTIDS = "cc10496f-e70b-11f1-a2be-02fc00000001:1-28:30,cc10496f-e70b-11f1-a2be-02fc00000002:tag:1-5"
AGAIN = {"id": "1", "tables": ["d.t"], "done": False}
INCREMENTAL = {"wanted": [{"name": "d.t", "filter": "", "surrogate_key": None}], "after": [1], "total": 7}
MYSQL: dict[str, Any] = {
    "ts_sec": 1, "file": "binlog.000012", "pos": 157, "gtids": GTIDS, "row": 2, "server_id": 7, "event": 3,
    "transaction_id": "x:1", "transaction_data_collection_order_d.t": 2, "cdckit_epoch": 1, "cdckit_server": "s",
    "cdckit_by_gtid_until": "binlog.000012:1570", "cdckit_incremental": INCREMENTAL, "cdckit_resnapshot": AGAIN,
}  # fmt: skip
MARIADB = {**MYSQL, "gtids": "0-1-42,1-2-7", "snapshot": "INITIAL", "cdckit_snapshot_chunks": "p:0-17,19"}
MARIADB["cdckit_snapshot_cursor"] = {"table": "d.t", "key": ["17", "x"], "part": 3, "chunk": 19}
TOKEN = "826B03E9AE000000732B022C0100296E5A10049AA87CCD8DA5424DA0A6DB9DE3B79A92461E5F6964002B040004"
MONGODB: dict[str, Any] = {
    "sec": 1, "ord": 2, "resume_token": TOKEN, "cdckit_complete": True, "cdckit_tie": 1, "transaction_id": "l:1",
    "cdckit_snapshot": ["d.c", "10000000105f69640001000000", 4, True, 7], "initsync": True, "cdckit_resnapshot": AGAIN,
    "transaction_data_collection_order_d.c": 2, "cdckit_incremental": INCREMENTAL,
}  # fmt: skip
TOPICS = {"partitions": {"t": {"0": 5, "1": 7}}, "read": {"t": {"0": 9}}, "watermark": 4, "at_watermark": ["a"]}
MADE = {
    "source": {"source.type": "mysql", "source.topic.prefix": "p"},
    "sink": {"sink.type": "kafka", "sink.bootstrap.servers": ["a:9092", "b:9092"]},
    "lists": {"table_include_list": "d.t"},
    "form": {"serializer.type": "json"},
}
AT = LogPosition(0, "binlog.000001", 4)


def _mysql(offset: dict[str, Any]) -> None:
    at = LogOffset.kept(offset)
    for mariadb in (False, True):
        with suppress(StateError):
            LogProgress(at, mariadb=mariadb).offset().to_json()
    at.position.prefix  # noqa: B018 - it is made of what was read
    at.to_json()


def _mongodb(offset: dict[str, Any]) -> None:
    at = StreamOffset.from_json(offset)
    at.to_json()
    if at.token is not None:
        check_token(at.token)


def _topics(offset: dict[str, Any]) -> None:
    TopicOffset.from_json(offset).to_json()


@pytest.mark.parametrize(
    ("offset", "read"),
    [(MYSQL, _mysql), (MARIADB, _mysql), (MONGODB, _mongodb), (TOPICS, _topics)],
    ids=["mysql", "mariadb", "mongodb", "topics"],
)
def test_damaged_offsets(offset: dict[str, Any], read: Callable[[dict[str, Any]], None], cases: range) -> None:
    read(offset)
    text = json.dumps(offset).encode()
    for seed in cases:
        found = json.loads(mutated_document(text, Random(seed)))
        if isinstance(found, dict):  # the state sees to that, see below
            with limited(f"seed {seed}", StateError):
                read(found)


def _filled(folder: Path) -> None:
    """A state with something of everything."""
    with closing(SqliteStateStore(folder)) as store:
        history, tables = SchemaHistory(store), Tables()
        history.start(AT, tables)
        reader = DdlReader(Flavor.MYSQL, version=90704)
        statement = "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a', 'b') DEFAULT 'a', v VARCHAR(9), INDEX (v))"
        changes = reader.apply(tables, "d", statement)
        history.changed(AT, changes, tables)
        entry = {"database": "d", "table": "t", "since": 1, "columns": [], "key": ["id"]}
        store.append_history(DEFINITIONS, [HistoryEntry("1", entry)])
        store.put(KEPT_AS, AGAIN)
        store.put(MADE_FOR, MADE)
        store.put(KEY, {"s 0000": MYSQL})
        store.put(EPOCH, {"server": "s", "epoch": 1})
        store.put(NOTE, {"id": "g", "start": MYSQL, "authority": True, "place": ""})
        store.save_offset(MYSQL)


def _read_all(folder: Path) -> None:
    """What runs and commands read of a state."""
    with suppress(StateError):
        pipeline_status(state_in(folder))
    with closing(open_state(state_in(folder))) as store:
        for read in (
            lambda: pending(store, store.load_offset()),
            lambda: SchemaHistory(store).tables_at(AT),
            lambda: SchemaHistory(store).created_at(AT),
            lambda: RangeEnds(store).known(LogOffset(server="s")),
            lambda: Epochs(store).behind_last(LogOffset(server="s")),
            lambda: Definitions(store),
            lambda: MadeFor.from_json(store.get(MADE_FOR)),
            lambda: LogOffset.kept(store.load_offset() or {}),
        ):
            with suppress(StateError):
                read()


@pytest.mark.parametrize("name", ["a\0b", "a\ud800", "a" * 256, "../..", ".", ""])
def test_a_generation_is_named_like_a_folder(name: str, tmp_path: Path) -> None:
    """Seeds 1,001,624 and 1,001,692 of values in a state, and their kin: folders beside the right one are removed."""
    with closing(SqliteStateStore(tmp_path)) as store:
        store.put(NOTE, {"id": name, "start": None, "authority": True, "place": ""})
    with pytest.raises(StateError, match="is no folder's name"):
        open_state(state_in(tmp_path)).close()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of such a state."""
    folder = tmp_path_factory.mktemp("state")
    _filled(folder)
    return (folder / "state.db").read_bytes()


def _laid_out(folder: Path, content: bytes) -> None:
    for old in folder.glob("state.db*"):
        old.unlink()
    (folder / "state.db").write_bytes(content)


def test_damaged_state_files(state: bytes, tmp_path: Path, cases: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdckit.engine.state.runner_handover.HANDOVER_SECONDS", 0.0)
    for seed in cases[::2]:  # each of the two has half of the cases
        random = Random(seed)
        _laid_out(tmp_path, mutated_bytes(state, random, as_long=random.random() < 0.8))
        with limited(f"seed {seed}", StateError):
            _read_all(tmp_path)


def test_values_in_a_state_that_are_others(state: bytes, tmp_path: Path, cases: range) -> None:
    """The file is sound, and what stands in it is not what was put there."""
    columns = (("offset", "offset"), ("history", "entry"), ("keep", "value"))
    for seed in cases[::2]:  # each of the two has half of the cases
        random = Random(seed)
        _laid_out(tmp_path, state)
        table, column = random.choice(columns)
        with closing(sqlite3.connect(tmp_path / "state.db")) as db:
            rows = db.execute(f"select {column} from {table}").fetchall()
            old = random.choice(rows)[0]
            new = mutated_document(old.encode(), random).decode("utf-8", "replace")
            db.execute(f"update {table} set {column} = ? where {column} = ?", (new, old))
            db.commit()
        with limited(f"seed {seed}", StateError):
            _read_all(tmp_path)


def test_damaged_copies_and_checkpoints(state: bytes, tmp_path: Path, cases: range) -> None:
    folder, checkpoint, elsewhere = tmp_path / "state", tmp_path / "checkpoint", tmp_path / "copies"
    for part in (folder, checkpoint / "offsets", checkpoint / "commits", elsewhere):
        part.mkdir(parents=True)
    batch = b'v1\n{"batchWatermarkMs":0}\n' + json.dumps(MYSQL).encode()
    for seed in cases:
        random = Random(seed)
        (folder / "state.db").unlink(missing_ok=True)
        (elsewhere / "state-000000000001").write_bytes(_damaged_copy(state, random))
        (checkpoint / "offsets" / "3").write_bytes(_damaged_batch(batch, random))
        (checkpoint / "commits" / random.choice(("3", "4", "²", ".3.crc"))).write_bytes(b"v1\n{}")
        with limited(f"seed {seed}", StateError):
            planned_batch(checkpoint)
            with suppress(StateError):
                committed_batch(checkpoint)
            restore_state(folder, elsewhere)  # type: ignore[arg-type]
            copy_state(folder, elsewhere)  # type: ignore[arg-type]


def _damaged_copy(state: bytes, random: Random) -> bytes:
    if random.random() < 0.5:
        return mutated_bytes(zlib.compress(state, 1), random)
    return zlib.compress(mutated_bytes(state, random), 1)


def _damaged_batch(batch: bytes, random: Random) -> bytes:
    if random.random() < 0.5:
        return mutated_bytes(batch, random)
    head, _, offset = batch.rpartition(b"\n")
    return head + b"\n" + mutated_document(offset, random)


def test_damaged_status_files(tmp_path: Path, cases: range) -> None:
    status = json.dumps({"format": 1, "pipeline": "p", "snapshot": {"tables": {}}, "commits": [1]}).encode()
    for seed in cases:
        random = Random(seed)
        (tmp_path / "status.json").write_bytes(random.choice((mutated_bytes, mutated_document))(status, random))
        with limited(f"seed {seed}", StateError):
            read_status(tmp_path)


def test_deep_documents_are_told(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_bytes(b"[" * 200_000)
    with pytest.raises(StateError):
        read_status(tmp_path)
    _filled(tmp_path / "state")
    with closing(sqlite3.connect(tmp_path / "state" / "state.db")) as db:
        db.execute("update offset set offset = ?", ("[" * 200_000,))
        db.commit()
    with closing(SqliteStateStore(tmp_path / "state")) as store, pytest.raises(StateError):
        store.load_offset()


def test_damaged_files_of_debezium(tmp_path: Path, cases: range) -> None:
    """Offsets and schema histories that are taken over."""
    key, value = b'["c",{"server":"p"}]', json.dumps(MYSQL).encode()
    record = {"source": {"server": "p"}, "position": {"file": "b.1", "pos": 4}, "databaseName": "d", "ddl": "x"}
    history = json.dumps({**record, "tableChanges": []}).encode()
    path = tmp_path / "kept"
    for seed in cases:
        random = Random(seed)
        mutated = random.choice((mutated_bytes, mutated_document))
        with limited(f"seed {seed}", StateError):
            path.write_bytes(mutated(key, random) + b"\t" + mutated(value, random))
            with suppress(StateError):
                offsets_of(path, "p")
            path.write_bytes(mutated(history, random))
            list(read_history(str(path)))
