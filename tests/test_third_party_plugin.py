"""The example plugins as a stranger uses them: wheels in a fresh environment, driven by the installed command."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

_ROOT = Path(__file__).parent.parent
_EXAMPLES = [_ROOT / "examples" / name for name in ("cdckit-example-plugin", "cdckit-example-database")]


@dataclass(frozen=True)
class Project:
    """A user's folder with a pipeline, beside the environment with the installed command."""

    environment: Path
    folder: Path

    def write(self, *rows: dict[str, Any] | str) -> None:
        """Appends rows to the table `people`."""
        with (self.folder / "data" / "people.jsonl").open("a") as file:
            file.writelines(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)

    def command(self, *arguments: str) -> list[str]:
        return [str(self.environment / "bin" / "cdc"), *arguments]

    def cdc(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), cwd=self.folder, capture_output=True, text=True, check=False, env=_clean()
        )

    def people(self) -> dict[str, dict[str, Any]]:
        """What the sink holds: values by key."""
        with sqlite3.connect(f"file:{self.folder}/people.db?mode=ro", uri=True) as database:
            return {key: json.loads(value) for key, value in database.execute('SELECT * FROM "demo.people"')}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheels. What they depend on is borrowed from the tests' environment."""
    folder = tmp_path_factory.mktemp("installed")
    wheels = [_wheel(project, folder / "wheels") for project in (_ROOT, *_EXAMPLES)]
    home = folder / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    _run([sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", *wheels])
    [packages] = home.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")
    return home


@pytest.fixture
def project(environment: Path, tmp_path: Path) -> Project:
    """A pipeline from a folder to an SQLite file."""
    (tmp_path / "data").mkdir()
    pipeline = {
        "name": "people",
        "runner": "direct",
        "source": {"type": "folder", "topic.prefix": "demo", "path": "data"},
        "transforms": [
            {"type": "MaskFields", "fields": ["email"]},
            {"type": "ExtractNewRecordState", "delete.tombstone.handling.mode": "delete-to-tombstone"},
        ],
        "serializer": {"type": "json", "schemas.enable": False},
        "sink": {"type": "sqlite", "path": "people.db"},
    }
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    return Project(environment, tmp_path)


def test_the_environment_runs_the_wheels_and_not_the_checkout(environment: Path) -> None:
    code = "import cdckit, cdckit_example; print(cdckit.__file__); print(cdckit_example.__file__)"
    for place in _run([str(environment / "bin" / "python"), "-c", code]).splitlines():
        assert place.startswith(str(environment))


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
def test_a_plugin_passes_the_suites_that_cdckit_brings_for_plugins(
    environment: Path, tmp_path: Path, example: Path
) -> None:
    tests = shutil.copytree(example / "tests", tmp_path / "tests")
    python = str(environment / "bin" / "python")
    assert " passed" in _run([python, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", str(tests)])


def test_the_wheel_writes_new_plugins(project: Project) -> None:
    _ok(project.cdc("plugin", "new", "acme-sink", "--kind", "sink"))
    assert "class AcmeSink(Sink)" in (project.folder / "acme-sink" / "acme_sink" / "sink.py").read_text()


@pytest.mark.nightly
def test_new_plugins_of_all_kinds_are_built_checked_installed_and_run(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each from `cdc plugin new` to a wheel, which is checked, installed, and used by a pipeline with the others."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    project, wheels = Project(environment, tmp_path), []
    for kind in ("source", "sink", "transform", "predicate", "serializer"):
        name = f"fresh-{kind}"
        _ok(project.cdc("plugin", "new", name, "--kind", kind))
        wheels.append(_wheel(tmp_path / name, tmp_path / "wheels"))
        checked = project.cdc("plugin", "check", wheels[-1], "--tests", f"{name}/tests")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert re.findall(r" (contract|kill|speed) +(\w+) ", checked.stdout) == [
            ("contract", "ok"), ("kill", "ok"), ("speed", "ok"),
        ]  # fmt: skip
    python = str(environment / "bin" / "python")
    _run([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", *wheels])
    (tmp_path / "lines.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    pipeline = {
        "name": "fresh",
        "runner": "direct",
        "source": {"type": "fresh-source", "topic": "lines", "path": "lines.jsonl"},
        "transforms": [{"type": "FreshTransform", "column.name": "city", "predicate": "theirs"}],
        "predicates": {"theirs": {"type": "FreshPredicate", "column.name": "city", "column.value": "Graz"}},
        "serializer": {"type": "fresh-serializer"},
        "sink": {"type": "fresh-sink", "path": "messages.db"},
    }
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    _ok(project.cdc("run", "pipeline.yaml", "--once"))
    with closing(sqlite3.connect(tmp_path / "messages.db")) as database:
        found = database.execute("SELECT value FROM messages ORDER BY number").fetchall()
    assert [json.loads(value) for (value,) in found] == [{"n": 1}, {"n": 2}]


def test_the_plugin_is_listed_with_the_distribution_it_comes_from(project: Project) -> None:
    listed = project.cdc("plugins").stdout
    for name in ("folder", "sqlite", "MaskFields", "json-files"):
        [line] = [line for line in listed.splitlines() if f" {name} " in line]
        assert "cdckit-example-plugin 0.1.0" in line


def test_the_plugins_options_are_described(project: Project) -> None:
    described = project.cdc("describe", "folder").stdout
    assert "poll.interval.ms" in described
    assert "How often to look for new lines" in described


def test_a_pipeline_runs_and_goes_on_where_it_stopped(project: Project) -> None:
    project.write({"id": 1, "name": "Ann", "email": "ann@example.org"}, {"id": 2, "name": "Bob", "email": None})
    _ok(project.cdc("run", "pipeline.yaml", "--once"))
    ann, bob = '{"id":1}', '{"id":2}'
    assert project.people() == {
        ann: {"id": 1, "name": "Ann", "email": "***"},
        bob: {"id": 2, "name": "Bob", "email": None},
    }
    project.write({"id": 2, "_deleted": True}, {"id": 1, "name": "Anna", "email": "a", "age": 7})
    _ok(project.cdc("run", "pipeline.yaml", "--once"))
    assert project.people() == {ann: {"id": 1, "name": "Anna", "email": "***", "age": 7}}
    shown = json.loads(project.cdc("offsets", "show", "pipeline.yaml").stdout)
    assert shown["people.jsonl"] == (project.folder / "data" / "people.jsonl").stat().st_size


@pytest.mark.spark
def test_the_same_pipeline_runs_on_spark(project: Project) -> None:
    project.write(*({"id": number % 50, "name": f"n{number}"} for number in range(500)))
    _ok(project.cdc("run", "pipeline.yaml", "--once", "--runner", "spark"))
    assert {value["name"] for value in project.people().values()} == {f"n{number}" for number in range(450, 500)}
    project.write({"id": 7, "name": "seven"})
    _ok(project.cdc("run", "pipeline.yaml", "--once", "--runner", "direct"))
    assert project.people()['{"id":7}'] == {"id": 7, "name": "seven"}
    assert len(project.people()) == 50


def test_a_running_pipeline_follows_and_ends_in_order(project: Project) -> None:
    project.write({"id": 1, "name": "Ann"})
    running = subprocess.Popen(
        project.command("run", "pipeline.yaml"), cwd=project.folder, stderr=subprocess.PIPE, text=True, env=_clean()
    )
    try:
        _until(project, '{"id":1}', running)
        project.write({"id": 2, "name": "Bob"})
        _until(project, '{"id":2}', running)
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
    finally:
        running.kill()
        running.communicate()


@pytest.fixture
def stored(project: Project) -> Project:
    """The same pipeline with its state in the third party's store, and each event in a file."""
    pipeline = yaml.safe_load((project.folder / "pipeline.yaml").read_text())
    pipeline["state"] = {"type": "json-files", "path": "states"}
    pipeline["sink"] = {"type": "file", "path": "out.jsonl"}
    (project.folder / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    return project


def _names(project: Project) -> list[str]:
    """The names in the events so far."""
    out = project.folder / "out.jsonl"
    return [json.loads(line)["value"]["name"] for line in out.read_text().splitlines()] if out.exists() else []


def _offset(project: Project) -> Any:
    shown = project.cdc("offsets", "show", "pipeline.yaml")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def _until_saved(project: Project, running: subprocess.Popen[str], size: int | None = None) -> None:
    """Waits until the store has the offset behind all lines, or behind the first `size` bytes, or later."""
    state = project.folder / "states" / "people.json"
    while True:
        assert running.poll() is None, running.stderr.read() if running.stderr else ""
        offset = json.loads(state.read_text())["offset"] if state.exists() else None
        if offset and offset["people.jsonl"] >= (_size(project) if size is None else size):
            return
        time.sleep(0.1)


def _size(project: Project) -> int:
    return (project.folder / "data" / "people.jsonl").stat().st_size


def test_a_killed_pipeline_goes_on_without_its_folder_from_what_a_third_partys_store_keeps(
    stored: Project, nightly: bool
) -> None:
    command = stored.command("run", "pipeline.yaml")
    for turn in range(3 if nightly else 2):
        stored.write({"id": turn, "name": f"n{turn}"})
        running = subprocess.Popen(command, cwd=stored.folder, stderr=subprocess.PIPE, text=True, env=_clean())
        try:
            _until_saved(stored, running)
            assert _offset(stored) == {"people.jsonl": _size(stored)}
            refused = stored.cdc("offsets", "reset", "pipeline.yaml")
            assert refused.returncode == 7
            assert "the pipeline is running" in refused.stderr
        finally:
            running.kill()
            running.communicate()
        shutil.rmtree(stored.folder / "state")
        assert _names(stored) == [f"n{number}" for number in range(turn + 1)]
    assert json.loads(stored.cdc("status", "pipeline.yaml", "--json").stdout)["offset"] == _offset(stored)
    _ok(stored.cdc("offsets", "reset", "pipeline.yaml"))
    assert _offset(stored) is None


def test_another_pipelines_state_is_refused_in_a_third_partys_store_too(stored: Project) -> None:
    stored.write({"id": 1, "name": "Ann"})
    _ok(stored.cdc("run", "pipeline.yaml", "--once"))
    done = stored.cdc("run", "pipeline.yaml", "--once", "--set", "sink.path=other.jsonl")
    assert done.returncode == 2
    assert "the offset in the state in the store 'json-files' was saved for the former" in " ".join(done.stderr.split())


@pytest.mark.spark
@pytest.mark.nightly
def test_spark_goes_on_without_its_checkpoint_from_what_a_third_partys_store_keeps(stored: Project) -> None:
    command = stored.command("run", "pipeline.yaml", "--runner", "spark", "--set", "idle.wait.ms=100")
    stored.write({"id": 1, "name": "Ann"})
    running = subprocess.Popen(
        command, cwd=stored.folder, stderr=subprocess.PIPE, text=True, env=_clean(), start_new_session=True
    )
    try:
        while not _names(stored):
            assert running.poll() is None, running.stderr.read() if running.stderr else ""
            time.sleep(0.1)
        at = _size(stored)
        stored.write({"id": 2, "name": "n2"})  # the next batch, with which the planner hears that the first is done
        _until_saved(stored, running, at)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
    shutil.rmtree(stored.folder / "state")
    _ok(stored.cdc("run", "pipeline.yaml", "--once", "--runner", "spark"))
    assert set(_names(stored)) == {"Ann", "n2"}
    assert _names(stored).count("Ann") == 1, "the planner has saved that it was committed"
    stored.write({"id": 3, "name": "n3"})
    _ok(stored.cdc("run", "pipeline.yaml", "--once", "--runner", "direct"))
    assert _names(stored)[-1] == "n3"


@pytest.mark.parametrize(
    ("row", "arguments", "code", "said"),
    [
        ("not json", (), 5, "people.jsonl, line before byte 9: no JSON"),
        ({"name": "Ann"}, (), 5, "should be an object with the key 'id'"),
        ({"id": 1}, ("--set", "source.path=nowhere"), 3, "/nowhere is no folder"),
        ({"id": 1}, ("--set", "sink.path=no/such/people.db"), 4, "/no/such/people.db: unable to open"),
        ({"id": 1}, ("--set", "source.key.feild=x"), 2, "did you mean 'key.field'?"),
    ],
)
def test_faults_end_with_their_exit_code_and_a_reason(
    project: Project, row: dict[str, Any] | str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    project.write(row)
    done = project.cdc("run", "pipeline.yaml", "--once", *arguments)
    assert done.returncode == code
    assert said in " ".join(done.stderr.split())


def test_a_file_that_was_cut_is_refused(project: Project) -> None:
    project.write({"id": 1}, {"id": 2})
    _ok(project.cdc("run", "pipeline.yaml", "--once"))
    (project.folder / "data" / "people.jsonl").write_text('{"id": 3}\n')
    done = project.cdc("run", "pipeline.yaml", "--once")
    assert done.returncode == 3
    assert "lines may only be appended" in " ".join(done.stderr.split())


@pytest.fixture
def shop(environment: Path, tmp_path: Path) -> Project:
    """A pipeline from the tables of an SQLite file to a file."""
    pipeline = {
        "name": "shop",
        "runner": "direct",
        "source": {
            "type": "sqlite-log",
            "topic.prefix": "shop",
            "database.path": "shop.db",
            "table.include.list": r"main\.orders",
        },
        "serializer": {"type": "json", "schemas.enable": False},
        "sink": {"type": "file", "path": "out.jsonl"},
    }
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(pipeline))
    made = Project(environment, tmp_path)
    _sql(made, "CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, price REAL, mark BLOB)")
    _sql(made, "CREATE TABLE signals (id TEXT PRIMARY KEY, type TEXT, data TEXT)")
    for number in range(10):
        _sql(made, "INSERT INTO orders VALUES (?, 'Graz', ?, x'00ff')", number, number / 2)
    return made


def _sql(project: Project, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(project.folder / "shop.db", isolation_level=None)) as database:
        database.execute(statement, values)


def _told(project: Project) -> list[tuple[str, int, str | None]]:
    """The changes in the file: operation, key and city; of a line that is being written nothing."""
    whole, _, _ = (project.folder / "out.jsonl").read_text().rpartition("\n")
    changes = [json.loads(line) for line in whole.splitlines()]
    return [(c["value"]["op"], c["key"]["id"], (c["value"]["after"] or {}).get("city")) for c in changes if c["value"]]


def _change_orders(project: Project) -> None:
    _sql(project, "UPDATE orders SET city = 'Wien' WHERE id = 3")
    _sql(project, "DELETE FROM orders WHERE id = 4")
    _sql(project, "INSERT INTO orders VALUES (77, 'Linz', NULL, NULL)")


CHANGED = [("u", 3, "Wien"), ("d", 4, None), ("c", 77, "Linz")]


@pytest.mark.parametrize("runner", ["direct", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.nightly])])
def test_a_database_source_has_a_snapshot_and_a_log_on_either_runner(shop: Project, runner: str) -> None:
    with subprocess.Popen(
        shop.command("run", "pipeline.yaml", "--runner", runner, "--set", "idle.wait.ms=100"),
        cwd=shop.folder,
        stderr=subprocess.PIPE,
        text=True,
        env=_clean(),
    ) as running:
        try:
            _until_told(shop, 10, running)
            assert _told(shop) == [("r", number, "Graz") for number in range(10)]
            _change_orders(shop)
            _until_told(shop, 10 + len(CHANGED), running)
        finally:
            running.send_signal(signal.SIGTERM)
            _, said = running.communicate()
    assert running.returncode == 0, said
    assert _told(shop)[10:] == CHANGED
    _ok(shop.cdc("resnapshot", "pipeline.yaml", "--table", "main.orders"))
    _ok(shop.cdc("run", "pipeline.yaml", "--once", "--runner", "direct"))
    again = {key: city for op, key, city in _told(shop)[13:] if op == "r"}
    assert again == {**dict.fromkeys([0, 1, 2, 5, 6, 7, 8, 9], "Graz"), 3: "Wien", 77: "Linz"}


def test_a_database_source_does_what_signals_ask_for(shop: Project) -> None:
    _ok(shop.cdc("run", "pipeline.yaml", "--once"))
    signalled = (
        "--set",
        "source.signal.data.collection=main.signals",
        "--set",
        "source.incremental.snapshot.chunk.size=4",
    )
    command = shop.command("run", "pipeline.yaml", *signalled)
    unchanged = {0, 1, 2, 5, 6, 7, 8, 9}
    with subprocess.Popen(command, cwd=shop.folder, env=_clean()) as running:
        try:
            while not _triggers(shop, "signals"):  # what is inserted before them is in no log
                time.sleep(0.1)
            _sql(
                shop, "INSERT INTO signals VALUES ('s', 'execute-snapshot', ?)", '{"data-collections": ["main.orders"]}'
            )
            _change_orders(shop)
            while not unchanged <= {key for op, key, _ in _told(shop)[10:] if op == "r"}:
                time.sleep(0.1)
        finally:
            running.send_signal(signal.SIGTERM)
            assert running.wait(30) == 0
    newest = {key: city for _, key, city in _told(shop)}
    assert newest == {**dict.fromkeys([0, 1, 2, 5, 6, 7, 8, 9], "Graz"), 3: "Wien", 4: None, 77: "Linz"}
    assert [told for told in _told(shop)[10:] if told[0] != "r"] == CHANGED


def _triggers(project: Project, table: str) -> int:
    with closing(sqlite3.connect(project.folder / "shop.db")) as database:
        asked = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
        [(found,)] = database.execute(asked, (table,)).fetchall()
    return int(found)


def _wheel(project: Path, folder: Path) -> str:
    before = set(folder.glob("*.whl"))
    _run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(project)])
    [made] = set(folder.glob("*.whl")) - before
    return str(made)


def _run(command: Iterable[str]) -> str:
    done = subprocess.run(list(command), capture_output=True, text=True, check=False, env=_clean())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _ok(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr


def _clean() -> dict[str, str]:
    """The environment's variables without what would lead Python to the checkout; how Java starts does not."""
    kept = ("PYSPARK_SUBMIT_ARGS",)
    return {
        name: value for name, value in os.environ.items() if name in kept or not name.startswith(("PYTHON", "PYSPARK"))
    }


def _until_told(project: Project, count: int, running: subprocess.Popen[str]) -> None:
    """Waits until so many changes are in the file; the test's own time limit ends it."""
    while not (project.folder / "out.jsonl").exists() or len(_told(project)) < count:
        assert running.poll() is None, running.stderr.read() if running.stderr else ""
        time.sleep(0.1)


def _until(project: Project, key: str, running: subprocess.Popen[str]) -> None:
    """Waits for a key in the sink; the test's own time limit ends it."""
    while True:
        assert running.poll() is None, running.stderr.read() if running.stderr else ""
        try:
            if key in project.people():
                return
        except sqlite3.OperationalError:
            pass  # the file or its table is not there yet
        time.sleep(0.05)
