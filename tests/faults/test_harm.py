"""What does harm, does it: lines, disks, memory, clocks."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdckit_faults.harm.clock import Clock
from cdckit_faults.harm.disk import LimitedFiles, SmallFileSystem, disk
from cdckit_faults.harm.line import Line
from cdckit_faults.harm.memory import limited
from testkit.servers.errors import ServerUnavailableError

SAID = bytes(range(256)) * 8


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Listens, and takes nobody by itself."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        yield listening


@pytest.fixture
def line(server: socket.socket) -> Iterator[Line]:
    with Line(server.getsockname()[1]) as made:
        yield made


def connected(line: Line, server: socket.socket) -> tuple[socket.socket, socket.socket]:
    client = socket.create_connection(("127.0.0.1", line.port), timeout=10)
    taken, _ = server.accept()
    client.sendall(b"hello")
    assert read(taken, 5) == b"hello"
    return client, taken


def read(client: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (part := client.recv(size - len(found))):
        found += part
    return found


@pytest.mark.parametrize(("size", "bit"), [(1, 0), (1000, 7), (2048, 3)])
def test_a_line_turns_one_bit(line: Line, server: socket.socket, size: int, bit: int) -> None:
    line.corrupt_after(size, bit)
    client, taken = connected(line, server)
    taken.sendall(SAID)
    taken.sendall(SAID)
    found = read(client, 2 * len(SAID))
    different = [n for n, (one, other) in enumerate(zip(found, SAID + SAID, strict=True)) if one != other]
    assert different == [size - 1]
    assert found[size - 1] ^ (SAID + SAID)[size - 1] == 1 << bit
    assert line.corrupted == 1


def test_a_slow_line_is_slow(line: Line, server: socket.socket) -> None:
    client, taken = connected(line, server)
    line.slow(len(SAID) / 0.4)
    began = time.monotonic()
    taken.sendall(SAID)
    assert read(client, len(SAID)) == SAID
    assert time.monotonic() - began > 0.35
    line.slow(None)


def test_a_line_that_refuses_cuts_and_takes_nobody_until_it_accepts(line: Line, server: socket.socket) -> None:
    client, _taken = connected(line, server)
    line.refuse()
    assert read(client, 1) == b""
    with socket.create_connection(("127.0.0.1", line.port), timeout=10) as hung_up_on:
        assert read(hung_up_on, 1) == b""
    line.accept()
    client, taken = connected(line, server)
    taken.sendall(b"x")
    assert read(client, 1) == b"x"


def test_a_line_leads_elsewhere(line: Line) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        line.lead_to(other.getsockname()[1])
        _, taken = connected(line, other)
        taken.close()


def test_a_disk_without_room_says_so(tmp_path: Path) -> None:
    with disk(tmp_path / "data") as made:
        if not isinstance(made, SmallFileSystem):
            pytest.skip("nothing may be mounted here")
        (made.folder / "kept").write_bytes(b"x" * 10_000)
        made.fill(0, os.getpid())
        with pytest.raises(OSError, match="No space left") as told:
            (made.folder / "more").write_bytes(b"x" * 10_000)
        assert told.value.errno == errno.ENOSPC
        made.empty()
        (made.folder / "more").write_bytes(b"x" * 10_000)
    assert list((tmp_path / "data").iterdir()) == []


def test_a_disk_is_full_though_it_grew_while_it_was_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with disk(tmp_path / "data") as made:
        if not isinstance(made, SmallFileSystem):
            pytest.skip("nothing may be mounted here")
        (made.folder / "kept").write_bytes(b"x" * 10_000)
        looked, grown = os.statvfs, iter(range(3))

        def grows(folder: Path) -> os.statvfs_result:
            found = looked(folder)
            for number in grown:
                (folder / f"grown-{number}").write_bytes(b"x" * 10_000)
                break
            return found

        monkeypatch.setattr(os, "statvfs", grows)
        made.fill(0, os.getpid())
        with pytest.raises(OSError, match="No space left"):
            (made.folder / "more").write_bytes(b"x" * 10_000)
        assert len(list(made.folder.glob("grown-*"))) == 3


def test_a_disk_that_a_killed_process_has_left_is_unmounted(tmp_path: Path) -> None:
    program = "import os, pathlib, sys; from cdckit_faults.harm.disk import disk; "
    program += "made = disk(pathlib.Path(sys.argv[1])); made.__enter__(); os.kill(os.getpid(), 9)"
    root = Path(__file__).parents[2]
    places = {"PYTHONPATH": os.pathsep.join(map(str, (root, root / "faults")))}
    left = tmp_path / "left"
    subprocess.run([sys.executable, "-c", program, left], check=False, env={**os.environ, **places})
    assert left.is_dir()
    with disk(tmp_path / "data"):
        assert not left.is_mount()


def test_files_that_may_not_grow_say_so(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"x" * 1000)
    program = "import sys; sys.stdin.readline(); open('out', 'ab', 0).write(b'x' * 200)"
    child = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    made = LimitedFiles(tmp_path)
    made.fill(0, child.pid)
    _, told = child.communicate(b"\n")
    assert b"File too large" in told
    made.empty()


def test_memory_that_does_not_do_ends_a_process() -> None:
    program = [sys.executable, "-c", "x = bytearray(300 << 20)"]
    for mib, ends_well in ((40, False), (600, True)):
        with limited(mib) as limit:
            code = subprocess.run([*limit.wrapper, *program], check=False, capture_output=True).returncode
        assert (code == 0) is ends_well, (mib, limit.how, code)


def test_a_clock_jumps_and_what_measures_does_not(tmp_path: Path) -> None:
    clock = Clock(tmp_path)
    try:
        environment = {**os.environ, **clock.environment}
    except ServerUnavailableError as error:
        pytest.skip(str(error))
    program = "import sys, time\nfor _ in sys.stdin: print(time.time(), time.monotonic(), flush=True)"
    child = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for seconds in (0, 86_400, -3600, 0):
        clock.jump(seconds)
        child.stdin.write("\n")
        child.stdin.flush()
        now, measured = map(float, child.stdout.readline().split())
        assert abs(now - time.time() - seconds) < 30
        assert abs(measured - time.monotonic()) < 30
    child.communicate()
