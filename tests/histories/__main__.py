"""Plays histories from the command line: `PYTHONPATH=tests python -m histories --help`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

from histories.generator import KINDS
from histories.series import SINKS, Series
from histories.steps import read
from testkit.running import create_reader
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES


def main() -> int:
    """Plays what the arguments say; 1 where a history fails."""
    arguments = _parser().parse_args()
    failed = 0
    with ExitStack() as stack:
        series = _series(arguments, stack)
        if arguments.replay:
            report = series.report_of(read(arguments.replay.read_text(encoding="utf-8")), str(arguments.replay))
            print(report or "nothing goes wrong")
            return int(bool(report))
        for seed in range(arguments.first, arguments.first + arguments.count):
            began = time.monotonic()
            report = series.report(seed)
            failed += bool(report)
            verdict = f"{'FAILED' if report else 'passed'} in {time.monotonic() - began:.1f} s"
            print(f"seed {seed}: {verdict}, {series.told}", flush=True)
            if report:
                print(report, flush=True)
    print(f"{arguments.count - failed} of {arguments.count} histories passed")
    return int(bool(failed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m histories", description=__doc__)
    parser.add_argument("--sink", choices=SINKS, default="file")
    parser.add_argument("--server", choices=("mysql", "mariadb"), default="mysql")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=10, help="how many seeds")
    parser.add_argument("--only", help="kinds of steps beside rows, with commas between, though they are switched off")
    parser.add_argument("--replay", type=Path, help="a file of steps, as a failure shows them")
    parser.add_argument("--steps", type=int, help="small histories of so many steps")
    parser.add_argument(
        "--shrink", type=float, default=120, help="for how many seconds a shorter history is looked for"
    )
    return parser


def _series(arguments: argparse.Namespace, stack: ExitStack) -> Series:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="histories-")))
    server = stack.enter_context(MySQLServer() if arguments.server == "mysql" else MariaDBServer())
    create_reader(server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
    only = arguments.only
    kinds = None if only is None else {"rows", "transaction", *filter(None, only.split(","))}
    if kinds and not kinds <= KINDS:
        sys.exit(f"no such kinds: {', '.join(sorted(kinds - KINDS))}; there are: {', '.join(sorted(KINDS))}")

    @cache
    def broker() -> KafkaBroker:
        return stack.enter_context(KafkaBroker())

    @cache
    def session() -> SparkSession:
        from cdckit.engine.spark.session import start_session
        from spark.conftest import FAST_JVM

        settings = {"spark.master": "local[2]", **FAST_JVM, "spark.sql.warehouse.dir": str(folder / "warehouse")}
        return start_session("histories", settings, delta=True)

    return Series(server, arguments.sink, folder, broker, session, kinds, arguments.shrink, arguments.steps)


if __name__ == "__main__":
    sys.exit(main())
