"""Changes of definitions: each kind of step that a schema history has to follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from histories.tables import KEYS, NAMES, VALUES, Table, kinds_of_columns, new_columns

Tables = dict[str, Table]
Definition = Callable[[Random, Tables], "list[str] | None"]
"""Makes the statements of a step and changes the tables; None where these do not allow it."""

_WIDER = {
    "TINYINT": ("SMALLINT", "INT", "BIGINT"),
    "SMALLINT": ("INT", "BIGINT"),
    "MEDIUMINT": ("INT", "BIGINT"),
    "INT": ("BIGINT",),
    "VARCHAR(60)": ("VARCHAR(300)", "TEXT", "LONGTEXT"),
    "CHAR(7)": ("CHAR(200)", "VARCHAR(60)"),
    "DECIMAL(4,2)": ("DECIMAL(11,2)",),
    "DECIMAL(9,0)": ("DECIMAL(65,0)",),
    "DATETIME(0)": ("DATETIME(2)", "DATETIME(6)"),
    "TIME(0)": ("TIME(3)", "TIME(6)"),
    "ENUM('a','b','it''s')": ("ENUM('a','b','it''s','z')",),
}


def _plain(chance: Random, tables: Tables) -> Table | None:
    found = [table for table in tables.values() if table.plain]
    return chance.choice(found) if found else None


def _touching(table: Table, *statements: str) -> list[str]:
    return [*statements, table.touched]


def _place(chance: Random, table: Table) -> str:
    return chance.choice(("", "", " FIRST", *(f" AFTER `{name}`" for name in ("id", "v", *table.columns))))


def _free_name(chance: Random, table: Table) -> str | None:
    free = [name for name in NAMES if name not in table.columns]
    return chance.choice(free) if free else None


def add_column(chance: Random, tables: Tables) -> list[str] | None:
    """A column anywhere, null in older rows."""
    table = _plain(chance, tables)
    name = table and _free_name(chance, table)
    if not table or not name:
        return None
    kind = chance.choice(kinds_of_columns())
    place = _place(chance, table)
    table.columns[name] = kind
    return _touching(table, f"ALTER TABLE `{table.name}` ADD COLUMN `{name}` {kind}{place}")


def add_default(chance: Random, tables: Tables) -> list[str] | None:
    """A column anywhere, which older rows have a value in."""
    table = _plain(chance, tables)
    name = table and _free_name(chance, table)
    if not table or not name:
        return None
    kind = chance.choice(kinds_of_columns(simple=True))
    need = "NOT NULL " if chance.random() < 0.5 else ""
    if need:
        table.required.add(name)
    value = "b'1'" if kind.startswith("BIT") else VALUES[kind](chance)
    if kind.startswith("SET("):
        value = "'p,q'"
    elif kind.startswith("ENUM"):
        value = "'b'"
    made = f"ALTER TABLE `{table.name}` ADD COLUMN `{name}` {kind.removesuffix(' NULL')} {need}DEFAULT {value}"
    made += _place(chance, table)
    table.columns[name] = kind
    return _touching(table, made)


def drop_column(chance: Random, tables: Tables) -> list[str] | None:
    """A column goes."""
    table = _plain(chance, tables)
    if not table or not table.columns:
        return None
    name = chance.choice(sorted(table.columns))
    del table.columns[name]
    table.required.discard(name)
    return _touching(table, f"ALTER TABLE `{table.name}` DROP COLUMN `{name}`")


def rename_column(chance: Random, tables: Tables) -> list[str] | None:
    """A column gets another name."""
    table = _plain(chance, tables)
    new = table and _free_name(chance, table)
    if not table or not table.columns or not new:
        return None
    old = chance.choice(sorted(table.columns))
    if old in table.required:
        table.required = {*table.required, new}
    table.columns = {new if name == old else name: kind for name, kind in table.columns.items()}
    return _touching(table, f"ALTER TABLE `{table.name}` RENAME COLUMN `{old}` TO `{new}`")


def reuse_column(chance: Random, tables: Tables) -> list[str] | None:
    """A column goes, and another of its name comes."""
    table = _plain(chance, tables)
    if not table or not table.columns:
        return None
    name = chance.choice(sorted(table.columns))
    kind = table.columns[name] = chance.choice(kinds_of_columns())
    altered = f"ALTER TABLE `{table.name}`"
    return _touching(table, f"{altered} DROP COLUMN `{name}`", f"{altered} ADD COLUMN `{name}` {kind}")


def widen(chance: Random, tables: Tables) -> list[str] | None:
    """A column's type takes more values."""
    found = [
        (table, name)
        for table in tables.values()
        if table.plain
        for name, kind in table.columns.items()
        if kind in _WIDER
    ]
    if not found:
        table = _plain(chance, tables)
        name = table and _free_name(chance, table)
        if not table or not name:
            return None
        narrow = chance.choice(sorted(_WIDER))
        table.columns[name] = chance.choice(_WIDER[narrow])
        altered = f"ALTER TABLE `{table.name}`"
        return _touching(
            table,
            f"{altered} ADD COLUMN `{name}` {narrow}",
            f"UPDATE `{table.name}` SET `{name}` = {VALUES[narrow](chance)}",
            f"{altered} MODIFY `{name}` {table.columns[name]}",
        )
    table, name = chance.choice(found)
    table.columns[name] = chance.choice(_WIDER[table.columns[name]])
    return _touching(table, f"ALTER TABLE `{table.name}` MODIFY `{name}` {table.columns[name]}")


