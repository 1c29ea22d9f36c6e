"""The benchmark's own code, with a handful of rows: that it runs, counts and reports; no figure is judged here."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import following, latency, memory, report, revisions, workload
from benchmarks.exactly_once import ExactTarget
from benchmarks.goals import Figure, figures
from benchmarks.latency import Latency
from benchmarks.measured import Measured
from benchmarks.mongodb import MongoBench
from benchmarks.pipelines import METRICS, PASSWORD, USER, Cdckit, Pipeline
from benchmarks.resident import OTHERS, OWN, resident
from benchmarks.systems import DELTA, FILE, FILE_METRICS, KAFKA, MIRROR, MONGODB_SNAPSHOT, MONGODB_STREAM
from benchmarks.targets import DeltaTarget, FileTarget, KafkaTarget
from benchmarks.throughput import BULK, SNAPSHOT, Bench, CatchUp
from benchmarks.usage import CommandFailedError, Usage, run
from benchmarks.warmed import Warm
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer


@pytest.fixture
def server(mysql_server: MySQLServer) -> Iterator[MySQLServer]:
    mysql_server.create_user(USER, PASSWORD)
    yield mysql_server
    mysql_server.run_sql(f"SET sql_log_bin=0; DROP USER {USER}; DROP DATABASE bench;")


@pytest.mark.nightly
def test_every_system_does_the_same_work(server: MySQLServer, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    systems = [
        CatchUp(Cdckit(FILE_METRICS, FileTarget(), settings=METRICS)),
        CatchUp(Cdckit(KAFKA, KafkaTarget(kafka_broker))),
    ]
    bench = Bench(server, systems, tmp_path, starts=1)
    measured = [*bench.snapshot(30), *bench.bulk(20, 10), *bench.huge(600)]
    assert [one.events for one in measured] == [30, 30, 30, 30, 600, 600]
    assert {one.system for one in measured} == {FILE_METRICS, KAFKA}
    (many,) = Bench(server, systems[:1], tmp_path / "many", starts=1).many(1000)
    assert many.events == 1000
    assert all(one.usage.cpu > 0 and one.usage.rss > 0 for one in measured)


def test_the_size_of_what_was_delivered(server: MySQLServer, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    workload.create(server, "sized")
    kafka, delta = KafkaTarget(kafka_broker), DeltaTarget("delta")
    sizes = []
    for turn in range(2):
        workload.write(server, workload.inserts(turn * 100, 100, table="sized"))
        for target, name in ((kafka, "kafka"), (delta, "delta")):
            pipeline = Pipeline(tmp_path / name, server, "sized")
            run(Cdckit(name, target).command(pipeline, "--once"), pipeline.log)
        sizes.append(kafka.size(Pipeline(tmp_path / "kafka", server, "sized").place))
    assert 0 < sizes[0] < sizes[1]
    assert kafka.noted(pipeline.place) == 0
    [table] = (tmp_path / "delta" / "lake").iterdir()
    files = [file for file in table.rglob("*") if file.is_file() and file.suffix != ".crc"]
    data = [file.stat().st_size for file in files if file.suffix == ".parquet"]
    notes = [file.stat().st_size for file in files if "_delta_log" in file.parts]
    assert (delta.size(pipeline.place), delta.noted(pipeline.place)) == (sum(data), sum(notes))
    assert len(data) == 2


@pytest.mark.nightly
def test_a_following_pipeline(server: MySQLServer, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    kafka = Cdckit(KAFKA, KafkaTarget(kafka_broker))
    measured = following.measure(server, kafka, tmp_path / "warm", 200, 100)
    assert measured.events == 300
    found = latency.measure(server, kafka, tmp_path / "latency", commits=20, rate=100, idle_seconds=0.1)
    assert 0 < found.p50 <= found.p99


@pytest.mark.nightly
def test_what_readers_of_committed_records_see(server: MySQLServer, kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    exactly = Cdckit("exactly-once", ExactTarget(kafka_broker))
    found = latency.measure(server, exactly, tmp_path, commits=20, rate=50, idle_seconds=0.1)
    assert 0 < found.p50 <= found.p99
    assert found.busy_share > 0


SMAPS = """\
55d0c0a00000-55d0c0c00000 rw-p 00000000 00:00 0                          [heap]
Rss:                2048 kB
Anonymous:          2048 kB
7f0000000000-7f0000100000 r-xp 00000000 fe:00 12   /venv/lib/python3.11/site-packages/pyarrow/lib.so
Rss:                1024 kB
Anonymous:           256 kB
7f0000200000-7f0000300000 r-xp 00000000 fe:00 13   /venv/lib/python3.11/site-packages/numpy.libs/a.so
Rss:                 512 kB
Anonymous:             0 kB
7f0000400000-7f0000500000 r--p 00000000 fe:00 14                         /usr/lib/libc.so.6
Rss:                 512 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
7f0000600000-7f0000700000 rw-p 00000000 00:00 0
Rss:                 512 kB
Anonymous:           512 kB
"""


def test_memory_by_what_holds_it() -> None:
    found = resident(SMAPS.splitlines())
    assert found.parts == {OWN: 2.75, "code of pyarrow": 0.75, "code of numpy": 0.5, OTHERS: 0.5}
    assert found.total == 4.5


@pytest.mark.nightly
def test_memory_at_full_speed(server: MySQLServer, tmp_path: Path) -> None:
    found = list(memory.measured(server, tmp_path, 0.0002, (DELTA, MIRROR)))
    assert [one.measured.events for one in found] == [100, 80, 100, 20]
    # A short process may have gone unseen since it loaded delta-rs, where this one did not come to look.
    assert any(one.largest.parts.get("code of deltalake", 0) > 0 for one in found)
    for one in found:
        assert one.own.parts[OWN] >= one.largest.parts[OWN] > 0
        assert one.measured.usage.rss >= one.largest.total
    memory.show(found)


def test_a_peak_is_not_that_of_the_process_that_started_it(tmp_path: Path) -> None:
    held = bytearray(300 << 20)
    assert run([sys.executable, "-c", "import time; time.sleep(0.5)"], tmp_path / "log").rss < len(held) >> 20


@pytest.mark.nightly
def test_lines_of_a_file_as_they_arrive(server: MySQLServer, tmp_path: Path) -> None:
    found = latency.measure(server, Cdckit(FILE, FileTarget()), tmp_path, commits=20, rate=100, idle_seconds=0.1)
    assert found.p50 <= found.p99


def test_mongodb(mongo: MongoReplicaSet, tmp_path: Path) -> None:
    measured = list(MongoBench(mongo, [CatchUp(Cdckit(FILE, FileTarget()))], tmp_path).run(40))
    with mongo.client() as client:
        client.drop_database("bench")
    assert [(one.scenario, one.events) for one in measured] == [(MONGODB_SNAPSHOT, 40), (MONGODB_STREAM, 50)]
    assert [figure.reach for figure in figures(measured, []) if "MongoDB" in figure.name] == [73 / 4, 91 / 4]


@pytest.mark.nightly
def test_two_revisions_do_the_same_work_in_turn(tmp_path: Path) -> None:
    with (
        Warm(sys.executable, tmp_path, counted=False) as before,
        Warm(sys.executable, tmp_path, counted=False) as after,
    ):
        found = list(revisions.measured([before, after], tmp_path / "runs", 0.002, rounds=1, starts=1))
    assert [one.system for one in found] == ["0-0", "1-0"] * 5
    assert {one.events for one in found} == {200, 40, 100, 125}


def test_commands_run_in_children_of_a_warm_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cdckit", "list"]
    with Warm(sys.executable, tmp_path, counted=False) as warm:
        warm.load(command, tmp_path / "loaded.log")
        used = warm.run(command, tmp_path / "run.log")
        assert used.cpu > 0
        assert used.rss > 0
        assert (tmp_path / "run.log").read_text() == (tmp_path / "loaded.log").read_text() != ""
        with pytest.raises(CommandFailedError, match="exited with 2"):
            warm.run([*command, "--nonsense"], tmp_path / "failed.log")


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs Valgrind")
@pytest.mark.nightly
def test_what_a_command_executes_is_counted_without_its_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cdckit", "list"]
    with Warm(sys.executable, tmp_path, counted=True) as warm:
        warm.load(command, tmp_path / "loaded.log")
        once, again = (warm.run(command, tmp_path / "run.log").cpu for _ in range(2))
    assert once > 0
    assert again == pytest.approx(once, rel=0.05)


def test_revisions_are_compared_by_the_least_and_the_median() -> None:
    taken = {"0": (3, 4, 8), "1": (4, 5, 6)}
    found = [
        Measured(BULK, f"{revision}-{turn}", 1_000_000, Usage(cpu, 1, 1), Usage(1, 1, 1))
        for revision, each in taken.items()
        for turn, cpu in enumerate(each)
    ]
    table = revisions.compared(found, "CPU µs")
    cells = [next(iter(column.cells)) for column in table.columns]
    assert cells == [BULK, "2.00", "3.00", "3.00", "4.00", "+50.0%", "+33.3%"]


def test_a_figure_meets_its_goal_its_reach_or_neither() -> None:
    assert [Figure("f", value, 10, 5, "µs").verdict for value in (4, 8, 12)] == ["goal", "reached", "missed"]
    assert Figure("f", 12, 10, None, "events/s", at_least=True).verdict == "reached"


def test_the_peers_figures_set_the_reach_where_it_was_measured() -> None:
    own = Measured(BULK, FILE, 1_000_000, Usage(9, 12, 60), Usage(1, 2, 50))
    peer = Measured(BULK, "Debezium 3.6.3", 1_000_000, Usage(41, 50, 400), Usage(1, 2, 300))
    assert figures([own], [])[0].reach == pytest.approx(52 / 5)
    assert figures([own, peer], [])[0].reach == pytest.approx(8)


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    measured = [Measured(SNAPSHOT, KAFKA, 1_000_000, Usage(9, 12, 60), Usage(1, 2, 50))]
    report.show(measured, [Latency(FILE, 200, 1.5, 30, 0.9, 0.001)])
    shown = capsys.readouterr().out
    for words in ("8.00", "100,000", "direct to Kafka: snapshot", "reached", "missed"):
        assert words in shown
