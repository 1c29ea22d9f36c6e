"""`cdc plugin new` and `cdc plugin check` as an author uses them; one environment for the plugins of all kinds."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from authoring.broken_plugins import BROKEN, Changes
from cdckit.api.plugins import Kind
from cdckit.cli.authoring.check import CheckedEnvironment
from cdckit.cli.authoring.distribution import KINDS
from cdckit.cli.main import call

NAMES = {kind: f"acme-{kind}" for kind in KINDS}


def _run(command: Sequence[str | Path], folder: Path) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "PYTEST_"))}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new distribution of each kind."""
    folder = tmp_path_factory.mktemp("new")
    for kind, name in NAMES.items():
        assert call(["plugin", "new", name, "--kind", kind, "--folder", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def installed(written: Path, tmp_path_factory: pytest.TempPathFactory) -> CheckedEnvironment:
    """An environment of their own with all of them, built as they are."""
    environment = CheckedEnvironment(tmp_path_factory.mktemp("installed") / "environment")
    environment.make()
    pip = [sys.executable, "-m", "pip", "--python", str(environment.python), "install", "--quiet", "--no-deps"]
    _run([*pip, "--no-index", "--no-build-isolation", *(str(written / name) for name in NAMES.values())], written)
    return environment


def test_they_pass_their_tests_as_they_are(written: Path, installed: CheckedEnvironment, tmp_path: Path) -> None:
    for kind, name in NAMES.items():
        shutil.copy(written / name / "tests" / "test_contract.py", tmp_path / f"test_{kind}.py")
    told = _run([installed.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path], tmp_path)
    assert "passed" in told


def test_they_are_clean(written: Path) -> None:
    _run([sys.executable, "-m", "ruff", "check", "--no-cache", written], written)
    _run([sys.executable, "-m", "ruff", "format", "--no-cache", "--check", written], written)


def test_long_and_short_names_are_clean(tmp_path: Path) -> None:
    for kind in KINDS:
        for name in (f"x{kind[:2]}", f"acme-very-very-very-very-long-{kind}"):
            assert call(["plugin", "new", name, "--kind", kind, "--folder", str(tmp_path)]) == 0
    _run([sys.executable, "-m", "ruff", "check", "--no-cache", tmp_path], tmp_path)
    _run([sys.executable, "-m", "ruff", "format", "--no-cache", "--check", tmp_path], tmp_path)


def test_they_are_typed(written: Path, tmp_path: Path) -> None:
    """All in one folder, so that one run of mypy sees them."""
    for kind, name in NAMES.items():
        package = name.replace("-", "_")
        shutil.copytree(written / name / package, tmp_path / package)
        shutil.copy(written / name / "tests" / "test_contract.py", tmp_path / f"test_{kind}.py")
        assert "strict = true" in (written / name / "pyproject.toml").read_text()
    _run([sys.executable, "-m", "mypy", "--strict", "."], tmp_path)


def test_a_pipeline_runs_with_all_of_them(installed: CheckedEnvironment, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    (tmp_path / "pipeline.yaml").write_text(
        "name: new\nrunner: direct\n"
        "source: {type: acme-source, topic: lines, path: lines.jsonl}\n"
        "transforms: [{type: AcmeTransform, column.name: city, predicate: theirs}]\n"
        "predicates: {theirs: {type: AcmePredicate, column.name: city, column.value: Graz}}\n"
        "serializer: {type: acme-serializer}\n"
        "sink: {type: acme-sink, path: messages.db}\n"
    )
    _run([installed.python, "-m", "cdckit", "run", "pipeline.yaml", "--once"], tmp_path)
    with closing(sqlite3.connect(tmp_path / "messages.db")) as database:
        found = database.execute("SELECT topic, value FROM messages ORDER BY number").fetchall()
    assert [(topic, json.loads(value)) for topic, value in found] == [("lines", {"n": 1}), ("lines", {"n": 2})]


def _checked(plugin: Path, capfd: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, list[str]]]:
    """The exit code, and of each check its verdict and why."""
    capfd.readouterr()
    code = call(["plugin", "check", str(plugin), *options])
    rows = [re.split(r"\s{2,}", line.strip()) for line in capfd.readouterr().out.splitlines()]
    return code, {row[1]: row[2:] for row in rows if len(row) == 4}


@pytest.fixture
def _built_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip builds with what is installed, and asks no registry."""
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "false")  # pip's way to say that there is none
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.mark.usefixtures("_built_here")
def test_a_new_plugin_passes_its_check(written: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, found = _checked(written / "acme-sink", capfd)
    assert code == 0, found
    assert {check: why[0] for check, why in found.items() if check != "check"} == {
        "installed": "ok", "plugin API": "ok", "contract": "ok", "kill": "ok", "speed": "ok",
    }  # fmt: skip
    assert found["speed"][1].endswith("messages a second")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("_built_here")
def test_a_new_plugin_of_each_kind_passes_its_check(
    written: Path, capfd: pytest.CaptureFixture[str], kind: Kind
) -> None:
    code, found = _checked(written / NAMES[kind], capfd)
    assert code == 0, found
    assert [found[check][0] for check in ("installed", "plugin API", "contract", "kill", "speed")] == ["ok"] * 5


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "check", "changes"), BROKEN, ids=[f"{kind}-{check}" for kind, check, _ in BROKEN])
@pytest.mark.usefixtures("_built_here")
def test_each_check_finds_its_fault_in_a_plugin_of_each_kind(
    written: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    kind: Kind,
    check: str,
    changes: Changes,
) -> None:
    project = shutil.copytree(written / NAMES[kind], tmp_path / NAMES[kind])
    module = project / NAMES[kind].replace("-", "_") / f"{kind}.py"
    text = module.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    module.write_text(text)
    code, found = _checked(project, capfd)
    assert code == 1
    assert found["installed"][0] == "ok", found
    assert found[check][0] == "fail", found


@pytest.mark.nightly
@pytest.mark.usefixtures("_built_here")
def test_a_plugin_that_never_ends_is_stopped_and_told(
    written: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project = shutil.copytree(written / "acme-source", tmp_path / "acme-source")
    source = project / "acme_source" / "source.py"
    source.write_text(source.read_text().replace("while not self._context.stopping():", "while True:"))
    code, found = _checked(project, capfd, "--timeout", "40")
    assert code == 1
    assert found["ended"][0] == "fail"
    assert "not over after 40 s, in test_contract.py::TestContract::test_an_open_end_gives" in found["ended"][1]
    assert "contract" not in found


@pytest.mark.usefixtures("_built_here")
def test_a_broken_wheel_does_not(written: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It commits when it is closed; its tests are given beside the wheel."""
    project = shutil.copytree(written / "acme-sink", tmp_path / "acme-sink")
    sink = project / "acme_sink" / "sink.py"
    sink.write_text(sink.read_text().replace("            self._database.commit()", "            pass"))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(project)]
    _run(pip, tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    code, found = _checked(wheel, capfd, "--tests", str(project / "tests"))
    assert code == 1
    assert found["kill"][0] == "fail"
    assert "test_what_was_flushed_survives_a_kill" in found["kill"][1]
    assert found["contract"][0] == "fail"


@pytest.mark.usefixtures("_built_here")
def test_what_cannot_be_installed_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\ndependencies = ["cdckit>=999"]\n')
    assert call(["plugin", "check", str(tmp_path)]) == 2
    said = capfd.readouterr().err
    assert f"error CDC2508: WHEEL|FOLDER: {tmp_path} cannot be installed:" in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Acme", "cannot be a plugin's name"),
        ("acme_sink", "cannot be a plugin's name"),
        ("a" * 41, "at the most 40"),
        ("json", "there is a module 'json' already: take another name, such as acme-json"),
        ("class", "there is a module 'class' already"),
        ("stdout", "'stdout' is the name of what is there already: take another one, such as acme-stdout"),
        ("taken", "taken is there already, and not empty"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    assert call(["plugin", "new", name, "--kind", "sink", "--folder", str(tmp_path)]) == 2
    assert said in capfd.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["taken", "file"]