def change_type(chance: Random, tables: Tables) -> list[str] | None:
    """A column gets another type; its values are as the server makes them."""
    table = _plain(chance, tables)
    if not table or not table.columns:
        return None
    name = chance.choice(sorted(table.columns))
    kind = chance.choice(kinds_of_columns())
    if name in table.required:  # it cannot be emptied before, so that the server might refuse the other type
        return None
    emptied = f"UPDATE `{table.name}` SET `{name}` = NULL"
    table.columns[name] = kind
    return _touching(table, emptied, f"ALTER TABLE `{table.name}` MODIFY `{name}` {kind}{_place(chance, table)}")


def move_column(chance: Random, tables: Tables) -> list[str] | None:
    """A column gets another place."""
    table = _plain(chance, tables)
    if not table or not table.columns:
        return None
    name = chance.choice(sorted(table.columns))
    return _touching(table, f"ALTER TABLE `{table.name}` MODIFY `{name}` {table.columns[name]} FIRST")


def change_key(chance: Random, tables: Tables) -> list[str] | None:
    """Another key, or none."""
    table = _plain(chance, tables)
    if not table:
        return None
    gone = {"": "", "UNIQUE by_id (id)": "DROP KEY by_id"}.get(table.key, "DROP PRIMARY KEY")
    key = chance.choice([key for key in KEYS if key != table.key])
    parts = [part for part in (gone, f"ADD {key}" if key else "") if part]
    table.key = key
    return _touching(table, f"ALTER TABLE `{table.name}` {', '.join(parts)}")


def comment(chance: Random, tables: Tables) -> list[str] | None:
    """What changes nothing of the rows."""
    table = _plain(chance, tables)
    if not table:
        return None
    return [
        chance.choice((
            f"ALTER TABLE `{table.name}` COMMENT = 'c{chance.randint(0, 99)}'",
            f"ALTER TABLE `{table.name}` MODIFY v INT NOT NULL DEFAULT 0 COMMENT 'c{chance.randint(0, 99)}'",
            f"CREATE INDEX i{chance.randint(0, 999)} ON `{table.name}` (v)",
            f"ALTER TABLE `{table.name}` ENGINE = InnoDB",
            f"ANALYZE TABLE `{table.name}`",
        ))
    ]  # fmt: skip


def set_default(chance: Random, tables: Tables) -> list[str] | None:
    """Another default for new rows."""
    table = _plain(chance, tables)
    if not table:
        return None
    return [f"ALTER TABLE `{table.name}` ALTER COLUMN word SET DEFAULT 'd{chance.randint(0, 9)}'"]


def convert(chance: Random, tables: Tables) -> list[str] | None:
    """Another character set."""
    table = _plain(chance, tables)
    if not table:
        return None
    chosen = chance.choice(("utf16", "utf8mb4"))
    if any(kind.startswith(("ENUM", "SET")) for kind in table.columns.values()):
        chosen = "utf8mb4"  # MySQL would read the bytes of their labels by the other one
    return _touching(table, f"ALTER TABLE `{table.name}` CONVERT TO CHARACTER SET {chosen}")


