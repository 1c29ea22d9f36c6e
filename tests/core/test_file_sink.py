"""The file sink: whole lines, appended, safe after flush."""

import json
import os
from pathlib import Path

import pytest

from cdckit.api.messages import Form, Messages
from cdckit.api.sink import SinkContext
from cdckit.errors import ConfigError, SinkError
from cdckit_file.config import FileConfig
from cdckit_file.file import FileSink


def messages(*values: bytes | None) -> Messages:
    n = len(values)
    return Messages(
        ["a.b"] * n, [None] * n, [b'{"id":1}'] * n, list(values), [(("h", b'"x"'),)] * n, ["p1"] * n, [17] * n
    )


def sink(path: Path, *, form: Form = "json") -> FileSink:
    made = FileSink(FileConfig.load({"path": str(path)}, "sink")[0])
    made.open(SinkContext("test", key_form=form, value_form=form, header_form=form))
    return made


def test_a_line_has_all_parts_and_a_tombstone_is_null(tmp_path: Path) -> None:
    out = sink(tmp_path / "o")
    out.write(messages(b'{"v":"\\u00e9"}', None))
    out.flush()
    out.close()
    first, second = (json.loads(line) for line in (tmp_path / "o").read_text().splitlines())
    assert first == {
        "topic": "a.b",
        "partition": None,
        "key": {"id": 1},
        "value": {"v": "é"},
        "headers": [{"key": "h", "value": "x"}, {"key": "__cdckit.position", "value": "p1"}],
        "timestamp": 17,
    }
    assert second["value"] is None


@pytest.mark.parametrize("name", ["pipe", "/dev/null"])
def test_what_a_pipe_or_device_was_given_cannot_be_read_back(tmp_path: Path, name: str) -> None:
    """It is said at once: opening a pipe to read would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")
    out = FileSink(FileConfig.load({"path": str(tmp_path / name)}, "sink")[0])
    with pytest.raises(ConfigError, match="cannot be read back"):
        out.read_back(SinkContext("test"), ())


def test_plain_headers_are_strings(tmp_path: Path) -> None:
    out = FileSink(FileConfig.load({"path": str(tmp_path / "o")}, "sink")[0])
    out.open(SinkContext("test", header_form="text"))
    of_row = messages(b"1")
    of_row.headers = [(("h", '{"id":"é"\n'.encode()), ("n", None))]
    out.write(of_row)
    out.close()
    shown = [header["value"] for header in json.loads((tmp_path / "o").read_text())["headers"]]
    assert shown == ['{"id":"é"\n', None, "p1"]


def test_bytes_that_are_no_json_are_written_as_base64(tmp_path: Path) -> None:
    out = sink(tmp_path / "o", form="bytes")
    out.write(messages(b"\x00\x01"))
    out.close()
    assert json.loads((tmp_path / "o").read_text())["value"] == "AAE="


@pytest.mark.parametrize("torn", [b'{"torn', b'{"torn' + b"x" * 200_000])
def test_a_torn_last_line_is_cut_off_at_the_next_start(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "o"
    path.write_bytes(b'{"whole":1}\n' + torn)
    out = sink(path)
    out.write(messages(b"1"))
    out.close()
    lines = path.read_text().splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0]) == {"whole": 1}
    assert json.loads(lines[1])["value"] == 1


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"sink\.path .*missing/o: No such file"):
        sink(tmp_path / "missing" / "o")


def test_what_is_no_regular_file_is_written_as_well(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    out = sink(path)
    out.write(messages(b"1"))
    out.flush()
    assert json.loads(os.read(reader, 65536))["value"] == 1
    out.close()
    os.close(reader)


def test_a_full_disk_is_an_error_and_no_silence() -> None:
    out = sink(Path("/dev/full"))
    with pytest.raises(SinkError, match="No space left"):
        out.write(messages(b"1"))
    out.close()
