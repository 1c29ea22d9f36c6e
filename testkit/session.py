"""The recorded session in docs/proof.md: `python -m testkit.session` records it anew.

Commands are run one after another on a terminal of their own (Python's `pty`), against a real server and a pipeline
that runs. What they print becomes an asciicast (version 2: https://docs.asciinema.org/manual/asciicast/v2/), which
players show, and the text of it stands in the page.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml

from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.process import bound_to_parent, end

PAGE = Path(__file__).parents[1] / "docs" / "proof.md"
CAST = PAGE.with_suffix(".cast")
COMMANDS = (
    "cdc diff pipeline.yaml",
    "python forge.py",
    "cdc diff pipeline.yaml",
    "cdc diff pipeline.yaml --repair",
    "cdc diff pipeline.yaml && echo proven",
)
_BEGIN, _END = "<!-- session: python -m testkit.session -->\n```\n", "```\n<!-- end of session -->"
_WIDTH, _HEIGHT = 132, 40
_PROMPT = "$ "
_TYPED_SECONDS = 0.04
_LONGEST_IDLE = 2
_SECONDS = 300.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_FORGE = """\
# somebody mends a price by hand, and deletes a row too many
from deltalake import DeltaTable

orders = DeltaTable("lake/shop.shop.orders")
orders.update(predicate="id = 7", updates={"price": "9.99"})
orders.delete("id = 12")
"""
_TABLE = "create table shop.orders (id int primary key, item varchar(20), price decimal(8,2), status varchar(10))"
_FILL = """
insert into shop.orders with recursive s as (select 1 n union all select n + 1 from s where n < 500)
select n, concat('item ', n), n / 4, if(n % 3, 'sent', 'paid') from s
"""

Event = tuple[float, str]
"""Seconds since the session began, and what the terminal was told then."""


def main() -> int:
    """Records it, and writes both; gives the exit code."""
    events = record()
    header = {
        "version": 2,
        "width": _WIDTH,
        "height": _HEIGHT,
        "timestamp": int(time.time()),
        "idle_time_limit": _LONGEST_IDLE,
        "title": "cdc diff",
        "env": {"TERM": "xterm-256color"},
    }
    lines = [header, *([round(at, 3), "o", text] for at, text in events)]
    CAST.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    page = PAGE.read_text()
    before, _, rest = page.partition(_BEGIN)
    _, _, behind = rest.partition(_END)
    PAGE.write_text(before + _BEGIN + text_of(events) + _END + behind)
    return 0


def told(page: str) -> str:
    """The session's text in the page."""
    return page.partition(_BEGIN)[2].partition(_END)[0]


def read(cast: str) -> list[Event]:
    """The events of an asciicast."""
    return [(at, text) for at, kind, text in map(json.loads, cast.splitlines()[1:]) if kind == "o"]


def text_of(events: Sequence[Event]) -> str:
    """What stands on the terminal in the end."""
    text = _ESCAPES.sub("", "".join(text for _, text in events)).replace("\r\n", "\n")
    lines = (line.rpartition("\r")[2].rstrip() for line in text.split("\n"))
    return "\n".join(lines).strip("\n") + "\n"


def record() -> list[Event]:
    """Runs the commands, and gives what they have printed."""
    with tempfile.TemporaryDirectory() as name, MySQLServer() as server:
        folder = Path(name)
        _make_shop(server, folder)
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "COLUMNS": str(_WIDTH),
            "TZ": "UTC",
        }
        with _running(folder, environment):
            return list(_session(folder, environment))


def _make_shop(server: MySQLServer, folder: Path) -> None:
    server.execute("create database shop")
    server.execute(_TABLE)
    server.execute(_FILL)
    create_reader(server)
    signals = {"signal.enabled.channels": "in-process", "signal.poll.interval.ms": 100, "read.only": True}
    pipeline = {
        "name": "shop",
        "runner": "direct",
        "state": "state",
        "offset.flush.interval.ms": 200,
        "source": {**source_of(server, "shop"), "topic.prefix": "shop", "skipped.operations": "none", **signals},
        "sink": {"type": "delta", "mode": "mirror", "path": "lake"},
    }
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    (folder / "forge.py").write_text(_FORGE)


@contextmanager
def _running(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """The pipeline, once it has delivered the rows that there are."""
    process = subprocess.Popen(
        ["cdc", "run", "pipeline.yaml"],
        cwd=folder,
        env=environment,
        stderr=subprocess.DEVNULL,
        preexec_fn=bound_to_parent(),  # noqa: PLW1509 - it makes system calls only
    )
    try:
        deadline = time.monotonic() + _SECONDS
        proof = ["cdc", "diff", "pipeline.yaml"]
        while subprocess.run(proof, cwd=folder, env=environment, capture_output=True, check=False).returncode:
            assert process.poll() is None, "the pipeline has ended"
            assert time.monotonic() < deadline, "the pipeline delivers nothing"
        yield
    finally:
        end(process, grace=10.0)


def _session(folder: Path, environment: Mapping[str, str]) -> Iterator[Event]:
    begun = time.monotonic()
    for command in COMMANDS:
        yield time.monotonic() - begun, _PROMPT
        for letter in command:
            time.sleep(_TYPED_SECONDS)
            yield time.monotonic() - begun, letter
        yield time.monotonic() - begun, "\r\n"
        for text in _printed(command, folder, environment):
            yield time.monotonic() - begun, text


def _printed(command: str, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """What a command prints on a terminal, as it comes."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execvpe("sh", ["sh", "-c", command], dict(environment))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _HEIGHT, _WIDTH, 0, 0))
    left = b""
    with os.fdopen(terminal, "rb", buffering=0) as output, suppress(OSError):  # EIO: the last one there has gone
        while piece := output.read(65536):
            left += piece
            text = left.decode(errors="ignore")
            left = left[len(text.encode()) :]
            yield text
    os.waitpid(pid, 0)


if __name__ == "__main__":
    raise SystemExit(main())