def rename_table(chance: Random, tables: Tables) -> list[str] | None:
    """A table gets another name."""
    table = _plain(chance, tables)
    free = [name for name in ("t1", "t2", "t3", "t4", "t5") if name not in tables]
    if not table or not free:
        return None
    old, new = table.name, chance.choice(free)
    del tables[old]
    table.name = new
    tables[new] = table
    return _touching(table, chance.choice((f"RENAME TABLE `{old}` TO `{new}`", f"ALTER TABLE `{old}` RENAME `{new}`")))


def swap_tables(chance: Random, tables: Tables) -> list[str] | None:
    """Two tables exchange their names, as online schema changes do."""
    plain: Sequence[str] = sorted(name for name, table in tables.items() if table.plain)
    if len(plain) < 2:
        return None
    one, other = chance.sample(plain, 2)
    first, second = tables[one], tables[other]
    first.name, second.name = other, one
    tables[other], tables[one] = first, second
    return [f"RENAME TABLE `{one}` TO aside, `{other}` TO `{one}`, aside TO `{other}`", first.touched, second.touched]


def truncate(chance: Random, tables: Tables) -> list[str] | None:
    """All rows go, and now and then some come, and go once more."""
    table = _plain(chance, tables)
    if not table:
        return None
    emptied = f"TRUNCATE TABLE `{table.name}`"
    rows = table.inserted(chance, 3, "INSERT IGNORE")
    return chance.choice(([emptied], [emptied, rows], [emptied, rows, emptied], [rows, emptied, rows, emptied, rows]))


def truncate_shard(chance: Random, tables: Tables) -> list[str] | None:
    """All rows of one of the tables that go into one go."""
    if "shard_1" not in tables:
        return None
    return [f"TRUNCATE TABLE shard_{chance.randint(1, 2)}"]


def shards_column(chance: Random, tables: Tables) -> list[str] | None:
    """A column comes to all tables that go into one, one after the other."""
    shards = [table for name, table in tables.items() if name.startswith("shard_")]
    name = shards and _free_name(chance, shards[0])
    if not name:
        return None
    kind = chance.choice(kinds_of_columns())
    found = []
    for shard in shards:
        shard.columns[name] = kind
        found += _touching(shard, f"ALTER TABLE {shard.name} ADD COLUMN `{name}` {kind}", shard.inserted(chance, 1))
    return found


def drop_table(chance: Random, tables: Tables) -> list[str] | None:
    """A table goes."""
    table = _plain(chance, tables)
    if not table or len(tables) < 2:
        return None
    del tables[table.name]
    return [f"DROP TABLE `{table.name}`"]


def recreate(chance: Random, tables: Tables) -> list[str] | None:
    """A table goes, and another of its name comes."""
    table = _plain(chance, tables)
    if not table:
        return None
    table.columns = new_columns(chance)
    table.key = chance.choice(list(KEYS))
    return [f"DROP TABLE `{table.name}`", table.created(), table.inserted(chance, 3, "INSERT IGNORE")]


def recreate_same(chance: Random, tables: Tables) -> list[str] | None:
    """A table goes, and comes back without its rows."""
    table = _plain(chance, tables)
    if not table:
        return None
    return [
        f"CREATE TABLE aside LIKE `{table.name}`",
        f"DROP TABLE `{table.name}`",
        f"CREATE TABLE `{table.name}` LIKE aside",
        "DROP TABLE aside",
        table.inserted(chance, 3, "INSERT IGNORE"),
    ]


def new_table(chance: Random, tables: Tables) -> list[str] | None:
    """A table comes."""
    names = [name for name in ("t1", "t2", "t3", "t4") if name not in tables]
    if not names or len(tables) > 4:
        return None
    table = Table(names[0], new_columns(chance), chance.choice(list(KEYS)))
    tables[table.name] = table
    return [table.created(), table.inserted(chance, 4, "INSERT IGNORE")]


def create_selected(chance: Random, tables: Tables) -> list[str] | None:
    """A table comes with rows of another."""
    names = [name for name in ("t1", "t2", "t3", "t4") if name not in tables]
    source = chance.choice(list(tables.values()))
    if not names or len(tables) > 4:
        return None
    table = Table(names[0], dict(source.columns), "")
    tables[table.name] = table
    return [f"CREATE TABLE `{table.name}` SELECT * FROM `{source.name}`"]


