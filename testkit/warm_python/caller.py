"""Who calls for Python: with what arguments, in what surroundings; a fork of the warm process can become it."""

from __future__ import annotations

import os
import resource
import runpy
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REFUSED = "refused"
_AT_START = (
    "LANG",
    "LC_ALL",
    "PYTHONDEVMODE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONHOME",
    "PYTHONIOENCODING",
    "PYTHONMALLOC",
    "PYTHONNOUSERSITE",
    "PYTHONOPTIMIZE",
    "PYTHONSAFEPATH",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
)
"""Variables that Python asks once, as it starts: https://docs.python.org/3/using/cmdline.html#environment-variables."""
_LIMITS = [number for name, number in vars(resource).items() if name.startswith("RLIMIT_")]
_FILES = {0: os.O_RDONLY, 1: os.O_WRONLY, 2: os.O_WRONLY}


@dataclass(frozen=True, slots=True)
class Caller:
    """A process that runs the script in place of Python.

    Attributes:
        pid: its id.
        arguments: those for Python.
        environment: its variables.
    """

    pid: int
    arguments: Sequence[str]
    environment: Mapping[str, str]

    @classmethod
    def of(cls, pid: int) -> Caller:
        """The process with an id.

        Raises:
            OSError: it has ended.
        """
        variables = (variable.partition("=") for variable in _words(pid, "environ"))
        bash_and_script = 2
        return cls(pid, _words(pid, "cmdline")[bash_and_script:], {name: value for name, _, value in variables})

    def is_served(self) -> bool:
        """Whether a fork of this process can do what Python, newly started, would do for it."""
        return (
            self.arguments[:1] == ["-m"]
            and is_started_alike(self.environment)
            and all(map(_opens_again, self._files()))
            and not any(map(has_other_copy, self._path()))
        )

    def close(self) -> None:
        """It has sent nothing."""

    def become(self) -> None:
        """Takes its place, in a fork: all but the process id.

        Raises:
            OSError: it has ended.
        """
        for number, mode in _FILES.items():
            opened = os.open(f"/proc/{self.pid}/fd/{number}", mode)
            os.dup2(opened, number)
            os.close(opened)
        os.chdir(f"/proc/{self.pid}/cwd")
        for limit in _LIMITS:
            resource.setrlimit(limit, resource.prlimit(self.pid, limit))
        os.environ.clear()
        os.environ.update(self.environment)
        time.tzset()
        sys.path[:0] = [str(Path.cwd()), *self._path()]

    def run(self) -> None:
        """Runs the module that it wants to run."""
        _, module, *arguments = self.arguments
        sys.argv[:] = [module, *arguments]
        sys.modules.pop(module, None)  # to be run, it is made anew
        runpy.run_module(module, run_name="__main__", alter_sys=True)

    def _files(self) -> Iterator[str]:
        return (f"/proc/{self.pid}/fd/{number}" for number in _FILES)

    def _path(self) -> list[str]:
        return list(filter(None, self.environment.get("PYTHONPATH", "").split(os.pathsep)))


def _words(pid: int, name: str) -> list[str]:
    return os.fsdecode(Path(f"/proc/{pid}/{name}").read_bytes()).split("\0")[:-1]


def _opens_again(file: str) -> bool:
    """Whether it is the same when it is opened once more: a regular file would be written from its begin."""
    try:
        mode = Path(file).stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def is_started_alike(environment: Mapping[str, str]) -> bool:
    """Whether Python would start with these variables as this process was started."""
    return all(environment.get(name) in (None, os.environ.get(name)) for name in _AT_START)


def has_other_copy(folder: str) -> bool:
    """Whether a package that is imported already would come from there."""
    tops = {name: module for name, module in sys.modules.items() if "." not in name and hasattr(module, "__path__")}
    found = {name: Path(folder, name) for name in tops}
    return any(there.is_dir() and str(there) not in tops[name].__path__ for name, there in found.items())
