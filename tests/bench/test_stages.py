"""What stages and processes take and move on Spark: that it is counted, and judged by what it should be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.event_log import read_event_log
from benchmarks.following import WARM
from benchmarks.goals import figures
from benchmarks.measured import Measured
from benchmarks.process_times import ProcessTimes
from benchmarks.processors import confined
from benchmarks.stages import Spent, judged
from benchmarks.systems import DELTA, KAFKA, SPARK_DELTA, SPARK_DELTA_FILES, SPARK_KAFKA
from benchmarks.usage import Usage

ROOT = Path(__file__).parents[2]
COPY = """
import sys
from pathlib import Path
sys.stdin.readline()
Path(sys.argv[2]).write_bytes(Path(sys.argv[1]).read_bytes())
print("copied", flush=True)
sys.stdin.readline()
"""


def test_what_a_process_reads_and_writes_is_counted(tmp_path: Path) -> None:
    size = 5 << 20
    (tmp_path / "file").write_bytes(bytes(size))
    command = [sys.executable, "-c", COPY, str(tmp_path / "file"), str(tmp_path / "copy")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        times = ProcessTimes(child.pid)
        times.look()
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"copied\n"
        times.look()
        used = times.between(0, time.time())["driver"]
        child.stdin.write(b"\n")
    assert size <= used.read < 3 * size
    assert size <= used.written < 1.1 * size


def stage_completed(number: int, rdds: list[str]) -> dict[str, Any]:
    """As Spark's event log has it."""
    info = {"Stage ID": number, "RDD Info": [{"Name": name} for name in rdds]}
    return {"Event": "SparkListenerStageCompleted", "Stage Info": {**info, "Submission Time": 1, "Completion Time": 9}}


def task_ended(stage: int, end: int, returned: dict[int, int]) -> dict[str, Any]:
    """One that moved so many bytes to Java by each of its plan's nodes."""
    nodes = [
        {"ID": node, "Name": f"data {what} Python workers", "Update": str(size)}
        for node, size in reversed(returned.items())
        for what in ("sent to", "returned from")
    ]
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Task Info": {"Finish Time": end, "Accumulables": nodes},
        "Task Metrics": {"Shuffle Write Metrics": {"Shuffle Bytes Written": 0}},
    }


def test_of_what_a_data_source_has_moved_so_far_each_task_counts_its_own(tmp_path: Path) -> None:
    events = [
        task_ended(1, 1000, {7: 100, 9: 3}),
        task_ended(1, 2000, {7: 150, 9: 3}),
        stage_completed(1, ["a", "b"]),
        task_ended(2, 3000, {12: 5}),
        stage_completed(2, ["ShuffledRowRDD"]),
        task_ended(3, 4000, {17: 350}),
        stage_completed(3, ["a"]),
    ]
    (tmp_path / "log").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    tasks = read_event_log(tmp_path).tasks
    assert [task.returned for task in tasks] == [(100, 3), (50, 3), (5,), (200,)]
    assert [task.sent for task in tasks] == [(100, 3), (50, 3), (5,), (200,)]


def test_what_is_confined_has_so_many_processors_and_no_more() -> None:
    asked = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    before = os.sched_getaffinity(0)
    with confined(1):
        assert int(subprocess.run(asked, check=True, stdout=subprocess.PIPE).stdout) == 1
        with pytest.raises(ValueError, match="there are 1 processors"), confined(2):
            pass
    assert os.sched_getaffinity(0) == before
    with confined(None):
        assert os.sched_getaffinity(0) == before


def warm(system: str, cpu: float) -> Measured:
    """A load of a million events."""
    return Measured(WARM, system, 1_000_000, Usage(cpu, 10, 100), Usage(0, 0, 0))


def test_spark_is_judged_by_the_direct_runner_with_the_same_target() -> None:
    taken = {KAFKA: 10, SPARK_KAFKA: 15, DELTA: 6, SPARK_DELTA: 18, SPARK_DELTA_FILES: 9.1}
    all_found = figures([warm(system, cpu) for system, cpu in taken.items()], [])
    found = [figure for figure in all_found if figure.unit == "times"]
    assert [(round(figure.value, 2), figure.reach, figure.verdict) for figure in found] == [
        (1.5, 1.5, "reached"),
        (3.0, 1.5, "missed"),
        (1.52, 1.5, "missed"),
    ]
    assert all(word in found[0].name for word in (SPARK_KAFKA, KAFKA, WARM))


def test_a_second_processor_is_judged_by_the_first_one() -> None:
    one, two = (Spent(1000, {"read": seconds}, {"read": {"JVM": 0.014}}, 1, {}) for seconds in (10.0, 6.3))
    found = [
        (round(figure.value, 2), figure.verdict) for figure in judged("kafka", 10, {"local[1]": one, "local[2]": two})
    ]
    assert found == [
        (1.4, "reached"),
        (1.4, "reached"),
        (1.59, "missed"),
    ]
    assert len(list(judged("kafka", 10, {"local[2]": two}))) == 1


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_bytes_a_stage() -> None:
    command = [sys.executable, "-m", "benchmarks.stages", "--rows", "80000", "--sink", "delta", "--workers", "1"]
    shown = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    [log] = (float(number) for number in re.findall(r"events of (\d+) bytes of the log", shown))
    rows = [line.strip("| ").split("|") for line in shown.splitlines() if line.startswith("|")]
    moved = {cells[0].split()[0].strip(":,"): tuple(map(float, cells[-2:])) for cells in rows[2:6]}
    assert log <= moved["plan"][0] < 1.5 * log, "the planner reads the log once"
    assert log <= moved["read"][0] < 2 * log, "workers read up to a MiB behind their ranges, which are short here"
    assert 0 < moved["read"][1] < 3 * log
    assert 0 < moved["shuffle"][1] < log
    assert moved["commit"][1] > 0
