"""Log files that are damaged: records that can be written, or an error with their place; never another exception."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cdckit.api.batch import Batch
from cdckit.api.source import SourceContext
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.errors import ConfigError, DecodeError, RetriableSourceError, SourceError
from cdckit_mysql.binlog.integrity import LogIntegrity
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.config import MariaDbConfig, MySqlConfig
from cdckit_mysql.files import origin as files_origin
from cdckit_mysql.files.definitions import dialect_of
from cdckit_mysql.source import MySqlSource
from fuzz.guard import limited
from fuzz.logs import Recording, damaged_file, log_file, recordings
from fuzz.memory_state import MemoryState

FLAVORS = ("mysql", "mariadb")
KINDS = ("off", "on", "right")
KEPT = [("mariadb", "right", 1_001_218)]
"""Updates whose images have no column: they were read without end."""
TOLD = (DecodeError, SourceError, ConfigError)
SERIALIZER = JsonSerializer(JsonConfig())


@cache
def _config(flavor: str, pattern: str) -> MySqlConfig:
    given: dict[str, Any] = {
        "topic.prefix": "p",
        "binlog.files": pattern,
        "include.query": True,
        "provide.transaction.metadata": True,
        "topic.collisions": "merge",
        "table.exclude.list": r"g_dml\.plain",  # written to by statements
    }
    config, _ = (MariaDbConfig if flavor == "mariadb" else MySqlConfig).load(given, "source")
    return config


@pytest.fixture(autouse=True)
def _dialects_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer to make one than to read a file."""
    monkeypatch.setattr(files_origin, "dialect_of", cache(dialect_of))


def read(flavor: str, path: Path, *, parallelism: int = 0) -> Iterator[Batch]:
    """What a pipeline does with a file: plans, reads, writes."""
    source = MySqlSource(_config(flavor, str(path)))
    source.open(SourceContext("p", MemoryState(), stopping=StopSignal()))
    start = source.initial_offset()
    end = source.cut(start, source.latest_offset(start), 1000) if parallelism else None
    for split in source.plan(start, end, parallelism or 1):
        for batch in source.read(split):
            SERIALIZER.serialize(batch.records)
            yield batch


@cache
def _recordings(flavor: str) -> list[Recording]:
    return recordings(flavor)


@pytest.mark.parametrize("flavor", FLAVORS)
def test_recorded_files_are_read(flavor: str, tmp_path: Path) -> None:
    """What the fuzzer damages is sound, and says something."""
    for recording in _recordings(flavor):
        path = tmp_path / recording.name
        for checksums in (True, False):
            events = [*recording.head, *(event for one in recording.transactions for event in one)]
            path.write_bytes(log_file(events, checksums=checksums))
            assert sum(len(batch.records) for batch in read(flavor, path)) > 50
            assert sum(len(batch.records) for batch in read(flavor, path, parallelism=2)) > 1
        path.unlink()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_damaged_logs(flavor: str, kind: str, tmp_path: Path, cases: range) -> None:
    assert sum(_is_told(flavor, kind, seed, tmp_path / "log.000001") for seed in cases)


@pytest.mark.parametrize(("flavor", "kind", "seed"), KEPT)
def test_what_was_found_stays_mended(flavor: str, kind: str, seed: int, tmp_path: Path) -> None:
    assert _is_told(flavor, kind, seed, tmp_path / "log.000001")


def _is_told(flavor: str, kind: str, seed: int, path: Path) -> bool:
    """Whether a file of that seed ends in an error."""
    random = Random(seed)
    path.write_bytes(damaged_file(random.choice(_recordings(flavor)), random, kind))
    told = False
    with limited(f"{flavor}, {kind}, seed {seed}", *TOLD):
        try:
            for _ in read(flavor, path, parallelism=random.choice((0, 0, 2))):
                pass
        except TOLD as error:
            told = True
            _says_where(error, path)
            raise
    return told


def _says_where(error: Exception, path: Path) -> None:
    """A file does not come back, so it is not waited for."""
    assert not isinstance(error, RetriableSourceError)
    assert not isinstance(error, DecodeError) or f"{path.name}:" in str(error)


def test_packets_that_are_too_short_for_an_event() -> None:
    event = recordings("mysql")[0].transactions[0][0]
    end = struct.unpack_from("<I", event, 13)[0]
    for size in (0, 1, 12, 17):
        packets = [(event, 0, len(event)), (b"\0" * size, 0, size), (event, 0, len(event))]
        whole, fault = LogIntegrity("log.000001", end - len(event), checksums=False).whole(packets)
        assert len(whole) == 1
        assert f"log.000001:{end}: the event" in str(fault)
        with pytest.raises(DecodeError, match="cannot be understood"):
            list(EventParser("log.000001", 4).events(packets[1:]))


def test_no_room_is_made_for_bytes_that_are_not_there(tmp_path: Path) -> None:
    """In a process that has no room."""
    path = tmp_path / "log.000001"
    content = bytearray(log_file(recordings("mysql")[0].head, checksums=False))
    path.write_bytes(bytes(content) + bytes(9) + (2**31 - 1).to_bytes(4, "little") + bytes(6))
    subprocess.run([sys.executable, "-c", LITTLE_ROOM, str(path)], check=True, timeout=60)


LITTLE_ROOM = """
import resource, sys
from cdckit_mysql.files.reading import LogFileReader
from cdckit_mysql.files.storage import LogFile
room = 1 << 30
resource.setrlimit(resource.RLIMIT_AS, (room, room))
with LogFileReader(LogFile("log.000001", sys.argv[1])) as reader:
    while reader.spans():
        pass
    assert reader.cut_short
"""
