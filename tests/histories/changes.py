"""Changes of rows: each kind of step that changes no definition."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from histories.steps import DIVISIBLE, Step
from histories.tables import GREATEST, VALUES, Table

Tables = dict[str, Table]
Change = Callable[[Random, Tables], "tuple[str, ...] | None"]
"""Makes the statements of a step; None where the tables do not allow it."""


def statement(chance: Random, tables: Tables) -> str:
    """One statement that changes rows of one table."""
    return chance.choice((_insert, _insert, _update, _update, _delete, _upsert, _replace))(chance, _any(chance, tables))


def _any(chance: Random, tables: Tables) -> Table:
    return chance.choice(list(tables.values()))


def _insert(chance: Random, table: Table) -> str:
    return table.inserted(chance, chance.choice((1, 1, 2, 5)), "INSERT IGNORE")


def _replace(chance: Random, table: Table) -> str:
    return table.inserted(chance, chance.choice((1, 3)), "REPLACE")


def _upsert(chance: Random, table: Table) -> str:
    return f"{table.inserted(chance, 2)} ON DUPLICATE KEY UPDATE v = v + 1"


def _update(chance: Random, table: Table) -> str:
    names = [*table.columns, "v"]
    chosen = chance.sample(names, min(len(names), chance.randint(1, 2)))
    values = ", ".join(f"`{name}` = {table.value(chance, name)}" for name in chosen)
    return f"UPDATE `{table.name}` SET {values} WHERE {table.some(chance)}"


def _delete(chance: Random, table: Table) -> str:
    return f"DELETE FROM `{table.name}` WHERE {table.some(chance)}"


def rows(chance: Random, tables: Tables) -> tuple[str, ...]:
    """One statement on its own."""
    return (statement(chance, tables),)


def many_rows(chance: Random, tables: Tables) -> tuple[str, ...]:
    """All rows of one table at once."""
    table = _any(chance, tables)
    return chance.choice(((table.touched,), (f"DELETE FROM `{table.name}`", table.inserted(chance, 20, "REPLACE"))))


def copied(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Rows of one table out of another."""
    into, source = _any(chance, tables), _any(chance, tables)
    columns = "id, word, v"
    moved = chance.randint(0, 10)
    return (
        f"INSERT IGNORE INTO `{into.name}` ({columns}) SELECT id + {moved}, CONCAT(word, id), v FROM `{source.name}`"
        f" WHERE {source.some(chance)} ORDER BY id LIMIT 5",
    )


def several_tables(chance: Random, tables: Tables) -> tuple[str, ...] | None:
    """One statement that changes two tables."""
    if len(tables) < 2:
        return None
    one, other = chance.sample(sorted(tables), 2)
    joined = f"`{one}` x JOIN `{other}` y ON x.id = y.id"
    return (
        chance.choice((
            f"UPDATE {joined} SET x.v = x.v + 1, y.v = y.v + 2",
            f"DELETE x, y FROM {joined} WHERE x.id < {chance.randint(2, 20)}",
        )),
    )  # fmt: skip


