"""Plays a history: its steps in a database of a live server, its deliveries into a sink, and the comparison of both."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pymysql

from histories.around import Around
from histories.endings import DivergedError, advised, said
from histories.generator import AROUND
from histories.lakes import Tables
from histories.rows import Types, at_source, columns_of, difference, keys_of
from histories.sinks import ROUTER, Sink
from histories.steps import CHECK, DELIVER, Step
from testkit.running import Pipeline, source_of
from testkit.servers.mysql_family import SQLServer
from testkit.warm_command.starting import call_command

FailOver = Callable[[Random], SQLServer]

SIGNALS = "signals"
_SIGNAL_TABLE = (
    f"CREATE TABLE IF NOT EXISTS {SIGNALS} (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))"
)
_COMMANDS = 10
"""So many commands in a row are done, as several tables may each need one."""


@dataclass
class Play:
    """One history that is played.

    Attributes:
        server: where its database is.
        database: the database, which is there and empty.
        folder: of the pipeline's files.
        sink: where it is delivered to.
        batch_rows: on Spark, how many rows a batch of a snapshot has; 0: as many as come by default.
        fail_over: has the server die, and gives the one that takes over; None where there is none.
        delivered: how often the pipeline has been run to the log's end.
        refused: how many statements the server refused.
        obeyed: how many commands that the pipeline named were done.
        took: how many seconds the last delivery took.
        interrupted: how often the server died while a pipeline was at work.
    """

    server: SQLServer
    database: str
    folder: Path
    sink: Sink
    fail_over: FailOver | None = None
    batch_rows: int = 0
    delivered: int = 0
    refused: int = 0
    obeyed: int = 0
    took: float = 0
    interrupted: int = 0

    def __post_init__(self) -> None:
        self.around = Around(self)

    def all(self, steps: Iterable[Step]) -> None:
        """Plays the steps.

        Raises:
            DivergedError: a check fails, or a delivery; the message says which.
        """
        self.server.execute(_SIGNAL_TABLE, database=self.database)
        for number, step in enumerate(steps, 1):
            place = f"step {number} ({step.kind})"
            if step.kind == DELIVER:
                self.deliver(place)
            elif step.kind == CHECK:
                self.deliver(place)
                self.around.settle(place)
                self.check(place)
            elif step.statements:
                self.change(step.statements)
            else:
                self._happen(step)

    def change(self, statements: Sequence[str]) -> None:
        """Runs statements in a session of their own; what the server refuses has not happened."""
        with closing(self.server.connect(database=self.database)) as connection, connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00', lock_wait_timeout = 10, innodb_lock_wait_timeout = 10")
            for statement in statements:
                try:
                    cursor.execute(statement)
                except pymysql.MySQLError:
                    self.refused += 1

    def deliver(self, place: str) -> None:
        """Runs the pipeline to the log's end. Where it stops and names a command, that is done, and it goes on."""
        self.delivered += 1
        for _ in range(_COMMANDS):
            file = self.pipeline().written()
            try:
                return self._run(file)
            except Exception as error:
                last = said(error)
                if wrong := self.around.heard(error):
                    raise DivergedError(f"{place}: {wrong}; the pipeline ended with {last}") from error
                if self.around.helped(error):
                    continue
                named = advised(error, file)
                if not named:
                    raise DivergedError(f"{place}: the pipeline ended with {last}") from error
                self._obey(f"{place}: {last}", named)
        raise DivergedError(f"{place}: {_COMMANDS} commands have not helped; the pipeline ended with {last}")

    def _run(self, file: Path) -> None:
        began = time.monotonic()
        self.sink.run(file)
        self.took = time.monotonic() - began

    def _obey(self, why: str, commands: Sequence[Sequence[str]]) -> None:
        """Does what the first command says, or the one behind it where that is not possible."""
        for command in commands:
            done = call_command(command)
            if done.returncode == 0:
                self.obeyed += 1
                return
        raise DivergedError(f"{why}\nand the command ended with {done.returncode}: {done.stderr}")

    def check(self, place: str) -> None:
        """Compares the tables."""
        tables = self.tables()
        try:
            found = self.sink.rows(tables)
        except AssertionError as error:
            raise DivergedError(f"{place}: {error}") from error
        for table, types in tables.items():
            expected = at_source(self.server, self.database, table, types)
            if table in found and (what := difference(types, expected, found[table])):
                again = self.sink.rows(tables)[table]
                seen = "" if again == found[table] else " (and not the same when it is read again)"
                raise DivergedError(f"{place}: {table}{seen}: {what}")

    def drop(self) -> None:
        """Drops the database."""
        self.server.execute(f"DROP DATABASE IF EXISTS {self.database}")

    def tables(self) -> dict[str, Types]:
        """The tables that are captured."""
        return {name: types for name, types in columns_of(self.server, self.database).items() if name != SIGNALS}

    def pipeline(self, port: int | None = None) -> Pipeline:
        """The pipeline from the database, at another port than the server's if need be, to the sink."""
        source = source_of(
            self.server,
            self.database,
            database_port=port or self.server.port,
            topic_prefix=self.database,
            table_include_list=rf"{self.database}\.(?!{SIGNALS}$).*",
            bigint_unsigned_handling_mode="precise",
            skipped_operations="none",
            include_schema_changes=self.sink.schema_changes,
            **(self._signals() if self.sink.signals else {}),
            **({} if self.sink.runner == "direct" else {"snapshot_batch_rows": self.batch_rows}),
        )
        options = {
            "runner": self.sink.runner,
            "transforms": [ROUTER],
            "name": self.database,
            "serializer": {"replace.null.with.default": False},
            **self.sink.others,
            **(self.sink.setting.others(self.folder) if isinstance(self.sink, Tables) else {}),
        }
        return Pipeline(self.folder, source, self.sink.options, options)

    def _signals(self) -> dict[str, Any]:
        name = f"{self.database}.{SIGNALS}"
        return {"signal_data_collection": name, "incremental_snapshot_chunk_size": 5}

    def _happen(self, step: Step) -> None:
        """What happens beside changes."""
        chance = Random(step.facts["chance"])
        if step.kind == "server restart":
            self.server.restart()
        elif step.kind == "server kill":
            self.server.kill()
            self.server.start()
        elif step.kind in AROUND:
            self.around.happen(step.kind, chance)
        elif step.kind == "failover":
            self._fail_over(chance)
        elif step.kind == "flush logs":
            self.server.execute("FLUSH LOGS")
        elif step.kind == "kill":
            self.sink.run_and_kill(self.pipeline(), chance)
        elif step.kind == "resnapshot":
            self._resnapshot(chance)
        elif step.kind == "incremental snapshot":
            self._signal(chance)
        else:
            self.sink.disturb(step.kind, chance)

    def command(self, why: str, words: Sequence[str]) -> None:
        """Calls a command of `cdc`.

        Raises:
            DivergedError: it fails.
        """
        self._obey(why, [words])

    def ask_again(self, chance: Random) -> bool:
        """Asks for a table to be read again; before the first offset there is nothing to read again.

        Events of rows without a key only add to each other: such a table is left alone where events arrive, and one may
        not become such a table until it is read.
        """
        mirrored = self.sink.runner == "spark"
        names = sorted(self.tables() if mirrored else keys_of(self.server, self.database).keys() & self.tables())
        pipeline = self.pipeline()
        if not names or pipeline.offset() is None:
            return False
        table = f"{self.database}.{chance.choice(names)}"
        if not mirrored:  # at the very place of an earlier snapshot the positions of both are not in order
            self.server.execute("FLUSH LOGS")
        self._obey(f"{table} is to be read again", [["resnapshot", str(pipeline.written()), "--table", table]])
        return True

    def _resnapshot(self, chance: Random) -> None:
        """Has one read again, at once where events arrive."""
        if self.ask_again(chance) and self.sink.runner == "direct":
            self.deliver("a table is read again")

    def _fail_over(self, chance: Random) -> None:
        """The server dies, every other time while a pipeline reads from it, which dies with it."""
        go_over = partial(self._go_over, chance)
        if chance.random() < 0.5:
            go_over()
        else:
            self.interrupted += self.sink.run_and_lose(self.pipeline(), chance, go_over)

    def _go_over(self, chance: Random) -> None:
        assert self.fail_over is not None
        self.server = self.fail_over(chance)

    def _signal(self, chance: Random) -> None:
        """Has a table read again; one without a key is left alone."""
        data = {"data-collections": [f"{self.database}.{chance.choice(sorted(self.tables()))}"]}
        row = f"s{chance.getrandbits(60)}", "execute-snapshot", json.dumps(data)
        self.server.execute(f"INSERT INTO {self.database}.{SIGNALS} VALUES (%s, %s, %s)", row)


NewPlay = Callable[[], Play]


def failure(new: NewPlay, steps: Sequence[Step], afterwards: ExitStack | None = None) -> str:
    """What goes wrong where these steps are played on their own; "" where nothing does.

    Args:
        new: makes the play.
        steps: its steps.
        afterwards: drops the database; None: that is done at once.
    """
    play = new()
    play.server.execute(f"CREATE DATABASE {play.database} CHARACTER SET utf8mb4")
    with ExitStack() as at_once:
        (afterwards or at_once).callback(play.drop)
        try:
            play.all(steps)
        except DivergedError as error:
            return str(error)
    return ""
