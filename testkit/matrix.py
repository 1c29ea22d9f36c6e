"""The tests of `make test-fast` on each Python that can be had here, with and without the lock file (`make matrix`).

Each has a virtual environment below `build/matrix`, kept for the next time; `python -m testkit.matrix --help` says how
to ask for some of them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
DEPENDENCIES = ("locked", "newest")
FAST = ("-m", "pytest", "--fast", "-n", "2", "--dist", "worksteal", "-q", "-r", "fE")


@dataclass(frozen=True, slots=True)
class Cell:
    """One Python with one set of dependencies."""

    version: str
    dependencies: str
    interpreter: Path

    def passes(self) -> bool:
        """Makes the environment, or brings it up to date, and runs the tests in it."""
        folder = ROOT / "build" / "matrix" / f"{self.version}-{self.dependencies}"
        python = folder / "bin" / "python"
        commands: list[list[str | Path]] = [[self.interpreter, "-m", "venv", folder]]
        commands += [[python, "-m", "pip", "install", "--quiet", *what] for what in self._installed()]
        commands += [[python, *FAST, "-o", f"cache_dir={folder / 'pytest_cache'}"]]
        return all(subprocess.run(command, cwd=ROOT, check=False).returncode == 0 for command in commands)

    def _installed(self) -> Iterator[list[str]]:
        if self.dependencies == "locked":
            yield ["--requirement", "requirements.lock"]
            yield ["--no-deps", "--no-build-isolation", "--editable", "."]
        else:
            yield ["--upgrade", "--upgrade-strategy", "eager", "--editable", ".[all,test]"]


def interpreter(version: str) -> Path | None:
    """The Python of this version: on PATH, of pyenv or of uv."""
    named = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", Path.home() / ".local" / "share" / "uv" / "python"))
    kept = [*pyenv.glob(f"{version}.*"), *uv.glob(f"cpython-{version}.*")]
    found = [*([Path(named)] if named else []), *(folder / "bin" / f"python{version}" for folder in sorted(kept))]
    return next((one for one in found if _is(one, version)), None)


def _is(python: Path, version: str) -> bool:
    asks = "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"
    try:
        told = subprocess.run([python, "-c", asks], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return told.stdout.strip() == version


def main() -> int:
    """Runs the cells that are asked for, and prints what came of each; returns the exit code."""
    parser = argparse.ArgumentParser(description="The fast tests on several Pythons.")
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION", help="of Python; all by default")
    parser.add_argument("--only", choices=DEPENDENCIES, help="with the lock file, or the newest that pyproject takes")
    asked = parser.parse_args()
    results: dict[str, str] = {}
    for version in asked.versions:
        found = interpreter(version)
        for dependencies in DEPENDENCIES if asked.only is None else (asked.only,):
            passes = found and Cell(version, dependencies, found).passes()
            results[f"{version} {dependencies}"] = (
                "not to be had here" if found is None else verdict(passes=bool(passes))
            )
    for name, result in results.items():
        print(f"{name:12}  {result}")
    unwanted = {"failed"} if asked.versions is VERSIONS else {"failed", "not to be had here"}
    return int(not unwanted.isdisjoint(results.values()))


def verdict(*, passes: bool) -> str:
    """What came of one, in a word."""
    return "passed" if passes else "failed"


if __name__ == "__main__":
    sys.exit(main())
