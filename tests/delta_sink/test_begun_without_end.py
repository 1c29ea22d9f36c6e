"""A table that the server shows otherwise than its log has told: a snapshot of it would begin anew for ever."""

from __future__ import annotations

import pytest

from cdckit.cli.main import call
from delta_sink.shop import Shop

SPOILT = "ALTER TABLE t CONVERT TO CHARACTER SET utf16"
"""MySQL keeps the bytes of an ENUM's labels, and reads them by the new character set."""


def test_it_ends_the_run_and_a_new_snapshot_goes_on(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, x ENUM('a', 'b')); INSERT INTO t VALUES (1, 'a')")
    shop.deliver()
    shop.run(f"{SPOILT}; INSERT INTO t VALUES (2, 2)")
    pipeline = shop.pipeline()
    file = str(pipeline.written())
    assert pipeline.run("--once").code == 4
    assert call(["resnapshot", file, "--table", f"{shop.name}.t"]) == 0
    ended = pipeline.run("--once")
    assert ended.code == 3
    assert "error CDC3508: " in ended.stderr
    assert "has another type for x" in ended.errors and "5 times in a row" in ended.errors
    assert call(["offsets", "reset", file]) == 0
    shop.deliver()
    shop.assert_equal(["t"])
