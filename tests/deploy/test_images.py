"""The images: their Dockerfiles by a linter, and their steps in a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deploy.dockerfile import Image, instructions
from deploy.files import DEPLOY, ROOT
from testkit.servers.linters import hadolint

FILES = [DEPLOY / "docker" / "Dockerfile", DEPLOY / "docker" / "Dockerfile.spark"]
MOST_MIB = 150
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


@pytest.mark.nightly
def test_the_steps_of_the_direct_image(tmp_path: Path) -> None:
    """Into a clean environment, from the package index: the command runs there, and is no larger than we say."""
    image = Image(FILES[0], tmp_path, Path(sys.executable).resolve())
    image.build()
    assert [step.split()[0] for step in image.left_out] == ["mkdir"]
    [program] = image.entry()
    done = subprocess.run([program, "plugins"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    missing = [line for line in done.stdout.splitlines() if "missing" in line]
    assert not [line for line in missing if " mysql " in f" {line} " or " kafka " in f" {line} "], missing
    size = sum(path.lstat().st_size for path in (tmp_path / "opt").rglob("*"))
    assert size < MOST_MIB << 20, f"{size >> 20} MiB"
