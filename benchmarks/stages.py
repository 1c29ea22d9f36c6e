"""Where a backlog's time and CPU go on Spark, stage by stage: `python -m benchmarks.stages [--rows 1200000]`.

Archived log files are read by the direct runner, and by Spark on one and on two processors, into Kafka and into Delta
changelogs. Of Spark's batches the first ones are left out: Java compiles there. What each process takes is looked at
ten times a second, and counted for what Spark's own event log says was going on. The tables are Markdown.

`local[1]` alone says how many tasks run at the same time: planner, Java and broker have the other processors beside
it. With `--pinned` all of a run has as many processors as Spark has tasks (the direct runner: one), so that the
events a second of `local[2]` by those of `local[1]` tell what a second processor adds.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from benchmarks.archive import Archive, ArchivePipeline, archived
from benchmarks.event_log import STAGES, EventLog, Stage, read_event_log
from benchmarks.goals import Figure, second_processor, spark_against
from benchmarks.pipelines import Cdckit, Options
from benchmarks.process_times import KINDS, Kind, ProcessTimes, sampled
from benchmarks.processors import confined
from benchmarks.report import machine, targets_table
from benchmarks.targets import DeltaTarget, KafkaTarget, StoreTarget, Target
from benchmarks.usage import CommandFailedError, run
from testkit.servers import process
from testkit.servers.kafka import KafkaBroker
from testkit.servers.object_store import ObjectStore

WARM_UPS = 3
"""So many batches are left out by default."""
BATCHES = 8
"""Into about so many the backlog is cut by default."""
BY_SPARK = "spark-no-files"
"""The sink `spark` where no worker writes files, as none does with a database."""
IN_STORE, IN_STORE_BY_SPARK = "spark-store", "spark-store-no-options"
"""The same sink in an object store: one that workers reach, and one that Spark alone does."""
SINKS = ("kafka", "spark", BY_SPARK, "delta", IN_STORE, IN_STORE_BY_SPARK)
"""On Spark: Kafka, and those that keep Delta tables, which are measured beside the direct runner's one."""
_WHAT = {
    "plan": "plan: look at the log, cut it",
    "read": "read, decode, encode (and write, where nothing is shuffled)",
    "write": "shuffle, write",
    "commit": "commit, notes, Spark's own between its stages",
}


class Cut(NamedTuple):
    """How a backlog is cut.

    Attributes:
        batches: into about how many.
        warm_ups: so many of these are left out, one at least.
    """

    batches: int
    warm_ups: int


class Moved(NamedTuple):
    """Bytes that a stage took and gave.

    Attributes:
        taken: by the planner and by the workers from the log's files, or from the planner's copies of them; by what
            writes from a shuffle.
        given: by the planner to its copies; by the workers to Java; to Kafka or to the table's files; to the table's
            log and the pipeline's state.
    """

    taken: float
    given: float


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run on Spark took, once warm.

    Attributes:
        events: how many it delivered then.
        seconds: on the clock, by stages.
        cpu: seconds of it, by stages and kinds of processes.
        log_bytes: of the log that was read.
        moved: by stages, for these events.
    """

    events: float
    seconds: Mapping[Stage, float]
    cpu: Mapping[Stage, Mapping[Kind, float]]
    log_bytes: int
    moved: Mapping[Stage, Moved]

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU an event."""
        return sum(sum(kinds.values()) for kinds in self.cpu.values()) / self.events * 1e6

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / sum(self.seconds.values())


