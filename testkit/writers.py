"""Writers that change rows while pipelines are harmed, and note what they commit."""

from __future__ import annotations

import random
import threading
from abc import ABC, abstractmethod
from itertools import count
from types import TracebackType
from typing import Self

from testkit.journal import Change, Journal, Key
from testkit.servers.mysql_family import SQLServer

TABLES = """
CREATE TABLE accounts (id INT PRIMARY KEY, token VARCHAR(40) NOT NULL);
CREATE TABLE parts (a INT, b INT, token VARCHAR(40) NOT NULL, PRIMARY KEY (a, b));
CREATE TABLE bulk (id INT PRIMARY KEY, token VARCHAR(40) NOT NULL);
"""
_PARTS = 5
"""How many rows of `parts` share their first column."""
_ACCOUNTS_A_STATEMENT = 5000


class Writer(ABC):
    """One session that commits transaction after transaction until its context ends.

    Attributes:
        commits: how many transactions it has made.
    """

    def __init__(self, server: SQLServer, database: str, journal: Journal, seed: int, pause: float) -> None:
        self.random = random.Random(seed)
        self._journal = journal
        self._pause = pause
        self._database = database
        self._turn = threading.Lock()
        self.move(server)
        self.commits = 0
        self._pending: list[tuple[Key, Change]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._failure: BaseException | None = None

    def move(self, server: SQLServer) -> None:
        """Goes on at another server, or at one that was started again; between transactions only."""
        self._cursor = server.connect(database=self._database, autocommit=False).cursor()

    def hold(self) -> None:
        """Returns once no transaction is open; none begins before `release`."""
        self._turn.acquire()

    def release(self) -> None:
        """Goes on."""
        self._turn.release()

    @abstractmethod
    def transaction(self) -> None:
        """Makes the changes of one transaction."""

    def execute(self, sql: str, *arguments: object) -> None:
        """Runs a statement."""
        self._cursor.execute(sql, arguments)

    def changed(self, table: str, values: tuple[int, ...], op: str, token: str) -> None:
        """Notes what a statement has changed."""
        self._pending.append((Key(table, values), Change(op, token)))

    def commit(self) -> None:
        """Ends the transaction in hand."""
        self._journal.commits(self._pending)
        self._pending.clear()
        self.commits += 1
        self._cursor.connection.commit()

    def _write(self) -> None:
        try:
            while not self._ended.is_set():
                with self._turn:
                    self.transaction()
                    self.commit()
                self._ended.wait(self._pause)
        except Exception as failure:  # noqa: BLE001 - it is raised where the context ends
            self._failure = failure

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._cursor.connection.close()
        if self._failure is not None and error is None:
            raise self._failure


class ShopWriter(Writer):
    """Small transactions over `accounts` and `parts`: inserts, updates, deletes, changed keys, several rows at once."""

    def __init__(
        self, server: SQLServer, database: str, journal: Journal, seed: int, *, accounts: int, pause: float = 0.003
    ) -> None:
        super().__init__(server, database, journal, seed, pause)
        self._tokens = (f"s{number}" for number in count())
        self._accounts: dict[int, str] = {}
        self._parts: dict[int, list[str]] = {}
        self._new = count(1)
        self._begin(accounts)

    def _begin(self, accounts: int) -> None:
        """The rows that are there before any pipeline."""
        while accounts > len(self._accounts):
            found = [
                (next(self._new), next(self._tokens))
                for _ in range(min(_ACCOUNTS_A_STATEMENT, accounts - len(self._accounts)))
            ]
            self.execute(f"INSERT INTO accounts (id, token) VALUES {', '.join(map(str, found))}")
            for key, token in found:
                self._accounts[key] = token
                self.changed("accounts", (key,), "c", token)
        self.commit()

    def transaction(self) -> None:
        """One to five statements."""
        steps = (self._insert, self._update, self._update, self._delete, self._move, self._put_parts, self._edit_parts)
        for step in self.random.choices(steps, k=self.random.randint(1, 5)):
            step()

    def _one(self) -> int:
        """A key in use; the newest ones more often than others, so that some keys change many times."""
        newest = max(self._accounts)
        while True:
            near = self.random.random() < 0.5
            key = newest - self.random.randrange(20) if near else self.random.randint(1, newest)
            if key in self._accounts:
                return key

    def _insert(self) -> None:
        key, token = next(self._new), next(self._tokens)
        self.execute("INSERT INTO accounts (id, token) VALUES (%s, %s)", key, token)
        self._accounts[key] = token
        self.changed("accounts", (key,), "c", token)

    def _update(self) -> None:
        key, token = self._one(), next(self._tokens)
        self.execute("UPDATE accounts SET token = %s WHERE id = %s", token, key)
        self._accounts[key] = token
        self.changed("accounts", (key,), "u", token)

    def _delete(self) -> None:
        key = self._one()
        self.execute("DELETE FROM accounts WHERE id = %s", key)
        self.changed("accounts", (key,), "d", self._accounts.pop(key))

    def _move(self) -> None:
        old, new, token = self._one(), next(self._new), next(self._tokens)
        self.execute("UPDATE accounts SET id = %s, token = %s WHERE id = %s", new, token, old)
        self.changed("accounts", (old,), "d", self._accounts.pop(old))
        self._accounts[new] = token
        self.changed("accounts", (new,), "c", token)

    def _put_parts(self) -> None:
        first = len(self._parts) + 1
        rows = [(first, number, next(self._tokens)) for number in range(_PARTS)]
        self.execute(f"INSERT INTO parts (a, b, token) VALUES {', '.join(map(str, rows))}")
        self._parts[first] = [token for _, _, token in rows]
        for a, b, token in rows:
            self.changed("parts", (a, b), "c", token)

    def _edit_parts(self) -> None:
        if not self._parts:
            return
        first, token = self.random.choice(list(self._parts)), next(self._tokens)
        if not self._parts[first] or self.random.random() < 0.7:
            self.execute("UPDATE parts SET token = CONCAT(%s, '-', b) WHERE a = %s", token, first)
            self._parts[first] = [f"{token}-{b}" for b, _ in enumerate(self._parts[first])]
            changes = [("u", found) for found in self._parts[first]]
        else:
            self.execute("DELETE FROM parts WHERE a = %s", first)
            changes = [("d", found) for found in self._parts[first]]
            self._parts[first] = []
        for b, (op, found) in enumerate(changes):
            self.changed("parts", (first, b), op, found)


class BulkWriter(Writer):
    """Large transactions over `bulk`, each of some statements with many rows: far more than a batch holds."""

    def __init__(
        self, server: SQLServer, database: str, journal: Journal, seed: int, *, rows: int, pause: float = 1.2
    ) -> None:
        super().__init__(server, database, journal, seed, pause)
        self._rows = rows
        self._round = count()
        self._inserts = 10

    def transaction(self) -> None:
        """New rows by several statements, all of them changed by one, and some of them deleted by another."""
        number = next(self._round)
        first, token = number * self._rows, f"b{number}"
        each = self._rows // self._inserts
        for start in range(first, first + self._rows, each):
            keys = range(start, start + each)
            rows = [(key, f"{token}-{key}") for key in keys]
            self.execute(f"INSERT INTO bulk VALUES {', '.join(map(str, rows))}")
            for key, made in rows:
                self.changed("bulk", (key,), "c", made)
        self.execute("UPDATE bulk SET token = CONCAT(%s, 'u-', id) WHERE id >= %s", token, first)
        for key in range(first, first + self._rows):
            self.changed("bulk", (key,), "u", f"{token}u-{key}")
        gone = first + self._rows - each
        self.execute("DELETE FROM bulk WHERE id >= %s", gone)
        for key in range(gone, first + self._rows):
            self.changed("bulk", (key,), "d", f"{token}u-{key}")
