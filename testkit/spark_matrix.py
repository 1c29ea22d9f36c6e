"""The tests of `tests/spark` on each release of Spark that cdckit runs on (`make spark-matrix`).

Each release has a virtual environment below `build/spark`, kept for the next time, with the lock file's packages and
its own PySpark; Delta's jar for it is fetched as for any other. `python -m testkit.spark_matrix --help` says how to ask
for some releases and some tests.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testkit.matrix import ROOT, verdict

RELEASES = ("4.0", "4.1", "4.2")
PATHS = {
    "planning, and where batches end": ("stream_reader", "runner", "snapshot_batches"),
    "large transactions, batches by time": ("large_transactions",),
    "the planner reads in order: signals, heartbeats": ("signals",),
    "messages": ("kafka", "exactly_once"),
    "tables, by Spark and by the driver": ("tables", "key_changes", "evolution", "two_writers"),
    "the sinks delta and iceberg, branches": ("lakes_by_driver",),
    "a direct process has the tail": ("tail",),
    "the ledger": ("proof_ledger",),
    "the quarantine": ("refused_rows", "refused_by_driver"),
    "jobs of one's own": ("data_source", "bounded_reads", "typed_rows", "own_tables"),
    "messages of jobs of one's own": ("written_streams", "written_topics"),
    "Spark Connect": ("connect",),
    "kills": ("kill", "kill_exactly_once"),
}
"""What differs between releases is on the way of these: each with the test files that go it."""
CORE = tuple(f"tests/spark/test_{name}.py" for names in PATHS.values() for name in names)
SERVERS = ("java", "delta")


@dataclass(frozen=True, slots=True)
class SparkCell:
    """One release of Spark."""

    release: str

    def passes(self, tests: Sequence[str]) -> bool:
        """Makes the environment, or brings it up to date, and runs tests in it, by arguments of pytest."""
        folder = ROOT / "build" / "spark" / self.release
        python = folder / "bin" / "python"
        commands: list[Sequence[str | Path]] = [[sys.executable, "-m", "venv", folder]]
        commands += [[python, "-m", "pip", "install", "--quiet", *what] for what in self._installed(folder)]
        commands += [[python, "-m", "testkit.servers", name] for name in SERVERS]
        commands += [[python, "-m", "pytest", "-q", "-r", "fE", "-o", f"cache_dir={folder / 'pytest_cache'}", *tests]]
        return all(subprocess.run(command, cwd=ROOT, check=False).returncode == 0 for command in commands)

    def _installed(self, folder: Path) -> Iterator[list[str | Path]]:
        wanted = folder / "requirements.lock"
        folder.mkdir(parents=True, exist_ok=True)
        wanted.write_text(locked((ROOT / "requirements.lock").read_text(), self.release))
        yield ["--requirement", wanted]
        yield ["--no-deps", "--no-build-isolation", "--editable", ".", "--editable", "faults"]


def locked(lock: str, release: str) -> str:
    """The lock file's packages with the newest PySpark of a release, unless its own is of that release."""
    return re.sub(rf"^pyspark==(?!{re.escape(release)}\.)\S+", f"pyspark=={release}.*", lock, flags=re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    """Runs the releases that are asked for, and prints what came of each; returns the exit code."""
    parser = argparse.ArgumentParser(description="The tests of Spark on several releases of it.")
    parser.add_argument("releases", nargs="*", default=RELEASES, metavar="RELEASE", help="of Spark; all by default")
    parser.add_argument("--core", action="store_true", help="the files alone that go each way once")
    parser.add_argument("--tests", nargs=argparse.REMAINDER, help="arguments of pytest, in the place of tests/spark")
    asked = parser.parse_args(arguments)
    tests = asked.tests or (CORE if asked.core else ("tests/spark",))
    results = {release: verdict(passes=SparkCell(release).passes(tests)) for release in asked.releases}
    for release, result in results.items():
        print(f"Spark {release}  {result}")
    return int("failed" in results.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
