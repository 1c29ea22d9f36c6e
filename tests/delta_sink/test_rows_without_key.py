"""Rows without a key are found again, though a snapshot tells FLOATs and JSON in another way than the log."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from cdckit.tables.lake.unkeyed import Unkeyed
from cdckit.tables.layout import OP, POSITION
from delta_sink.shop import Shop

ROWS = """
CREATE TABLE t (v INT, j JSON, f FLOAT, w VARCHAR(30));
INSERT INTO t VALUES
    (1, '{"b": [true, "x"], "a": {"n": 1.50}}', 1.2345678, '{"a": 1}'), (2, '[1, 2, {"k": null}]', 16777215, '{"a":1}'),
    (2, '[1, 2, {"k": null}]', 16777215, '{"a":1}'), (3, '"é"', -1.00000012, NULL), (4, NULL, NULL, '[]'),
    (5, '{"d": 1e8, "f": 1e20, "e": -0.0}', 3.4e38, '1.0');
"""


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_what_a_snapshot_has_read_is_changed_later(shop: Shop, mode: str, format_: str) -> None:
    shop = replace(shop, format=format_, mode=mode)
    shop.run(ROWS)
    shop.deliver()
    shop.run("UPDATE t SET v = v + 10 WHERE v <> 3; DELETE FROM t WHERE v IN (12, 3) LIMIT 2")
    shop.run("INSERT INTO t SELECT * FROM t")
    shop.deliver()
    shop.assert_equal(["t"])
    shop.run("UPDATE t SET j = JSON_SET(j, '$.z', 1), f = f + 0.0000001; DELETE FROM t WHERE v = 15")
    shop.deliver()
    shop.assert_equal(["t"])


TEXT = pa.schema([("j", pa.string()), ("f", pa.float32()), (POSITION, pa.string()), (OP, pa.string())])


def _changes(*rows: tuple[str, float, str]) -> pa.Table:
    return pa.Table.from_pylist(
        [{"j": j, "f": f, OP: op, POSITION: str(n)} for n, (j, f, op) in enumerate(rows)], schema=TEXT
    )


def _come_to(changes: pa.Table, table: pa.Table) -> tuple[list[int], list[str]]:
    net = Unkeyed(changes, [name for name in changes.schema.names if name != OP])
    return net.put, list(net.found(lambda names: table.select(names).to_batches()))


def test_a_row_that_comes_and_goes_is_not_looked_for() -> None:
    changes = _changes(('{"a": 1}', 1.25, "c"), ('{"a":1}', 1.25, "d"), ('{"a":1}', 2.5, "c"))
    assert _come_to(changes, _changes()) == ([2], [])


def test_a_row_that_is_put_behind_its_removal_stays() -> None:
    changes = _changes(("1", 1.2345678, "d"), ("1", 1.2345679, "c"))
    assert _come_to(changes, _changes(("1", 1.23457, "c"))) == ([1], ["0"])


def test_equal_rows_go_before_those_that_are_alike() -> None:
    table = _changes(('{"a": 1}', 0, "c"), ('{"a":1}', 0, "c"), ('{"a":  1}', 0, "c"), ("{a}", 0, "c"))
    assert _come_to(_changes(('{"a":1}', 0, "d")), table) == ([], ["1"])
    assert _come_to(_changes(*[('{"a":1}', 0, "d")] * 2), table) == ([], ["1", "0"])
    assert _come_to(_changes(*[('{"a":1}', 0, "d"), ('{"a": 1}', 0, "d")] * 2), table) == ([], ["1", "2", "0"])
