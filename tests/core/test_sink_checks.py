"""What `cdc validate --connect` finds about sinks that write files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cdckit.api.checks import Checks, Finding, why_unwritable
from cdckit.engine.spark.java import check_java
from cdckit_file.config import FileConfig
from cdckit_file.file import FileSink
from cdckit_spark.config import LakeConfig
from cdckit_spark.sink import LakeSink

MAKE_OR_NAME = "name a file in a folder that exists and can be written"


def file_finding(path: Path) -> tuple[str, str]:
    assert isinstance(FileSink, Checks)
    [found] = FileSink.check(FileConfig(path=path))
    assert found.remedy == ("" if found.status == "ok" else MAKE_OR_NAME)
    return found.status, found.message


def lake_findings(**options: str) -> dict[str, Finding]:
    assert isinstance(LakeSink, Checks)
    return {finding.name: finding for finding in LakeSink.check(LakeConfig(**options))}  # type: ignore[arg-type]


def test_a_file_is_made_or_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    assert file_finding(path) == ("ok", f"{path} is made")
    assert not path.exists()
    path.touch()
    assert file_finding(path) == ("ok", f"{path} is appended to")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    assert file_finding(tmp_path) == ("fail", f"{tmp_path} is a folder")
    assert file_finding(tmp_path / "no" / "out") == ("fail", f"there is no folder {tmp_path}/no")
    (tmp_path / "file").touch()
    assert file_finding(tmp_path / "file" / "out") == ("fail", f"{tmp_path}/file is no folder")


def test_a_folder_of_others() -> None:
    folder = Path(tempfile.mkdtemp(prefix="cdckit-"))
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed").chmod(0)
    folder.chmod(0o555)
    try:
        assert as_nobody(lambda: why_unwritable(folder)) == f"this user may not write into {folder}"
        assert as_nobody(lambda: file_finding(folder / "out")[1]) == f"this user may not write into {folder}"
        inner = folder / "closed" / "inner"
        assert as_nobody(lambda: why_unwritable(inner)) == f"{inner} cannot be looked at: Permission denied"
    finally:
        (folder / "closed").chmod(0o700)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def as_nobody(asked: Callable[[], str | None]) -> str:
    """The answer of a process without root's rights."""
    given, taken = os.pipe()
    if (child := os.fork()) == 0:
        if os.geteuid() == 0:
            os.setuid(65534)
        os.write(taken, str(asked()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(taken)
    with os.fdopen(given) as answer:
        return answer.read()


@pytest.mark.parametrize("form", ["{}", "file:{}"])
def test_a_lake_on_this_machine(tmp_path: Path, form: str) -> None:
    lake = tmp_path / "a" / "lake"
    found = lake_findings(path=form.format(lake))
    assert found["path"].status == "ok"
    assert found["path"].message == f"{lake} is made"
    assert not lake.exists()
    lake.mkdir(parents=True)
    assert lake_findings(path=form.format(lake))["path"].message == f"{lake} is written"
    shutil.rmtree(lake)
    lake.touch()
    found = lake_findings(path=form.format(lake))
    assert (found["path"].status, found["path"].message) == ("fail", f"{lake} is no folder")


@pytest.mark.parametrize(
    ("options", "named"), [({"path": "s3a://lake/shop"}, "s3a://lake/shop"), ({"database": "shop"}, "database shop")]
)
def test_what_only_spark_reaches_is_said_not_to_be_known(options: dict[str, str], named: str) -> None:
    [found] = lake_findings(**options).values()
    assert (found.status, named in found.message) == ("warn", True)


def test_a_path_may_be_the_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert lake_findings(path="/no/such/lake")["path"].status == "warn"


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    [found] = check_java()
    assert (found.status, "Java 17" in found.message) == ("fail", True)
    monkeypatch.delenv("JAVA_HOME")
    assert [found.status for found in check_java()] == ["ok"]