@click.command()
@click.option("--rows", default=1_200_000, show_default=True, help="How many rows the backlog inserts.")
@click.option("--sink", "sinks", multiple=True, type=click.Choice(SINKS), default=SINKS, help="All by default.")
@click.option("--workers", multiple=True, type=int, default=(1, 2), show_default=True, help="Spark's processors.")
@click.option("--batches", default=BATCHES, show_default=True, help="Into about how many the backlog is cut.")
@click.option(
    "--warm-ups", type=click.IntRange(min=1), default=WARM_UPS, show_default=True, help="How many of them are left out."
)
@click.option("--pinned", is_flag=True, help="All of a run has as many processors as Spark.")
def main(
    rows: int, sinks: tuple[str, ...], workers: tuple[int, ...], batches: int, warm_ups: int, pinned: bool
) -> None:
    """Measures."""
    console = Console(width=150)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="cdckit-stages-") as name:
        folder = Path(name)
        archive = archived(rows, folder / "archive")
        console.print(f"{archive.rows:,} rows, {archive.size / 1e6:.0f} MB of log ({machine()})")
        for sink in sinks:
            alone, found = _measured(sink, workers, archive, folder, Cut(batches, warm_ups), pinned=pinned)
            title = f"{sink}, pinned" if pinned else sink
            for runner, spent in found.items():
                console.print(_stages(f"{title}, {runner}", spent))
            console.print(_beside(title, alone, found))
            figures += judged(title, alone, found)
        console.print(targets_table(figures))


def _measured(
    sink: str, workers: Sequence[int], archive: Archive, folder: Path, cut: Cut, *, pinned: bool
) -> tuple[float, Mapping[str, Spent]]:
    """What the direct runner takes, and what Spark does on so many processors each."""
    with confined(1 if pinned else None), _target(sink, direct=True) as target:
        alone = _direct(target, archive, folder / f"{sink}-direct")
    found = {}
    for n in workers:
        with confined(n if pinned else None), _target(sink) as target:
            found[f"local[{n}]"] = _on_spark(target, archive, folder / f"{sink}-{n}", n, cut)
    return alone, found


@contextmanager
def _target(sink: str, *, direct: bool = False) -> Iterator[Target]:
    """Of the direct runner, or of Spark."""
    if sink in (IN_STORE, IN_STORE_BY_SPARK):
        with ObjectStore() as store:
            yield StoreTarget(store, "delta" if direct else "spark", alone=sink == IN_STORE_BY_SPARK and not direct)
        return
    if sink != "kafka":
        if direct:
            yield DeltaTarget("delta")
        else:
            yield DeltaTarget("spark", options={"task.file.bytes": "0"}) if sink == BY_SPARK else DeltaTarget(sink)
        return
    with KafkaBroker(heap="512m", jvm=()) as broker, closing(KafkaTarget(broker)) as target:
        yield target


def _direct(target: Target, archive: Archive, folder: Path) -> float:
    """Microseconds of CPU an event, a start that finds nothing new taken off."""
    pipeline = ArchivePipeline(folder, archive)
    command = Cdckit("direct", target, options=()).command(pipeline, "--once")
    whole, again = run(command, pipeline.log).cpu, run(command, pipeline.log).cpu
    _require_all(target, pipeline)
    return (whole - again) / archive.rows * 1e6


