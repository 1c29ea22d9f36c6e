"""A missing program is named together with what brings it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from testkit.servers.apt import ensure_program
from testkit.servers.errors import ServerUnavailableError
from testkit.servers.java import ensure_java


def test_program_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "sometool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ensure_program("sometool", "sometool-package") == program


def test_without_apt_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerUnavailableError, match="have root run `apt-get install sometool-package`"):
        ensure_program("sometool", "sometool-package")


def test_without_root_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ServerUnavailableError, match=re.escape("sometool is not installed")):
        ensure_program("sometool", "sometool-package")


def test_old_java_does_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15'\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(java.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ServerUnavailableError, match="Java 17 is not installed"):
        ensure_java.__wrapped__()
