"""The images: their Dockerfiles by a linter, and their steps in a folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.dockerfile import Image, instructions
from deploy.files import DEPLOY, ROOT
from testkit.servers.java import ensure_java
from testkit.servers.linters import hadolint

FILES = [DEPLOY / "docker" / "Dockerfile", DEPLOY / "docker" / "Dockerfile.spark"]
MOST_MIB = 100
"""What the direct image may add to its base."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_fault(file: Path) -> None:
    done = subprocess.run([hadolint(), file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_fault_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM debian\nRUN cd /tmp && apt-get install curl\n")
    assert subprocess.run([hadolint(), tmp_path / "Dockerfile"], capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_is_copied_is_there_and_not_ignored(file: Path) -> None:
    ignored = Path(f"{file}.dockerignore").read_text().split()
    copied = [
        source
        for keyword, rest in instructions(file.read_text())
        if keyword == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert copied
    assert [source for source in copied if not (ROOT / source).exists() or f"!{source}" not in ignored] == []


def lacking(program: Path, folder: Path) -> set[str]:
    """The components that need a package which the image lacks."""
    done = subprocess.run([program, "plugins", "--json"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {one["name"] for one in json.loads(done.stdout) if one["missing"] or one["kind"] == "plugin"}


@pytest.mark.nightly
def test_the_steps_of_the_direct_image(tmp_path: Path) -> None:
    """Into a clean environment, from the package index: the command runs there, and is no larger than we say."""
    image = Image(FILES[0], tmp_path, Path(sys.executable).resolve())
    image.build()
    assert [step.split()[0] for step in image.left_out] == ["mkdir"]
    [program] = image.entry()
    missing = lacking(Path(program), tmp_path)
    assert {"mongodb", "ticdc"} <= missing
    assert missing & {"mysql", "mariadb", "kafka"} == set()
    size = sum(path.lstat().st_size for path in (tmp_path / "opt").rglob("*"))
    assert size < MOST_MIB << 20, f"{size >> 20} MiB"


@pytest.mark.nightly
def test_the_steps_of_the_image_with_spark(tmp_path: Path) -> None:
    """What the image's packages are is asked of Debian; the rest is made, and a driver submitted there."""
    image = Image(FILES[1], tmp_path, Path(sys.executable).resolve())
    image.build()
    packages, folder = image.left_out
    assert (packages.split()[0], folder.split()[0]) == ("apt-get", "mkdir")
    programs = tmp_path / "opt" / "cdckit" / "bin"
    assert lacking(programs / "cdc", tmp_path) == set()
    spark = tmp_path / "opt" / "spark"
    java = ensure_java().resolve().parents[1]
    environment = {
        **os.environ,
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(spark),
        "PYSPARK_PYTHON": str(programs / "python"),
    }
    environment["PYSPARK_DRIVER_PYTHON"] = environment["PYSPARK_PYTHON"]
    environment.pop("PYTHONPATH", None)
    submit = [str(spark / "bin" / "spark-submit"), "--master", "local[1]", str(programs / "cdc.py"), "--version"]
    done = subprocess.run(submit, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cdckit" in done.stdout


@pytest.mark.nightly
@pytest.mark.skipif(
    shutil.which("apt-get") is None or "VERSION_CODENAME=bookworm" not in Path("/etc/os-release").read_text(),
    reason="the image is of Debian bookworm",
)
def test_debian_has_the_packages_of_the_image_with_spark() -> None:
    step = next(rest for keyword, rest in instructions(FILES[1].read_text()) if keyword == "RUN" and "apt-get" in rest)
    found = re.search(r"apt-get install --yes --no-install-recommends ([^&]+)&&", step)
    assert found is not None
    subprocess.run(["apt-get", "update", "-qq"], capture_output=True, check=True)
    command = ["apt-get", "install", "--simulate", "--yes", "--no-install-recommends", *found[1].split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
