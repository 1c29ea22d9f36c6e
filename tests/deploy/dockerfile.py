"""A Dockerfile's steps, run in a folder that stands for the image: what a builder does, as far as it needs no root."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy.files import ROOT

_OF_ROOT = ("apt-get", "chown")
"""Steps that change the system, or belong to root."""
_PLACES = ("/opt", "/src", "/var/lib/cdckit", "/etc/cdckit")
_SECONDS = 1800


@dataclass
class Image:
    """What a Dockerfile makes, in a folder.

    Attributes:
        file: the Dockerfile.
        root: the folder.
        python: what `python` means in a step.
        arguments: `ARG`s with other values than the file's.
        left_out: the steps that were not run.
    """

    file: Path
    root: Path
    python: Path
    arguments: Mapping[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def build(self) -> None:
        """Runs `COPY` and `RUN`, in order."""
        folder = self.root
        values: dict[str, str] = {}
        for keyword, rest in instructions(self.file.read_text()):
            if keyword == "ARG":
                name, _, value = rest.partition("=")
                values[name] = self.arguments.get(name, value)
            elif keyword == "WORKDIR":
                folder = self._place(rest)
                folder.mkdir(parents=True, exist_ok=True)
            elif keyword == "COPY" and not rest.startswith("--from"):
                self._copy(shlex.split(rest), folder)
            elif keyword == "RUN":
                self._run(rest, folder, values)

    def entry(self) -> list[str]:
        """The command that the image runs, with paths in the folder."""
        found = dict(instructions(self.file.read_text()))
        words = re.findall(r'"([^"]*)"', found["ENTRYPOINT"])
        return [self._inside(word) for word in words]

    def _copy(self, words: list[str], folder: Path) -> None:
        *sources, target = words
        for source in sources:
            into = folder / target / Path(source).name if target.endswith("/") else folder / target
            into.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, into, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(ROOT / source, into)

    def _run(self, step: str, folder: Path, values: Mapping[str, str]) -> None:
        if any(word in step for word in _OF_ROOT):
            self.left_out.append(step)
            return
        programs = self.root / "programs"
        programs.mkdir(exist_ok=True)
        if not (programs / "python").exists():
            (programs / "python").symlink_to(self.python)
        (self.root / "opt").mkdir(exist_ok=True)
        environment = {**os.environ, **values, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        environment.pop("PYTHONPATH", None)
        command = ["sh", "-ec", self._inside(step)]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"

    def _inside(self, text: str) -> str:
        places = "|".join(map(re.escape, _PLACES))
        return re.sub(rf"(?<![\w/])({places})(?=[/\s\"]|$)", lambda found: f"{self.root}{found[1]}", text)

    def _place(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """The instructions, each with what stands behind it, its lines in one."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    for line in joined.splitlines():
        keyword, _, rest = line.partition(" ")
        yield keyword, re.sub(r"\s+", " ", rest).strip()
