"""Plays histories from the command line: `PYTHONPATH=tests python -m histories --help`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

from pyspark.sql import SparkSession

from histories.document_series import EVENTS, KINDS as OF_DOCUMENTS, DocumentSeries
from histories.failovers import failing_servers, take_over
from histories.generator import AROUND, KINDS, SMALL_STEPS
from histories.playing import FailOver
from histories.series import SINKS, Series
from histories.steps import read
from testkit.running import create_reader
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES, SQLServer
from testkit.spark_java import archive_classes


def main() -> int:
    """Plays what the arguments say; 1 where a history fails."""
    arguments = _parser().parse_args()
    failed, seeds = 0, _seeds(arguments)
    with ExitStack() as stack:
        series = _series(arguments, stack)
        if arguments.replay:
            report = series.report_of(read(arguments.replay.read_text(encoding="utf-8")), str(arguments.replay))
            print(report or "nothing goes wrong")
            return int(bool(report))
        for seed in seeds:
            began = time.monotonic()
            report = series.report(seed)
            failed += bool(report)
            verdict = f"{'FAILED' if report else 'passed'} in {time.monotonic() - began:.1f} s"
            print(f"seed {seed}: {verdict}, {series.told}", flush=True)
            if report:
                print(report, flush=True)
    print(f"{len(seeds) - failed} of {len(seeds)} histories passed")
    return int(bool(failed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m histories", description=__doc__)
    parser.add_argument("--sink", choices=SINKS, default="file")
    parser.add_argument("--server", choices=("mysql", "mariadb", "mongodb"), default="mysql")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=10, help="how many seeds")
    parser.add_argument("--seeds", help="other seeds than so many in a row, like 48,56,60-63")
    parser.add_argument("--failovers", action="store_true", help="of MySQL: small histories in which the primary dies")
    parser.add_argument("--around", action="store_true", help="of tables: with what happens around a pipeline, too")
    parser.add_argument("--only", help="kinds of steps beside rows, with commas between, though they are switched off")
    parser.add_argument("--replay", type=Path, help="a file of steps, as a failure shows them")
    parser.add_argument(
        "--steps", type=int, help="small histories of so many steps; of MongoDB, of so many rounds of changes"
    )
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="on Spark, have code written for expressions, as for users",
    )
    parser.add_argument(
        "--shrink", type=float, default=120, help="for how many seconds a shorter history is looked for"
    )
    return parser


def _seeds(arguments: argparse.Namespace) -> list[int]:
    if not arguments.seeds:
        return list(range(arguments.first, arguments.first + arguments.count))
    ends = (part.partition("-") for part in arguments.seeds.split(","))
    return [seed for first, _, last in ends for seed in range(int(first), int(last or first) + 1)]


def _series(arguments: argparse.Namespace, stack: ExitStack) -> Series | DocumentSeries:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="histories-")))

    @cache
    def broker() -> KafkaBroker:
        return stack.enter_context(KafkaBroker())

    @cache
    def session() -> SparkSession:
        from cdckit.engine.spark.session import start_session
        from spark.conftest import FAST_JVM, INTERPRETED

        archive_classes()
        settings = {"spark.master": "local[2]", **FAST_JVM, "spark.sql.warehouse.dir": str(folder / "warehouse")}
        return start_session("histories", settings | ({} if arguments.compiled else INTERPRETED), delta=True)

    if arguments.server == "mongodb":
        return _of_documents(arguments, stack, folder, broker, session)
    kinds = _kinds(arguments, KINDS | AROUND.keys())
    server, fail_over = _server(arguments, stack)
    small = SMALL_STEPS if arguments.failovers and arguments.steps is None else arguments.steps
    kinds = None if kinds is None else kinds | {"rows", "transaction"}
    series = Series(server, arguments.sink, folder, broker, session, kinds, arguments.shrink, small, fail_over)
    series.around = arguments.around
    return series


def _kinds(arguments: argparse.Namespace, known: Collection[str]) -> set[str] | None:
    """The kinds of steps that were asked for; None for all."""
    if arguments.only is None:
        return None
    kinds = set(filter(None, arguments.only.split(",")))
    if not kinds <= set(known):
        sys.exit(f"no such kinds: {', '.join(sorted(kinds.difference(known)))}; there are: {', '.join(sorted(known))}")
    return kinds


def _of_documents(
    arguments: argparse.Namespace,
    stack: ExitStack,
    folder: Path,
    broker: Callable[[], KafkaBroker],
    session: Callable[[], SparkSession],
) -> DocumentSeries:
    """Histories of collections, of a replica set of three members."""
    if arguments.sink not in OF_DOCUMENTS:
        sys.exit(f"no sink of MongoDB's histories: {arguments.sink}; there are: {', '.join(OF_DOCUMENTS)}")
    kinds = _kinds(arguments, EVENTS)
    members = stack.enter_context(MongoReplicaSet(nodes=3, setParameter="enableTestCommands=1"))
    series = DocumentSeries(members, arguments.sink, "histories", folder, broker, session, shrinks=arguments.shrink)
    series.kinds = EVENTS if kinds is None else kinds
    series.rounds = arguments.steps or series.rounds
    return series


def _server(arguments: argparse.Namespace, stack: ExitStack) -> tuple[SQLServer, FailOver | None]:
    """The server, and how another one takes over where it is to die."""
    if arguments.failovers:
        servers = stack.enter_context(failing_servers())
        return servers.primary, partial(take_over, servers)
    server = stack.enter_context(MySQLServer() if arguments.server == "mysql" else MariaDBServer())
    create_reader(server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
    return server, None


if __name__ == "__main__":
    sys.exit(main())