def _on_spark(target: Target, archive: Archive, folder: Path, workers: int, cut: Cut) -> Spent:
    pipeline = ArchivePipeline(folder, archive)
    events = folder / "events"
    events.mkdir(parents=True)
    settings: Options = (
        ("spark.master", f"local[{workers}]"),
        ("batch.max.bytes", str(archive.size // cut.batches)),
        ("spark.spark.eventLog.enabled", "true"),
        ("spark.spark.eventLog.dir", events.as_uri()),
        ("spark.spark.eventLog.rolling.enabled", "false"),
        ("spark.spark.eventLog.compress", "false"),
        *((f"spark.{name}", text) for name, text in target.settings.items()),
    )
    command = Cdckit("spark", target, "spark", options=(), settings=settings).command(pipeline, "--once")
    child = process.spawn(command, pipeline.log)
    with sampled(child.pid) as times:
        if child.wait() != 0:
            raise CommandFailedError(f"it ended with {child.returncode}:\n{process.tail(pipeline.log)}")
    log = read_event_log(events)
    seconds: dict[Stage, float] = defaultdict(float)
    cpu: dict[Stage, dict[Kind, float]] = {stage: defaultdict(float) for stage in STAGES}
    for window in log.windows(log.batches[cut.warm_ups :]):
        seconds[window.stage] += window.end - window.start
        for kind, used in times.between(window.start, window.end).items():
            cpu[window.stage][kind] += used.cpu
    left = archive.behind(*_place(log.batches[cut.warm_ups - 1].end_offset))
    moved = _moved(log, times, _kept(target, pipeline, left / archive.size), cut.warm_ups)
    _require_all(target, pipeline)
    return Spent(archive.rows * left / archive.size, seconds, cpu, left, moved)


def _kept(target: Target, pipeline: ArchivePipeline, share: float) -> tuple[float, float]:
    """Bytes of what was delivered, and of what is noted of it: a share of what the whole run has left."""
    state = sum(file.stat().st_size for file in (pipeline.folder / "state").rglob("*") if file.is_file())
    noted = target.noted(pipeline.place) + state
    return target.size(pipeline.place) * share, noted * share


def _moved(log: EventLog, times: ProcessTimes, kept: tuple[float, float], warm_ups: int) -> Mapping[Stage, Moved]:
    """What each stage moved of the batches that count."""
    since, until = log.batches[warm_ups].start, log.batches[-1].end
    before = log.batches[warm_ups - 1]
    # It begins with a batch at once when the one before has ended, and is at rest while that is read.
    planner = times.between((before.planned + before.end) / 2, until)["planner"]
    reading, writing = (list(log.tasks_of(stage, since)) for stage in ("read", "write"))
    sent = sum(sum(task.sent) for task in (*reading, *writing))
    delivered, noted = kept
    return {
        "plan": Moved(planner.read, planner.written),
        "read": Moved(times.between(since, until)["workers"].read - sent, sum(sum(task.returned) for task in reading)),
        "write": Moved(sum(task.shuffled for task in (*reading, *writing)), delivered),
        "commit": Moved(0, noted),
    }


def _place(offset: str) -> tuple[str, int]:
    found: dict[str, Any] = orjson.loads(offset)
    return found["file"], int(found["pos"])


def _require_all(target: Target, pipeline: ArchivePipeline) -> None:
    found = target.count(pipeline.place)
    if found != pipeline.archive.rows:
        raise AssertionError(f"{found} events were delivered of {pipeline.archive.rows}")
    target.clear(pipeline.place)


def _stages(title: str, spent: Spent) -> Table:
    table = Table(title=f"{title}: CPU µs and bytes an event", box=MARKDOWN)
    for column in ("stage", "seconds", *KINDS, "all", "bytes in", "bytes out"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for stage in STAGES:
        each = [spent.cpu[stage][kind] / spent.events * 1e6 for kind in KINDS]
        moved = (f"{size / spent.events:,.1f}" for size in spent.moved[stage])
        cells = (f"{spent.seconds[stage]:.1f}", *(f"{one:.2f}" for one in (*each, sum(each))), *moved)
        table.add_row(_WHAT[stage], *cells)
    table.caption = f"{spent.events:,.0f} events of {spent.log_bytes / spent.events:.0f} bytes of the log"
    return table


def _beside(sink: str, alone: float, found: Mapping[str, Spent]) -> Table:
    table = Table(title=f"{sink}: runners beside each other", box=MARKDOWN)
    for column in ("runner", "CPU µs an event", "times", "events/s"):
        table.add_column(column, justify="left" if column == "runner" else "right")
    table.add_row("direct", f"{alone:.2f}", "", "")
    for name, spent in found.items():
        table.add_row(name, f"{spent.cpu_us:.2f}", f"{spent.cpu_us / alone:.2f}", f"{spent.rate:,.0f}")
    return table


def judged(sink: str, alone: float, found: Mapping[str, Spent]) -> Iterator[Figure]:
    """What runs on Spark should be, beside the direct runner's CPU an event and beside each other."""
    for name, spent in found.items():
        yield spark_against(f"archived log to {sink}, {name}", spent.cpu_us / alone)
    if "local[1]" in found and "local[2]" in found:
        yield second_processor(f"archived log to {sink}", found["local[2]"].rate / found["local[1]"].rate)


if __name__ == "__main__":
    main()
