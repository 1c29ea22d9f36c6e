"""Random rows of every type: what the log gives is what a snapshot gives."""

from __future__ import annotations

import random
from decimal import Decimal

from cdckit_mysql.values import ValueOptions
from mysql.decoding.random_values import COLUMNS, digits
from mysql.decoding.reading import Reading

SEED = 20_240_527
ROWS = 150
MODES = {
    "default": ValueOptions(),
    "adaptive": ValueOptions(time_mode="adaptive", decimal_mode="string", bigint_unsigned_mode="precise"),
    "connect": ValueOptions(time_mode="connect", decimal_mode="double", binary_mode="hex"),
    "isostring": ValueOptions(time_mode="isostring", binary_mode="base64"),
    "nanoseconds": ValueOptions(time_mode="nanoseconds", binary_mode="base64-url-safe"),
}


def test_log_and_snapshot_agree(reading: Reading) -> None:
    """Two readers that share nothing but the last step must see the same."""
    types = list(COLUMNS)
    names = [f"c{number}" for number in range(len(types))]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    reading.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) CHARACTER SET utf8mb4")
    rng = random.Random(SEED)
    rows = [
        f"({number}, {', '.join('NULL' if rng.random() < 0.1 else COLUMNS[kind](rng) for kind in types)})"
        for number in range(ROWS)
    ]
    start = reading.position()
    reading.execute(*(f"INSERT INTO t VALUES {', '.join(rows[at : at + 50])}" for at in range(0, ROWS, 50)))
    events, table = reading.events(start), reading.tables()["t"]
    for mode, options in MODES.items():
        logged = [after for _, _, _, after in reading.changes(events, options)]
        assert len(logged) == ROWS
        for one, other in zip(logged, reading.selected(table, options, "ORDER BY id"), strict=True):
            assert one is not None
            wrong = {types[names.index(n)]: (one[n], other[n]) for n in names if one[n] != other[n]}
            assert not wrong, mode


def test_decimals_are_what_the_server_prints(reading: Reading) -> None:
    kinds = [(p, s) for p in range(1, 66) for s in {0, p // 2, min(p, 30)} if s <= min(p, 30)]
    columns = ", ".join(f"d{p}_{s} DECIMAL({p},{s})" for p, s in kinds)
    reading.execute(f"CREATE TABLE t ({columns})")
    rng = random.Random(SEED)
    values = [[digits(rng, p, s) for p, s in kinds] for _ in range(8)]
    rows = reading.inserted(
        *(f"INSERT INTO t VALUES ({', '.join(row)})" for row in values), options=ValueOptions(decimal_mode="string")
    )
    for row, expected in zip(rows, values, strict=True):
        assert [Decimal(value) for value in row.values()] == [Decimal(value) for value in expected]
        assert [len(value.partition(".")[2]) for value in row.values()] == [scale for _, scale in kinds]
