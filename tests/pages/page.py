"""A page of the docs as its readers use it: files are written, SQL and commands run, in the page's order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from testkit.running import Ended
from testkit.servers.process import bound_to_parent

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\S+\.\w+)\n")
_SECONDS = 300.0


@dataclass(frozen=True)
class Page:
    """A page and the folder in which its reader sits.

    Attributes:
        name: the page's file.
        folder: where files are written and commands run.
        substitutes: what the reader puts into the page's one `export`, by variable.
        programs: folders of programs that the reader has besides.
    """

    name: str
    folder: Path
    substitutes: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[Path, ...] = ()

    def blocks(self, kind: str, heading: str = "") -> list[str]:
        """The code of one kind, of the whole page or of the section under a heading."""
        section = self._text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0] if heading else self._text
        assert section, f"{self.name} has no heading {heading!r}"
        return [code for language, code in _BLOCK.findall(section) if language == kind]

    def write_files(self) -> None:
        """Writes each block that begins with a file's name."""
        for _language, code in _BLOCK.findall(self._text):
            if named := _FILE.match(code):
                (self.folder / named[1]).write_text(code)

    def commands(self, heading: str = "") -> list[str]:
        """What stands behind `$`, but for the export."""
        found = [line[2:] for block in self.blocks("", heading) for line in block.splitlines() if line.startswith("$ ")]
        return [command for command in found if not command.startswith("export ")]

    def run(self, command: str, *more: str) -> Ended:
        """Runs a command to its end, with arguments that the page only speaks of."""
        with self.running(command, *more) as process:
            out, errors = process.communicate(timeout=_SECONDS)
        return Ended(process.returncode, out, errors)

    @contextmanager
    def running(self, command: str, *more: str) -> Iterator[subprocess.Popen[str]]:
        """Starts a command of the page, behind the page's export."""
        assert command in self.commands(), f"{self.name} has no command {command!r}"
        programs = (*self.programs, Path(sys.executable).parent, os.environ["PATH"])
        environment = {**os.environ, "PATH": os.pathsep.join(map(str, programs))}
        process = subprocess.Popen(
            ["bash", "-ec", f"{self._export}\nexec {' '.join([command, *map(shlex.quote, more)])}"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=bound_to_parent(),  # noqa: PLW1509 - it makes system calls only
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    @property
    def _export(self) -> str:
        """The page's export with the reader's own servers in it."""
        if not self.substitutes:
            return ""
        [line] = re.findall(r"^\$ (export .*)$", self._text, re.MULTILINE)
        for name, value in self.substitutes.items():
            line, count = re.subn(rf"\b{name}=\S+", f"{name}={value}", line)
            assert count == 1, f"the export of {self.name} sets no {name}"
        return str(line)

    @property
    def _text(self) -> str:
        return (DOCS / self.name).read_text(encoding="utf-8")
