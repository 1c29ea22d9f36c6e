"""Checks a plugin as others will find it: installed in an environment of its own, killed, measured."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from cdckit.api.plugin_origins import PLUGINS_DIR
from cdckit.cli.authoring.report import Verdict, of_hanging, of_probe, of_tests
from cdckit.errors import ConfigError

_COLLECTED = "python_functions=test check_restart check_speed"
"""The suites' checks beside their tests, by names of their own, so that no other run of pytest takes them."""
_RUNNING = re.compile(r"^(\S+::\S+) ?$", re.MULTILINE)
"""A test of pytest's verbose output that has begun, and is not over."""


class StillRunningError(Exception):
    """The tests were not over in time; they were stopped.

    Args:
        output: what they had said.
    """

    def __init__(self, output: str) -> None:
        super().__init__("the tests were not over in time")
        self.output = output


@dataclass(frozen=True, slots=True)
class CheckedEnvironment:
    """An environment with the plugin; everything else that is installed here, cdckit first, is borrowed.

    Attributes:
        home: its folder.
    """

    home: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.home / "bin" / "python"

    @property
    def packages(self) -> Path:
        """Where the plugin is installed."""
        return next(self.home.glob("lib/python*/site-packages"))

    def make(self) -> None:
        """Lays it out without pip, over the packages of the environment that runs this."""
        venv.create(self.home, with_pip=False, symlinks=True)
        here = sorted({sysconfig.get_paths()[part] for part in ("purelib", "platlib")})
        lines = [f"import site; site.addsitedir({folder!r})\n" for folder in here]
        (self.packages / "borrowed.pth").write_text("".join(lines))

    def install(self, plugin: Path) -> None:
        """Installs the plugin, and what it needs beyond what is here; cdckit stays the one that is here.

        Raises:
            ConfigError: it cannot be built or installed; with what pip says.
        """
        fixed = self.home / "constraints.txt"
        fixed.write_text(f"cdckit=={version('cdckit')}\n")
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check"]
        done = self._run([*pip, "install", "--quiet", "--constraint", str(fixed), str(plugin.absolute())])
        if done.returncode:
            raise ConfigError(
                f"WHEEL|FOLDER: {plugin} cannot be installed:\n{done.stderr.strip() or done.stdout}", number="CDC2508"
            )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs its Python, in its own folder."""
        return self._run([str(self.python), *arguments])

    def run_at_most(self, seconds: float, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The same, stopped with all that it has started when it is not over in time.

        Raises:
            StillRunningError: it was not.
        """
        command = [str(self.python), *arguments]
        said = self.home / "said"
        with said.open("w+", encoding="utf-8") as output:
            process = subprocess.Popen(  # noqa: S603 - the checked plugin's own tests
                command, cwd=self.home, env=_own_environment(), stdout=output, stderr=output, start_new_session=True
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise StillRunningError(said.read_text(encoding="utf-8")) from None
            finally:
                _end_all(process)
        return subprocess.CompletedProcess(command, code, said.read_text(encoding="utf-8"), "")

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - pip, and what looks at the plugin
            command, cwd=self.home, env=_own_environment(), capture_output=True, text=True, check=False
        )


def _own_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", PLUGINS_DIR)}


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that has a session of its own, and those that it has left behind there."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def check_plugin(plugin: Path, tests: Path | None, folder: Path, seconds: float) -> list[Verdict]:
    """All that was found.

    Args:
        plugin: a wheel, or the folder of a project.
        tests: its tests, with a suite of `cdckit.testing` for each component; None: a folder's own.
        folder: where the environment is made.
        seconds: how long its tests may take.

    Raises:
        ConfigError: it cannot be installed, or its tests cannot be run.
    """
    tests = tests or (plugin / "tests" if plugin.is_dir() else None)
    environment = CheckedEnvironment(folder / "environment")
    environment.make()
    environment.install(plugin)
    probed = environment.run("-m", "cdckit.cli.authoring.probe", str(environment.packages))
    if probed.returncode:
        raise ConfigError(f"WHEEL|FOLDER: {plugin} cannot be looked at:\n{probed.stderr.strip()}", number="CDC2508")
    facts = json.loads(probed.stdout)
    found = [*of_probe(facts)]
    try:
        report = _tested(environment, tests, seconds) if tests is not None and tests.exists() else "<testsuites/>"
    except StillRunningError as error:
        return [*found, of_hanging(seconds, _RUNNING.findall(error.output))]
    return [*found, *of_tests(report, facts["components"])]


def _tested(environment: CheckedEnvironment, tests: Path, seconds: float) -> str:
    """Runs a copy of the tests, beside which no source code lies: they import what is installed."""
    copy = environment.home / "tests"
    report = environment.home / "report.xml"
    shutil.copytree(tests, copy, ignore=shutil.ignore_patterns("__pycache__"))
    options = ["-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", str(copy)]
    named = ["-o", _COLLECTED, "-o", "junit_family=xunit1", f"--junitxml={report}"]
    ran = environment.run_at_most(seconds, "-u", "-m", "pytest", "-v", "--color=no", *options, *named, str(copy))
    if not report.exists():
        raise ConfigError(f"{tests}: pytest cannot run them:\n{ran.stdout.strip()}", number="CDC2508")
    return report.read_text(encoding="utf-8")
