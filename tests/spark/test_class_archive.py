"""The archive of the classes that Spark's JVM loads: when it is used, and what happens where it cannot be."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cdckit.engine.spark.class_archive import (
    END_SECONDS,
    archive_folder,
    archive_options,
    find_archive,
    fingerprint,
    keep_archive,
)
from cdckit.engine.spark.java import java_program
from cdckit.engine.spark.session import JAVA_OPTIONS, LATE_COMPILER, session_settings

FITS = "-XX:SharedArchiveFile="
LOADED = """
import sys
from cdckit.engine.spark.session import start_session
options = f"-Xlog:class+load:file={sys.argv[1]}"
session = start_session("archive", {"spark.master": "local[1]", "spark.driver.extraJavaOptions": options}, delta=False)
print(session.range(3).count())
"""


@pytest.fixture(autouse=True)
def caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache without an archive; nobody says where Spark and Python are."""
    folder = tmp_path / "caches"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    return folder


def kept(content: bytes = b"not what Java writes") -> Path:
    folder = archive_folder()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "1.partial").write_bytes(content)
    return keep_archive(folder / "1.partial")


def test_one_that_is_there_is_used() -> None:
    assert not list(archive_options(""))
    archive = kept()
    assert next(archive_options("-Dx=y")) == f'"{FITS}{archive}"'
    newer = kept(b"a newer one")
    assert next(archive_options("")) == f'"{FITS}{newer}"'
    assert list(archive_folder().iterdir()) == [newer]


def test_what_a_killed_call_has_left_goes_with_the_next_archive() -> None:
    folder = archive_folder()
    folder.mkdir(parents=True)
    left, written_now = folder / "2.partial", folder / "3.partial"
    for partial in (left, written_now):
        partial.touch()
    long_ago = time.time() - END_SECONDS - 60
    os.utime(left, (long_ago, long_ago))
    archive = kept()
    assert set(folder.iterdir()) == {archive, written_now}


@pytest.mark.parametrize(
    "given", ["-Xshare:off", "-Xshare:auto", f"{FITS}/mine.jsa", "-XX:ArchiveClassesAtExit=/mine.jsa"]
)
def test_what_the_user_says_of_archives_holds(given: str) -> None:
    kept()
    assert not list(archive_options(given))


def test_one_that_was_cut_short_is_not_used() -> None:
    """Java does not notice, and dies of it."""
    archive = kept()
    archive.write_bytes(archive.read_bytes()[:-1])
    assert find_archive() is None


def test_one_of_another_java_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept()
    other = tmp_path / "java" / "bin" / "java"
    other.parent.mkdir(parents=True)
    other.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    assert find_archive() is None


def test_one_of_other_jars_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "spark.jar").write_text("one")
    monkeypatch.setenv("SPARK_HOME", str(home))
    before = fingerprint()
    kept()
    assert find_archive() is not None
    (home / "jars" / "spark.jar").write_text("another")
    assert fingerprint() != before
    assert find_archive() is None


@pytest.mark.parametrize("place", ["a:b", 'a"b', "a\\b"])
def test_a_path_that_java_would_take_for_several_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place))
    kept()
    assert not list(archive_options(""))


def test_where_there_can_be_no_cache_spark_starts_without(caches: Path) -> None:
    caches.write_text("a file")
    assert not list(archive_options(""))


def test_java_starts_with_one_that_it_cannot_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "with a space"))
    kept()
    options = shlex.split(" ".join(archive_options("")))
    assert len(options) == 2
    ended = subprocess.run([str(java_program()), *options, "-version"], check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("given", "late"),
    [
        pytest.param("-Dx=y", True, id="nothing of compilers"),
        pytest.param("-XX:TieredStopAtLevel=1", False, id="the simple compiler alone"),
        pytest.param("-XX:-TieredCompilation", False, id="the thorough one alone"),
        pytest.param("-XX:CompileThresholdScaling=0.5", False, id="sooner"),
    ],
)
def test_the_compiler_waits_unless_the_user_says_when(given: str, late: bool) -> None:
    options = session_settings("shop", {JAVA_OPTIONS: given}, {}, delta=False)[JAVA_OPTIONS]
    assert options.endswith(given)
    assert (LATE_COMPILER in options) is late


def test_room_for_classes_is_what_the_user_says() -> None:
    ours = "-XX:MetaspaceSize=256m"
    assert ours in session_settings("shop", {}, {}, delta=False)[JAVA_OPTIONS]
    given = {JAVA_OPTIONS: "-XX:MetaspaceSize=64m"}
    assert ours not in session_settings("shop", given, {}, delta=False)[JAVA_OPTIONS]


def test_the_driver_of_a_cluster_has_javas_own_settings() -> None:
    kept()
    options = session_settings("shop", {"spark.master": "spark://host:7077"}, {}, delta=False)[JAVA_OPTIONS]
    assert LATE_COMPILER not in options
    assert FITS not in options


def test_java_knows_the_compilers_settings() -> None:
    ended = subprocess.run([str(java_program()), *LATE_COMPILER.split(), "-version"], check=False, capture_output=True)
    assert ended.returncode == 0, ended.stdout


def test_the_command_says_where_it_can_keep_none(caches: Path) -> None:
    caches.write_text("a file")
    ended = subprocess.run(
        [sys.executable, "-m", "cdckit", "archive-classes"], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 2, ended.stderr
    assert str(caches) in ended.stderr
    assert "XDG_CACHE_HOME" in ended.stderr


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.real_python
@pytest.mark.timeout(1800)
def test_a_session_has_most_of_its_classes_from_the_archive(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "cdckit", "archive-classes"], check=False, capture_output=True, text=True, timeout=900
    )
    assert made.returncode == 0, made.stderr
    archive = find_archive()
    assert archive is not None
    assert made.stdout.startswith(f"{archive}: ")
    assert list(archive_folder().iterdir()) == [archive]
    program, classes = tmp_path / "loaded.py", tmp_path / "classes.txt"
    program.write_text(LOADED)
    command = [sys.executable, str(program), str(classes)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "3\n"
    loaded = [line.partition(" source: ")[2] for line in classes.read_text().splitlines()]
    ready = [source for source in loaded if source.startswith("shared objects file (top)")]
    assert len(ready) > len(loaded) / 2
