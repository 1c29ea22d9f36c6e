"""What happens around a pipeline in a history: to its tables, to its file, to the way to its source."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import SourceError
from cdckit.tables.made_tables import TablesGoneError
from histories.away import away
from histories.endings import DivergedError, advised, number, said
from histories.lakes import Tables
from histories.sinks import logical

if TYPE_CHECKING:
    from histories.playing import Play

log = logging.getLogger(__name__)

_BEGUN_BY_ANOTHER = "CDC7110"
_LONGEST = 5.0
"""For so many seconds a pipeline goes on that does not end as its table is changed."""
_LEAVES_TO_SPARK = "'sink.type: spark' does"
"""What the sink `delta` says of columns that delta-rs does not alter."""


@dataclass
class Around:
    """That of one history.

    Attributes:
        play: the history.
        removed: the tables of the lake that are gone, and that no run has missed yet.
        gone: those that ever were.
    """

    play: Play
    removed: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    _finishing: bool = False

    def happen(self, kind: str, chance: Random) -> None:
        """Has one of these things happen."""
        if kind == "away":
            self._away(chance)
        elif kind == "remove":
            self._remove(chance)
        elif kind == "remove beside":
            self._remove_beside(chance)
        elif kind == "switch":
            self._switch(chance)
        else:
            sink = self._sink
            sink.setting = sink.setting.elsewhere(chance) if kind == "checkpoint" else sink.setting.waiting()

    @property
    def _sink(self) -> Tables:
        sink = self.play.sink
        assert isinstance(sink, Tables)
        return sink

    def settle(self, place: str) -> None:
        """Changes one row of each table that is gone: the next run misses it, unless all of its rows are told anew.

        One that has the others then has been made anew without a word.
        """
        if self.removed:
            self._change(self.removed)
            self.play.deliver(f"{place}, of tables that were removed")
            self.removed.clear()

    def _change(self, names: Collection[str]) -> bool:
        """Changes one row of each of the source's tables whose rows go into some; gives whether there is one."""
        play, tables = self.play, sorted(table for table in self.play.tables() if logical(table) in names)
        play.change([f"UPDATE `{table}` SET v = v + 1 ORDER BY id LIMIT 1" for table in tables])
        return any(play.server.execute(f"SELECT 1 FROM `{one}` LIMIT 1", database=play.database) for one in tables)

    def heard(self, error: Exception) -> str:
        """Takes note of how a run ended; gives what is wrong with that, "" for nothing."""
        if not isinstance(error, TablesGoneError):
            return ""
        named = {logical(source.rpartition(".")[2]) for source in error.sources}
        self.removed -= named
        return f"of {', '.join(sorted(named - self.gone))} nobody has removed a table" if named - self.gone else ""

    def helped(self, error: Exception) -> bool:
        """Whether the runner or the sink was what a run has ended by, and the one that is needed has come."""
        sink = self.play.sink
        if isinstance(sink, Tables) and _LEAVES_TO_SPARK in str(error):
            sink.setting = replace(sink.setting, kind="spark", runner="spark")
            self._keep()
        elif isinstance(sink, Tables) and number(error) == _BEGUN_BY_ANOTHER and not self._finishing:
            self._finish(sink)
        else:
            return False
        return True

    def _finish(self, sink: Tables) -> None:
        """The other runner finishes the batch that it has in hand: this one cannot tell which tables have it."""
        present = sink.setting
        sink.setting = replace(present, runner="direct" if present.runner == "spark" else "spark")
        self._finishing = True
        try:
            self.play.deliver("the other runner finishes its batch")
        finally:
            sink.setting, self._finishing = present, False

    def _keep(self) -> None:
        """The offset is kept, and what is known of the tables forgotten, as where another sink keeps them.

        Each is remembered with its next change.
        """
        if self.play.pipeline().offset() is not None:
            self.play.command("the sink has changed", ["offsets", "keep", str(self.play.pipeline().written())])
            self._change(self._sink.names())

    def _away(self, chance: Random) -> None:
        """Delivers, half of the time a table that is to be read again, while the source is away for a moment."""
        play = self.play
        if chance.random() < 0.5:
            play.ask_again(chance)
        with away(play.server.port, chance) as port:
            self._disturbed("the source is away", port)
        play.deliver("the source is back")

    def _remove(self, chance: Random) -> None:
        names = sorted(self._sink.names())
        if names:
            name = chance.choice(names)
            self._note(name)
            self._sink.remove(name)

    def _note(self, name: str) -> None:
        self.removed.add(name)
        self.gone.add(name)

    def _remove_beside(self, chance: Random) -> None:
        """Removes one while a delivery may be at work, or half of the time a process that goes on."""
        sink, names = self._sink, sorted(self._sink.names())
        if not names:
            return
        name, seconds = chance.choice(names), chance.uniform(0, self.play.took)
        self._note(name)
        if sink.setting.runner == "direct" and chance.random() < 0.5:
            with self._expecting(f"{name} is removed as the pipeline goes on"):
                self._remove_from(name, seconds)
            return
        timer = threading.Timer(seconds, sink.remove, (name,))
        timer.start()
        try:
            self._disturbed(f"{name} is removed meanwhile")
        finally:
            timer.join()

    def _remove_from(self, name: str, seconds: float) -> None:
        """Removes a table some time behind the start of a process, and changes a row of it, which is to end that."""
        stopping = StopSignal()
        runner = DirectRunner(load_pipeline(self.play.pipeline().written()), stopping)
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(runner.run)
            wait([run], seconds)
            self._sink.remove(name)
            if self._change([name]):
                wait([run], _LONGEST)
            stopping.stop()
            run.result()

    def _disturbed(self, why: str, port: int | None = None) -> None:
        """A run of which something is expected."""
        with self._expecting(why):
            self.play.sink.run(self.play.pipeline(port).written())

    @contextmanager
    def _expecting(self, why: str) -> Iterator[None]:
        """A run that may end with what the next one ends with, too, or as the source is away when it begins.

        Raises:
            DivergedError: it ends with something else.
        """
        try:
            yield
        except Exception as error:
            passes = (
                isinstance(error, SourceError) or number(error) == _BEGUN_BY_ANOTHER or _LEAVES_TO_SPARK in str(error)
            )
            if not passes and not advised(error, ""):
                raise DivergedError(f"{why}: the pipeline ended with {said(error)}") from error
            log.info("%s: %s", why, error)

    def _switch(self, chance: Random) -> None:
        """The other sink keeps the tables from here on behind a run that has ended, or the other runner at any time."""
        sink, play = self._sink, self.play
        former, new = sink.setting, sink.setting.switched(chance)
        if former.kind != new.kind:
            self.settle("the sink is to change")
            play.deliver("the sink is to change")
        sink.setting = new
        if former.kind != new.kind:
            self._keep()
            play.deliver("the sink has changed")