def rekey_emptied(chance: Random, tables: Tables) -> list[str] | None:
    """Another key, or none, while a table has no rows."""
    table = _plain(chance, tables)
    made = change_key(chance, {table.name: table}) if table else None
    return _emptied(chance, table, *made) if table and made else None


def recreate_emptied(chance: Random, tables: Tables) -> list[str] | None:
    """An empty table goes, and another of its name comes."""
    table = _plain(chance, tables)
    made = recreate(chance, {table.name: table}) if table else None
    return _emptied(chance, table, *made) if table and made else None


def rename_emptied(chance: Random, tables: Tables) -> list[str] | None:
    """An empty table gets another name."""
    table = _plain(chance, tables)
    free = [name for name in ("t1", "t2", "t3", "t4", "t5") if name not in tables]
    if not table or not free:
        return None
    old = table.name
    del tables[old]
    table.name = chance.choice(free)
    tables[table.name] = table
    inserted = table.inserted(chance, 4, "INSERT IGNORE")
    return [f"TRUNCATE TABLE `{old}`", f"RENAME TABLE `{old}` TO `{table.name}`", inserted]


def drop_emptied(chance: Random, tables: Tables) -> list[str] | None:
    """An empty table goes."""
    made = drop_table(chance, tables)
    return made and [made[0].replace("DROP", "TRUNCATE"), *made]


def _emptied(chance: Random, table: Table, *change: str) -> list[str]:
    return [f"TRUNCATE TABLE `{table.name}`", *change, table.inserted(chance, 4, "INSERT IGNORE")]


def truncate_partition(chance: Random, tables: Tables) -> list[str] | None:
    """The rows of a partition go."""
    return _partition(tables, f"TRUNCATE PARTITION p{chance.randint(0, 3)}")


def drop_partition(chance: Random, tables: Tables) -> list[str] | None:
    """A partition goes with its rows."""
    return _partition(tables, f"DROP PARTITION p{chance.randint(0, 2)}")


def exchange_partition(chance: Random, tables: Tables) -> list[str] | None:
    """The rows of a partition go into another table, whose rows come into the partition."""
    found = _partition(tables, "EXCHANGE PARTITION p0 WITH TABLE spare")
    return found and ["DELETE FROM spare WHERE id >= 10", *found]


def reorganize(chance: Random, tables: Tables) -> list[str] | None:
    """Partitions are cut anew, and all rows stay."""
    return _partition(tables, "REBUILD PARTITION p1")


def _partition(tables: Tables, change: str) -> list[str] | None:
    return [f"ALTER TABLE parts {change}"] if "parts" in tables else None


EMPTIED: dict[str, tuple[int, Definition]] = {
    "change key of an empty table": (1, rekey_emptied),
    "recreate an empty table": (1, recreate_emptied),
    "rename an empty table": (1, rename_emptied),
    "drop an empty table": (1, drop_emptied),
}
"""What happens to whole tables while they have no rows; left to changelogs, whose other tables stop for some of it."""
DEFINITIONS: dict[str, tuple[int, Definition]] = {
    "add column": (3, add_column),
    "add column with default": (2, add_default),
    "drop column": (2, drop_column),
    "rename column": (2, rename_column),
    "reuse column": (1, reuse_column),
    "widen column": (2, widen),
    "change type": (1, change_type),
    "move column": (1, move_column),
    "change key": (1, change_key),
    "comment": (2, comment),
    "set default": (1, set_default),
    "convert": (1, convert),
    "rename table": (1, rename_table),
    "swap tables": (1, swap_tables),
    "truncate": (2, truncate),
    "truncate shard": (1, truncate_shard),
    "shards column": (1, shards_column),
    "drop table": (1, drop_table),
    "recreate table": (1, recreate),
    "recreate same table": (1, recreate_same),
    "new table": (1, new_table),
    "create selected": (1, create_selected),
    "truncate partition": (1, truncate_partition),
    "drop partition": (1, drop_partition),
    "exchange partition": (1, exchange_partition),
    "rebuild partition": (1, reorganize),
    **EMPTIED,
}
"""How often each kind comes, and what makes it."""
