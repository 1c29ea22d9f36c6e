"""The pipelines whose files stand in a folder, each in a process of its own, until all have ended or are told to."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from cdckit.cli.fleet.limits import Limits
from cdckit.cli.fleet.member import Member, failure
from cdckit.cli.fleet.output import SharedLog
from cdckit.cli.logs import Format
from cdckit.cli.settings import INTERRUPTED
from cdckit.engine.config.formats import SUFFIXES
from cdckit.engine.config.loading import NoPipelineError, load_pipeline
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import ConfigError

_LOOKS = 0.2
"""How many seconds pass between two looks at the processes."""


class Fleet:
    """Runs them.

    Args:
        files: the pipelines'.
        arguments: of each call of `cdc run`.
        limits: for each.
        log_format: how they log.
    """

    def __init__(self, files: Sequence[Path], arguments: Sequence[str], limits: Limits, log_format: Format) -> None:
        names = shown_names(files)
        shared = SharedLog(log_format, max(map(len, names)))
        self._members = [Member(name, file, arguments, limits, shared) for name, file in zip(names, files, strict=True)]

    def run(self, stopping: StopSignal) -> int:
        """Until all have ended; where asked to stop, once they have.

        Returns:
            0; the code of the first, by name, that has failed for good; 130 after SIGINT.
        """
        while not all(member.is_over for member in self._members) and not stopping():
            self._look(stopping)
        if stopping():
            self._stop(stopping)
            return INTERRUPTED if stopping.interrupted else self._code
        return next((member.code for member in self._members if member.code), 0)

    @property
    def _code(self) -> int:
        return next((code for member in self._members if (code := failure(member.code))), 0)

    def _look(self, stopping: StopSignal) -> None:
        for member in self._members:
            member.look()
        stopping.wait(_LOOKS)

    def _stop(self, stopping: StopSignal) -> None:
        """Each is sent the other signal: who sends one to the whole group sends none of them the same one twice."""
        number = signal.SIGTERM if stopping.interrupted else signal.SIGINT
        for member in self._members:
            member.stop(number)
        patience = StopSignal()
        while not all(member.is_over for member in self._members):
            self._look(patience)


def pipeline_files(folder: Path) -> Iterator[Path]:
    """The files of a folder that describe a pipeline, be it a broken one."""
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in SUFFIXES and file.is_file() and _is_pipeline(file):
            yield file


def _is_pipeline(file: Path) -> bool:
    try:
        load_pipeline(file, incomplete=True)
    except NoPipelineError:
        return False
    except ConfigError:
        return True
    return True


def found_files(folder: Path) -> list[Path]:
    """The same, held against each other.

    Raises:
        ConfigError: there is none, or two have the same state.
    """
    files = list(pipeline_files(folder))
    if not files:
        raise ConfigError(f"{folder}: no file in it describes a pipeline")
    taken: dict[Path, Path] = {}
    problems = []
    for file in files:
        try:
            state = load_pipeline(file, incomplete=True).folder
        except ConfigError:  # its own run tells
            continue
        if state in taken:
            problems.append(f"{file.name}: has the state of {taken[state].name}, {state}; give it a 'name' of its own")
        taken[state] = file
    if problems:
        raise ConfigError(*problems)
    return files


def shown_names(files: Sequence[Path]) -> list[str]:
    """The files' names without endings, unless two are then alike."""
    stems = Counter(file.stem for file in files)
    return [file.stem if stems[file.stem] == 1 else file.name for file in files]
