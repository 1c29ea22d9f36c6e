"""Each action of the page, clicked in a real browser, on a pipeline that really runs."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cdckit.engine.metrics.status_file import read_status
from testkit.browser import Page
from testkit.running import Running, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES
from testkit.servers.process import halt
from ui.serving import TOKEN, Served, serving
from ui.test_pipelines import CAST, UNWRAP

ROWS = 4000
"""Read one by one: that takes longer than until it is seen that they are read."""
SCHEMA = f"""
create table many (n int primary key);
create table orders (id int primary key, amount varchar(20));
create table signals (id varchar(64) primary key, type varchar(32), data varchar(2048));
set session cte_max_recursion_depth = {ROWS};
insert into many with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {ROWS})
  select n from numbers;
"""


def log_in(page: Page, served: Served, folder: Path) -> None:
    page.go(served.url)
    page.wait("document.getElementById('token')")
    page.js(f"document.getElementById('token').value = '{TOKEN}'; document.forms[0].submit()")
    page.wait("document.querySelectorAll('table.fleet tbody tr').length === 1")
    page.faults.clear()  # the browser's words on what was refused
    page.go(served.at(folder))
    page.wait("document.querySelectorAll('.acts button').length === 6")


def can(action: str) -> str:
    """Whether an action can be done now, in JavaScript."""
    return f"!document.querySelector('[data-action={action}]').getAttribute('aria-disabled')"


def click(page: Page, action: str, **fields: str) -> str:
    """Clicks, fills the dialog in, and gives what it says."""
    page.wait(can(action))
    page.js(f"document.querySelector('[data-action={action}]').click()")
    page.wait("document.querySelector('dialog[open] form')")
    for name, value in fields.items():
        page.js(f"document.getElementById('f-{name}').value = {json.dumps(value)}")
    page.js("document.querySelector('dialog[open] form').requestSubmit()")
    page.wait("document.querySelector('dialog[open] [role=status]').textContent.length > 1")
    said = str(page.js("document.querySelector('dialog[open] [role=status]').textContent"))
    page.js("document.querySelector('dialog[open]').close()")
    page.wait("!document.querySelector('dialog[open]')")
    return said


def test_every_action(page: Page, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql(SCHEMA, database=unique_name)
    create_reader(mysql_server, *CAPTURE_PRIVILEGES, "INSERT")
    options = {
        "table.include.list": f"{unique_name}.(many|orders)",
        "snapshot.mode": "no_data",
        "signal.data.collection": f"{unique_name}.signals",
        "signal.enabled.channels": "source,in-process",
        "signal.poll.interval.ms": 100,
        "incremental.snapshot.chunk.size": 1,
    }
    source = source_of(mysql_server, unique_name, **options)
    tolerant = {"errors.tolerance": "quarantine", "quarantine.max.share": 1}
    pipeline = to_file(tmp_path, source, transforms=[UNWRAP, CAST], **tolerant)
    variables = {"CDC_UI_TOKEN": TOKEN}
    with serving(tmp_path, "--allow-actions", log=tmp_path / "ui.log", variables=variables) as served:
        with pipeline.running() as running:
            running.wait_for("snapshot at")
            log_in(page, served, pipeline.state)
            _steer_a_snapshot(page, running, f"{unique_name}.many")
            assert "signal log is left as" in click(page, "signal", type="log", data='{"message": "by a click"}')
            running.wait_for("by a click")
            mysql_server.run_sql("insert into orders values (1, 'dear')", database=unique_name)
            page.wait("document.getElementById('why-replay').textContent.startsWith('stop the pipeline first')")
            assert running.stop().code == 0
        said = click(page, "resnapshot", tables=f"{unique_name}.orders")
        assert said == f"{unique_name}.orders: read again when the pipeline is started next"
        to_file(tmp_path, source, transforms=[UNWRAP], **tolerant).written()
        assert "delivered 1 records, 0 stay" in click(page, "replay")
        page.wait("document.getElementById('why-replay').textContent === 'its quarantine is empty'")
        page.leave()
    assert '"dear"' in pipeline.output.read_text()


def _steer_a_snapshot(page: Page, running: Running, table: str) -> None:
    """Begins one, has it wait, go on, and end."""
    assert "signal execute-snapshot is left as" in click(page, "resnapshot", tables=table)
    with _halted_in_it(running, behind=5):
        assert "signal pause-snapshot is left as" in click(page, "pause")
    page.wait(can("resume"))
    page.wait(f"!({can('pause')})")
    held = len(running.pipeline.output.read_text().splitlines())
    assert held < ROWS
    assert "signal resume-snapshot is left as" in click(page, "resume")
    with _halted_in_it(running, behind=held + 5):
        assert "signal stop-snapshot is left as" in click(page, "stop")
    page.wait(f"!({can('stop')})")
    assert len(running.pipeline.output.read_text().splitlines()) < ROWS


@contextmanager
def _halted_in_it(running: Running, behind: int) -> Iterator[None]:
    """Has the pipeline stand still behind so many rows, while its status tells of the snapshot: clicks take time."""
    running.wait_until(lambda: len(running.pipeline.output.read_text().splitlines()) > behind, "rows")
    running.wait_until(lambda: _snapshot(running) == (True, "running"), "the snapshot in its status")
    halt(running.process.pid)
    try:
        yield
    finally:
        running.process.send_signal(signal.SIGCONT)


def _snapshot(running: Running) -> tuple[Any, Any]:
    told = (read_status(running.pipeline.state) or {}).get("snapshot") or {}
    return told.get("incremental"), told.get("state")
