"""Definitions of tables: what a row event of the log needs in order to be decoded and described."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple, Self


class TableId(NamedTuple):
    """The full name of a table, as the server spells it."""

    database: str
    name: str

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: as written; column names are compared without regard to case.
        type_name: the server's own name of the type in upper case, with its sign and zerofill: `INT`,
            `BIGINT UNSIGNED ZEROFILL`, `VARCHAR`, `ENUM`. Synonyms are resolved: `INT8` is `BIGINT`, `BOOL`
            is `TINYINT` of length 1, `FLOAT(53)` is `DOUBLE`.
        position: place in the table, from 1.
        length: what stands in parentheses, None where nothing does, as in `INT`; for times and timestamps
            the number of fractional digits. The implied 10 of `DECIMAL`, 1 of `BIT`, `CHAR` and `BINARY`
            and 2048 of `VECTOR` are filled in; ENUM has 1 and SET twice its labels less one, as in
            Debezium's events.
        scale: digits after the point, of DECIMAL and of FLOAT and DOUBLE with two parameters.
        charset: of text columns, ENUM and SET. `binary` never stands here: such columns are VARBINARY,
            BLOB, ….
        collation: of the same columns.
        optional: whether NULL may be stored.
        auto_incremented: has AUTO_INCREMENT.
        updates: has ON UPDATE CURRENT_TIMESTAMP. Not a part of the definition that counts for equality: no row looks
            otherwise for it, and histories of before do not tell it.
        generated: is computed from an expression (Debezium's events say `generated` for AUTO_INCREMENT and ON UPDATE
            instead).
        has_default: has a DEFAULT, be it NULL, as a nullable column without the clause has.
        default: the value without quotes: `5`, `12.3400`, `blue`, `1` for TRUE, binary digits for BIT; None
            is NULL. In columns of bytes each character stands for one byte: `default.encode("latin-1")`.
        default_is_expression: `default` is the text of an expression: `CURRENT_TIMESTAMP(3)`, `(uuid())`.
        enum_values: the labels of ENUM and SET, unquoted.
        comment: None without one.
        type_expression: the type as the statement spelled it (`INTEGER UNSIGNED`, `BOOL`), which is what
            Debezium's schema-change events and propagated source types show; `type_name` if nothing else is
            known.
        invisible: left out of `SELECT *`; the log carries it all the same.
        row_end: is `GENERATED ALWAYS AS ROW END`, of MariaDB: it holds the end of a row's version. Not a part of the
            definition that counts for equality: histories of before do not tell it.
        older: what rows have here that were there when an ALTER TABLE added the column, in the form of `default`; None
            is NULL, and stands for columns as old as their table. Not a part of the definition that counts for
            equality: the server does not tell it.
        older_unknown: the log does not tell what those rows have.
    """

    name: str
    type_name: str
    position: int
    length: int | None = None
    scale: int | None = None
    charset: str | None = None
    collation: str | None = None
    optional: bool = True
    auto_incremented: bool = False
    updates: bool = field(default=False, compare=False)
    generated: bool = False
    has_default: bool = False
    default: str | None = None
    default_is_expression: bool = False
    enum_values: tuple[str, ...] = ()
    comment: str | None = None
    type_expression: str = ""
    invisible: bool = False
    row_end: bool = field(default=False, compare=False)
    older: str | None = field(default=None, compare=False)
    older_unknown: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not self.type_expression:
            object.__setattr__(self, "type_expression", self.type_name)

    @property
    def base_type(self) -> str:
        """The type's name without sign and zerofill: `BIGINT` for `BIGINT UNSIGNED`."""
        return self.type_name.split(" ", 1)[0]

    @property
    def unsigned(self) -> bool:
        """Whether a number column holds no negative values."""
        return " UNSIGNED" in self.type_name

    @property
    def zerofill(self) -> bool:
        """Whether the server pads the number with zeros when it prints it."""
        return " ZEROFILL" in self.type_name

    def to_json(self) -> dict[str, Any]:
        """Return the definition as a JSON object, without what equals the defaults."""
        given = {
            member.name: getattr(self, member.name)
            for member in fields(self)
            if getattr(self, member.name) != member.default
        }
        if self.type_expression == self.type_name:
            del given["type_expression"]
        return given

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Build a column from what `to_json` gave."""
        return cls(**{**document, "enum_values": tuple(document.get("enum_values", ()))})


class SharedColumns:
    """Columns that are built from JSON objects: one tuple for all tables that have the same ones.

    Of thousands of tables many have one shape, and what is made of a column need not be made again for each.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Column, ...]] = {}

    def of(self, documents: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
        """The columns of a table, of which `to_json` gave these."""
        shape = repr(documents)
        found = self._known.get(shape)
        if found is None:
            found = self._known[shape] = tuple(Column.from_json(column) for column in documents)
        return found


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index.

    Attributes:
        name: compared without regard to case.
        columns: the key parts in order; an empty string stands for an expression.
        unique: no two rows have the same values, NULLs aside.
        implicit: made by the server for a foreign key; gives way to an explicit index over the same columns.
    """

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    implicit: bool = False

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Build an index from what `dataclasses.asdict` gave."""
        return cls(**{**document, "columns": tuple(document["columns"])})


class Period(NamedTuple):
    """An application-time period of MariaDB: two columns that say from when to when a row holds."""

    name: str
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Table:
    """The definition of a table at one position of the log.

    Attributes:
        database: its database.
        name: its name.
        columns: in order.
        primary_key: the names of its columns, in the order of the key.
        indexes: all secondary indexes, in the order in which they were made.
        charset: what a text column gets that names none.
        collation: the same.
        comment: None without one.
        period: MariaDB's `PERIOD FOR`.
        system_versioned: of MariaDB; the log then has a row more for each that is changed (the old one, whose end lies
            in the past), and two more columns, `row_start` and `row_end`, unless the table defines them itself.
        history_partitions: has `PARTITION BY SYSTEM_TIME`, of MariaDB: what can be dropped of it has no rows of now.
            Not a part of the definition that counts for equality: histories of before do not tell it.
        sequence: is a SEQUENCE of MariaDB, which the log treats as a table; its columns are not kept.
    """

    database: str
    name: str
    columns: tuple[Column, ...] = ()
    primary_key: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    charset: str | None = None
    collation: str | None = None
    comment: str | None = None
    period: Period | None = None
    system_versioned: bool = False
    history_partitions: bool = field(default=False, compare=False)
    sequence: bool = False

    @property
    def id(self) -> TableId:
        """The table's full name."""
        return TableId(self.database, self.name)

    @property
    def unique_keys(self) -> tuple[Index, ...]:
        """The unique indexes besides the primary key, in the order of the definition."""
        return tuple(index for index in self.indexes if index.unique)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of a record's key, as Debezium chooses them.

        The primary key, else the first unique key whose columns are all NOT NULL, else none.
        """
        if self.primary_key:
            return self.primary_key
        required = {column.name for column in self.columns if not column.optional}
        usable = (key.columns for key in self.unique_keys if required.issuperset(key.columns))
        return next(usable, ())

    def column(self, name: str) -> Column | None:
        """Return the column of that name, whatever its case, or None."""
        folded = name.lower()
        return next((column for column in self.columns if column.name.lower() == folded), None)

    def with_columns(self, columns: Iterable[Column]) -> Table:
        """Return the table with these columns, numbered anew."""
        numbered = (replace(column, position=place) for place, column in enumerate(columns, 1))
        return replace(self, columns=tuple(numbered))

    def to_json(self) -> dict[str, Any]:
        """Return the definition as a JSON object."""
        return {
            "database": self.database,
            "name": self.name,
            "columns": [column.to_json() for column in self.columns],
            "primary_key": list(self.primary_key),
            "indexes": [asdict(index) for index in self.indexes],
            "charset": self.charset,
            "collation": self.collation,
            "comment": self.comment,
            "period": self.period,
            "system_versioned": self.system_versioned,
            "history_partitions": self.history_partitions,
            "sequence": self.sequence,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], shared: SharedColumns | None = None) -> Self:
        """Build a table from what `to_json` gave; with `shared`, its columns are those of tables built before."""
        return cls(
            database=document["database"],
            name=document["name"],
            columns=(SharedColumns() if shared is None else shared).of(document["columns"]),
            primary_key=tuple(document["primary_key"]),
            indexes=tuple(Index.from_json(index) for index in document["indexes"]),
            charset=document["charset"],
            collation=document["collation"],
            comment=document["comment"],
            period=Period(*document["period"]) if document["period"] else None,
            system_versioned=document["system_versioned"],
            history_partitions=document.get("history_partitions", False),
            sequence=document["sequence"],
        )


@dataclass(frozen=True, slots=True)
class Database:
    """A database and what its new tables get when they name no character set."""

    name: str
    charset: str | None = None
    collation: str | None = None


class Tables:
    """The definitions of a server at one position of its log.

    A copy costs next to nothing until one of the two is changed: every position of interest can keep its own.

    Args:
        lower_case_table_names: the server's variable. 0: names differ by case; 1: names are stored in lower
            case; 2: names are kept as written and compared without regard to case.
    """

    __slots__ = ("_databases", "_shared", "_tables", "lower_case_table_names")

    def __init__(self, *, lower_case_table_names: int = 0) -> None:
        self.lower_case_table_names = lower_case_table_names
        self._tables: dict[TableId, Table] = {}
        self._databases: dict[str, Database] = {}
        self._shared = False

    def spelling(self, name: str) -> str:
        """Return a database's or table's name as the server stores it."""
        return name.lower() if self.lower_case_table_names == 1 else name

    def _fold(self, name: str) -> str:
        return name.lower() if self.lower_case_table_names else name

    def _key(self, database: str, name: str) -> TableId:
        return TableId(self._fold(database), self._fold(name))

    def get(self, database: str, name: str) -> Table | None:
        """Return a table's definition, or None when it is not known."""
        return self._tables.get(self._key(database, name))

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self._tables[self._key(*table_id)]

    def __contains__(self, table_id: tuple[str, str]) -> bool:
        return self._key(*table_id) in self._tables

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables.values())

    def __len__(self) -> int:
        return len(self._tables)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tables):
            return NotImplemented
        return (
            self.lower_case_table_names == other.lower_case_table_names
            and self._tables == other._tables
            and self._databases == other._databases
        )

    __hash__ = None  # type: ignore[assignment]  # changes in place

    def __repr__(self) -> str:
        return f"<Tables: {len(self._tables)} tables in {len(self._databases)} databases>"

    def put(self, table: Table) -> None:
        """Add a definition, or replace the one of that name."""
        self._own()
        self._tables[self._key(table.database, table.name)] = table

    def remove(self, database: str, name: str) -> Table | None:
        """Forget a table and return what was known of it."""
        self._own()
        return self._tables.pop(self._key(database, name), None)

    def in_database(self, database: str) -> list[Table]:
        """Return the tables of one database."""
        folded = self._fold(database)
        return [table for key, table in self._tables.items() if key.database == folded]

    @property
    def databases(self) -> list[Database]:
        """The databases whose defaults are known."""
        return list(self._databases.values())

    def database(self, name: str) -> Database | None:
        """Return what is known of a database."""
        return self._databases.get(self._fold(name))

    def put_database(self, database: Database) -> None:
        """Add a database, or replace what was known of it."""
        self._own()
        self._databases[self._fold(database.name)] = database

    def remove_database(self, name: str) -> list[Table]:
        """Forget a database with its tables, and return these."""
        self._own()
        self._databases.pop(self._fold(name), None)
        tables = self.in_database(name)
        for table in tables:
            del self._tables[self._key(table.database, table.name)]
        return tables

    def copy(self) -> Tables:
        """Return the definitions as they are now, untouched by later changes of either."""
        other = Tables(lower_case_table_names=self.lower_case_table_names)
        other.share(self)
        return other

    def share(self, other: Tables) -> None:
        """Have what another one has, until one of the two is changed."""
        self._tables, self._databases = other._tables, other._databases
        self._shared = other._shared = True

    def _own(self) -> None:
        if self._shared:
            self._tables, self._databases = self._tables.copy(), self._databases.copy()
            self._shared = False

    def to_json(self) -> dict[str, Any]:
        """Return all definitions as a JSON object."""
        return {
            "lower_case_table_names": self.lower_case_table_names,
            "databases": [asdict(database) for database in self._databases.values()],
            "tables": [table.to_json() for table in self._tables.values()],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Build the definitions from what `to_json` gave."""
        tables = cls(lower_case_table_names=document["lower_case_table_names"])
        for database in document["databases"]:
            tables.put_database(Database(**database))
        columns = SharedColumns()
        for table in document["tables"]:
            tables.put(Table.from_json(table, columns))
        return tables
