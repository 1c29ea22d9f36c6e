"""The runner killed at chosen and at random instants: in the end each table has each change, and no change twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.engine.state.table_batches import TableBatches
from cdckit_delta.reading import current_rows
from crash.documents import DocumentRecord, assert_documents_complete
from delta_sink.moments import MOMENTS, Watched
from delta_sink.shop import Shop
from delta_sink.versions import assert_whole
from histories.lakes import DeltaMirror
from histories.rows import at_source, columns_of, difference
from spark.shop import random_seed
from testkit.journal import TOMBSTONE, Change, Journal, Key
from testkit.running import Pipeline
from testkit.writers import TABLES, BulkWriter, ShopWriter

WAIT = "mirror.apply.interval.ms"
KINDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "mirror": ("mirror", {}),
    "deferred mirror": ("mirror", {WAIT: 400}),
    "changelog": ("changelog", {}),
    "history": ("history", {}),
}
KEYS = {"accounts": ("id",), "parts": ("a", "b"), "bulk": ("id",)}
KILLS = 50
"""In the long series."""
LONGEST_WORK = 1.5
"""How many seconds a run lives at the most once it has begun to write, and how long a moment is waited for."""


class Kills:
    """What happens to one pipeline.

    Args:
        pipeline: the pipeline.
        journal: what is committed at its source.
        chance: says when it is killed.

    Attributes:
        known: how many changes of each key there were when the first point was noted.
        moments: how often it was killed when.
        left: what was left behind, how often: data files that no version has, batches that no offset is behind.
    """

    def __init__(self, pipeline: Pipeline, journal: Journal, chance: random.Random) -> None:
        self.known: dict[Key, int] = {}
        self.moments: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self._pipeline = pipeline
        self._journal = journal
        self._chance = chance
        self._lake = pipeline.folder / "lake"

    def run(self, times: int) -> None:
        """Kills so many runs: at each moment of a commit by turns, and now and then at any instant."""
        moments = [*MOMENTS, ""]
        for number in range(times):
            if number % len(moments) == 0:
                self._chance.shuffle(moments)
            self._kill(moments[number % len(moments)])

    def _kill(self, moment: str) -> None:
        before, orphans = self._files(), self._orphans()
        with Watched(self._lake, self._pipeline.state) as files, self._pipeline.running() as process:
            if not self.known:
                process.wait_for("snapshot at")
                self.known = self._journal.lengths()
            process.wait_until(lambda: bool(self._files() - before), "anything written", 240)
            time.sleep(self._chance.uniform(0, LONGEST_WORK))
            if moment:
                files.wait(process, moment, LONGEST_WORK)
            process.kill()
        self.moments[moment or "any"] += 1
        self.left["data files without a version"] += self._orphans() > orphans
        self.left["batches without an offset"] += self._begun()

    def _files(self) -> set[Path]:
        return set(self._lake.rglob("*"))

    def _orphans(self) -> int:
        """How many whole data files no version has."""
        named = {
            name
            for version in self._lake.glob("*/_delta_log/*.json")
            for name in _added(version.read_text(encoding="utf-8"))
        }
        return sum(path.name not in named for path in self._lake.glob("*/*.parquet"))

    def _begun(self) -> bool:
        """Whether the state knows of a batch that tables may have and no saved offset is behind."""
        state = SqliteStateStore(self._pipeline.state)
        try:
            return bool(TableBatches(state, state.load_offset()).begun)
        finally:
            state.close()


def _added(version: str) -> Iterator[str]:
    """The data files that a version names."""
    for part in version.split('"path":"')[1:]:
        yield part.partition('"')[0]


class DeferredMirror(DeltaMirror):
    """Mirrors with the changes that wait beside them."""

    def read(self, path: Path) -> list[dict[str, Any]]:
        """As their users read them."""
        found: list[dict[str, Any]] = current_rows(str(path)).to_pylist()
        return found


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_tables_equal_the_source_after_kills(shop: Shop, kind: str, nightly: bool) -> None:
    mode, sink = KINDS[kind]
    shop = replace(shop, mode=mode, sink=sink)
    left = kill_and_compare(shop, KILLS if nightly else 3)
    if WAIT in sink:
        shop.run("".join(f"UPDATE {table} SET token = CONCAT('last-', token);" for table in KEYS))
        shop.deliver({WAIT: 1})
        shop.assert_equal(KEYS)
    if nightly:
        assert len(+left) == 2, "no kill came between a data file and its version, or before an offset"


def kill_and_compare(shop: Shop, kills: int) -> Counter[str]:
    """Kills a pipeline beside writers, and proves its tables: what waits beside a mirror is read with it.

    Returns:
        what was left behind, how often.
    """
    seed = random_seed()
    journal = Journal()
    shop.run(TABLES)
    pipeline = shop.pipeline()
    often = replace(pipeline, others={**pipeline.others, "offset.flush.interval.ms": 200})
    killed = Kills(often, journal, random.Random(seed))
    with (
        ShopWriter(shop.server, shop.name, journal, seed, accounts=2000, pause=0.1),
        BulkWriter(shop.server, shop.name, journal, seed, rows=500, pause=3),
    ):
        killed.run(kills)
    shop.deliver()
    print(f"killed at {dict(killed.moments)}, which left {dict(killed.left)}")
    if WAIT in shop.sink:
        assert_current(shop)
    else:
        shop.assert_equal(KEYS)
    if shop.mode == "changelog":
        assert_documents_complete(journal.changes(), list(changes_of(shop)), killed.known)
    if shop.mode == "history":
        assert_whole(shop)
    return killed.left


def assert_current(shop: Shop) -> None:
    """The mirrors equal the source with what waits."""
    tables = columns_of(shop.server, shop.name)
    found = DeferredMirror(shop.folder, shop.name, shop.name).rows(tables)
    for table, types in tables.items():
        what = difference(types, at_source(shop.server, shop.name, table, types), found[table])
        assert not what, f"{table}: {what}"


def changes_of(shop: Shop) -> Iterator[DocumentRecord]:
    """The rows of a changelog as writers note changes; behind a deletion the tombstone, which it has no row for."""
    for table, key in KEYS.items():
        rows = (row for row in shop.lake.found(table) if row["__op"] != "t")  # where its snapshot begins
        for row in sorted(rows, key=itemgetter("__position")):
            place = Key(table, tuple(row[name] for name in key))
            yield DocumentRecord(place, Change(row["__op"], row["token"]), row["__position"])
            if row["__deleted"]:
                yield DocumentRecord(place, TOMBSTONE, f"{row['__position']}~")
