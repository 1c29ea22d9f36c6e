"""Fuzzing that follows coverage, by hand: `PYTHONPATH=tests .venv/bin/python -m fuzz.guided log --seconds 120`.

It needs `atheris` (`pip install atheris`), which is no dependency. What it finds, it prints and leaves as a file in the
folder that it names; the same command with `--replay FILE` plays that again.
"""

from __future__ import annotations

import argparse
import contextlib
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["cdckit", "cdckit_mysql", "cdckit_ticdc"]):
    from cdckit.errors import ConfigError, DecodeError, SourceError, TransformError
    from cdckit_mysql.ddl import DdlError, DdlReader, DdlSession, Flavor, first_word, is_schema_change
    from cdckit_mysql.files import origin as files_origin
    from cdckit_mysql.table import Tables
    from fuzz import test_logs, test_messages
    from fuzz.ddl_mutations import corpus
    from fuzz.logs import log_file, recordings
    from ticdc.test_recordings import decoder_of

_SIZE = struct.Struct("<H")
_PROTOCOL = "open-protocol"
_TYPE = 4
_HEADER = 19
Target = tuple[Callable[[bytes], None], Callable[[], Iterable[bytes]]]


def _events(data: bytes) -> Iterator[bytes]:
    """Events, each behind its size; headers that are too short are filled up."""
    at = 0
    while at + _SIZE.size <= len(data):
        (size,) = _SIZE.unpack_from(data, at)
        at += _SIZE.size
        yield data[at : at + size].ljust(_HEADER, b"\0")
        at += size


class _Log:
    """Log files whose sizes, places and checksums are right."""

    def __init__(self) -> None:
        self.heads = {flavor: recordings(flavor)[0].head for flavor in test_logs.FLAVORS}
        self.path = Path(tempfile.mkdtemp(prefix="guided-")) / "log.000001"
        kept = {flavor: files_origin.dialect_of(_version(head[0])) for flavor, head in self.heads.items()}  # type: ignore[attr-defined]
        files_origin.dialect_of = lambda version: kept["mariadb" if "mariadb" in version.lower() else "mysql"]  # type: ignore[attr-defined]

    def read(self, data: bytes) -> None:
        flavor = test_logs.FLAVORS[data[:1] == b"\1"]
        self.path.write_bytes(log_file([*self.heads[flavor], *_events(data[1:])], checksums=False))
        try:
            for _ in test_logs.read(flavor, self.path, parallelism=2 * (data[1:2] == b"\2")):
                pass
        except (DecodeError, SourceError, ConfigError, TransformError):
            pass

    def seeds(self) -> Iterator[bytes]:
        for number, flavor in enumerate(test_logs.FLAVORS):
            for recording in recordings(flavor):
                for transaction in recording.transactions:
                    if sum(map(len, transaction)) < 4000:
                        packed = b"".join(_SIZE.pack(len(event)) + event for event in transaction)
                        yield bytes([number]) + packed


def _version(description: bytes) -> str:
    return description[_HEADER + 2 : _HEADER + 52].rstrip(b"\0").decode()


class _Ddl:
    """Statements of either kind of server."""

    def __init__(self) -> None:
        versions = ((Flavor.MYSQL, 90704), (Flavor.MARIADB, 101119))
        self.readers = [DdlReader(flavor, version=version) for flavor, version in versions]

    def read(self, data: bytes) -> None:
        reader = self.readers[data[:1] == b"\1"]
        statement = data[1:].decode("utf-8", "replace")
        is_schema_change(data[1:])
        first_word(data[1:])
        tables = Tables()
        for part in ("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9), KEY (v))", statement):
            with contextlib.suppress(DdlError):
                reader.apply(tables, "d", part, DdlSession())

    def seeds(self) -> Iterator[bytes]:
        for number, file in enumerate(corpus()):
            for statement in file:
                yield bytes([number % 2]) + statement.encode("utf-8", "surrogatepass")


class _Message:
    """TiCDC's open protocol: key and value behind the key's size."""

    def __init__(self) -> None:
        self.recorded = test_messages._recorded(_PROTOCOL)
        self.decoder = decoder_of(_PROTOCOL)

    def read(self, data: bytes) -> None:
        if len(data) < _SIZE.size:
            return
        behind = _SIZE.size + _SIZE.unpack_from(data)[0]
        message = self.recorded[0]._replace(key=data[_SIZE.size : behind], value=data[behind:])
        try:
            self.decoder.peek(message)
            test_messages._taken(self.decoder, message)
        except (DecodeError, TransformError):
            pass

    def seeds(self) -> Iterator[bytes]:
        for message in self.recorded:
            key = message.key or b""
            yield _SIZE.pack(len(key)) + key + (message.value or b"")


TARGETS: dict[str, Callable[[], _Log | _Ddl | _Message]] = {"log": _Log, "ddl": _Ddl, "message": _Message}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--replay", type=Path)
    chosen = parser.parse_args()
    target = TARGETS[chosen.target]()
    if chosen.replay is not None:
        target.read(chosen.replay.read_bytes())
        return
    folder = Path(tempfile.mkdtemp(prefix=f"guided-{chosen.target}-"))
    for number, seed in enumerate(target.seeds()):
        (folder / f"seed-{number}").write_bytes(seed)
    print(f"corpus and findings: {folder}", flush=True)
    options = [f"-max_total_time={chosen.seconds}", f"-artifact_prefix={folder}/", "-timeout=20", "-rss_limit_mb=2048"]

    def read(data: bytes) -> None:
        try:
            target.read(data)
        except BaseException:
            (folder / "found").write_bytes(data)
            print(f"found: --replay {folder / 'found'}", flush=True)
            raise

    atheris.Setup([sys.argv[0], *options, str(folder)], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