def transaction(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Several statements that are committed together."""
    return ("BEGIN", *(statement(chance, tables) for _ in range(chance.randint(2, 6))), "COMMIT")


def rolled_back(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Several statements that never happened."""
    return ("BEGIN", *(statement(chance, tables) for _ in range(chance.randint(1, 4))), "ROLLBACK")


def savepoints(chance: Random, tables: Tables) -> tuple[str, ...]:
    """A transaction of which a part never happened."""
    first, inner, last = ([statement(chance, tables) for _ in range(chance.randint(1, 3))] for _ in range(3))
    kept = chance.choice(("ROLLBACK TO s", "ROLLBACK TO s", "RELEASE SAVEPOINT s"))
    return ("BEGIN", *first, "SAVEPOINT s", *inner, kept, *last, "COMMIT")


def compressed(chance: Random, tables: Tables) -> tuple[str, ...]:
    """A transaction that the log has compressed."""
    return ("SET binlog_transaction_compression = ON", *transaction(chance, tables))


def xa_transaction(chance: Random, tables: Tables) -> tuple[str, ...]:
    """A transaction in two phases."""
    return _xa(chance, tables, "COMMIT")


def xa_rolled_back(chance: Random, tables: Tables) -> tuple[str, ...]:
    """A transaction that was prepared and never happened."""
    return _xa(chance, tables, "ROLLBACK")


def _xa(chance: Random, tables: Tables, end: str) -> tuple[str, ...]:
    name = f"'x{chance.getrandbits(60)}'"
    inner = [statement(chance, tables) for _ in range(chance.randint(1, 3))]
    return (f"XA START {name}", *inner, f"XA END {name}", f"XA PREPARE {name}", f"XA {end} {name}")


def key_change(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Rows get other keys."""
    table = _any(chance, tables)
    if table.keys == ("word",):
        return (f"UPDATE `{table.name}` SET word = CONCAT('k', word) WHERE {table.some(chance)}",)
    return (f"UPDATE `{table.name}` SET id = id + 100 WHERE {table.some(chance)}",)


def key_chain(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Each row gets the key that its neighbour has just left."""
    table = _any(chance, tables)
    return chance.choice((
        (f"UPDATE `{table.name}` SET id = id + 1 ORDER BY id DESC",),
        (f"UPDATE `{table.name}` SET id = id - 1 WHERE id > {chance.randint(2, 20)} ORDER BY id",),
        (f"UPDATE `{table.name}` SET id = id + 1 ORDER BY id DESC",
         f"UPDATE `{table.name}` SET id = id - 1 ORDER BY id"),
    ))  # fmt: skip


def key_swap(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Two rows exchange their keys."""
    table = _any(chance, tables)
    one, other = chance.sample(range(1, GREATEST), 2)
    moves = ((one, -1), (other, one), (-1, other))
    return (
        "BEGIN", *(f"UPDATE `{table.name}` SET id = {new} WHERE id = {old}" for old, new in moves), "COMMIT",
    )  # fmt: skip


def key_in_capitals(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Keys change to others that compare as equal."""
    return (f"UPDATE `{_any(chance, tables).name}` SET word = UPPER(word)",)


def minimal_image(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Changes of which the log has only what is needed."""
    return _imaged("minimal", chance, tables)


def noblob_image(chance: Random, tables: Tables) -> tuple[str, ...]:
    """Changes of which the log leaves out unchanged texts and binaries."""
    return _imaged("noblob", chance, tables)


def _imaged(image: str, chance: Random, tables: Tables) -> tuple[str, ...]:
    inner = [statement(chance, tables) for _ in range(chance.randint(1, 4))]
    return (f"SET binlog_row_image = {image}", *inner)


def minimal_key_change(chance: Random, tables: Tables) -> tuple[str, ...]:
    """A key changes, and the log has only what is needed."""
    return (f"SET binlog_row_image = {chance.choice(('minimal', 'noblob'))}", *key_change(chance, tables))


def minimal_default(chance: Random, tables: Tables) -> tuple[str, ...]:
    """New rows of which the log leaves out what has its default."""
    table = _any(chance, tables)
    left = chance.sample(["v", *sorted(table.columns)], 1)
    return ("SET binlog_row_image = minimal", table.inserted(chance, 1, "INSERT IGNORE", left))


def partial_json(chance: Random, tables: Tables) -> tuple[str, ...] | None:
    """Documents of which the log has only what changed."""
    found = [(table, name) for table in tables.values() for name, kind in table.columns.items() if kind == "JSON"]
    if not found:
        return None
    table, name = chance.choice(found)
    return (
        "SET binlog_row_value_options = PARTIAL_JSON",
        f"""UPDATE `{table.name}` SET `{name}` = '{{"a": [1, 2, {{"b": "x"}}], "long": "{"x" * 60}"}}'""",
        f"UPDATE `{table.name}` SET `{name}` = JSON_SET(`{name}`, '$.a[1]', v, '$.c', {VALUES['INT'](chance)})",
        f"UPDATE `{table.name}` SET `{name}` = JSON_REMOVE(`{name}`, '$.a[0]') WHERE {table.some(chance)}",
    )


CHANGES: dict[str, tuple[int, Change]] = {
    "rows": (10, rows),
    "many rows": (2, many_rows),
    "copied rows": (1, copied),
    "several tables": (1, several_tables),
    "transaction": (5, transaction),
    "rolled back transaction": (1, rolled_back),
    "savepoint transaction": (2, savepoints),
    "compressed transaction": (1, compressed),
    "xa": (1, xa_transaction),
    "xa rolled back": (1, xa_rolled_back),
    "key change": (2, key_change),
    "key chain": (1, key_chain),
    "key swap": (1, key_swap),
    "key in capitals": (1, key_in_capitals),
    "minimal image": (1, minimal_image),
    "noblob image": (1, noblob_image),
    "minimal key change": (1, minimal_key_change),
    "minimal default": (1, minimal_default),
    "partial json": (1, partial_json),
}
"""How often each kind comes, and what makes it."""


def step_of(kind: str, made: tuple[str, ...]) -> Step:
    """The step of a kind."""
    return Step(kind, made, parts=kind in DIVISIBLE)
