"""What the page can have done to a pipeline: what `cdc signal`, `cdc resnapshot` and `cdc replay` can.

A running pipeline is told by a signal, which it takes by itself. What needs one that is stopped is a command, run with
the environment of `cdc ui`, in the folder of the pipeline's file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdckit.connector.signals.inbox import leave
from cdckit.connector.signals.signal import EXECUTE_SNAPSHOT, PAUSE_SNAPSHOT, RESUME_SNAPSHOT, STOP_SNAPSHOT, Signal
from cdckit.errors import ConfigError, StateError
from cdckit.ui.fleet import Member

ACTIONS: Mapping[str, str] = {
    "pause": "Pause the incremental snapshot",
    "resume": "Go on with it",
    "stop": "Stop it",
    "resnapshot": "Read tables again",
    "signal": "Send a signal",
    "replay": "Deliver the quarantine",
}
"""Each action's name, and what the page calls it."""
_SIGNALS = {"pause": PAUSE_SNAPSHOT, "resume": RESUME_SNAPSHOT, "stop": STOP_SNAPSHOT}
_SECONDS = 3600.0
_LONGEST = 4_000
_MOST_TABLES = 500


def refusals(member: Member) -> dict[str, str]:
    """Why each action cannot be done to a pipeline now; empty where it can."""
    found = member.status
    if found is None or found.run is None:
        why = "its state cannot be read" if found is None else "it has never run"
        return dict.fromkeys(ACTIONS, why)
    running, run = found.state == "running", found.run
    deaf = _deaf(running, run)
    beside_the_log = (run.get("snapshot") or {}).get("incremental")
    snapshot = found.snapshot.state if found.snapshot is not None and beside_the_log else "none"
    told = {
        "pause": deaf or ("" if snapshot == "running" else "no incremental snapshot runs"),
        "resume": deaf or ("" if snapshot == "paused" else "no incremental snapshot is paused"),
        "stop": deaf or ("" if snapshot in ("running", "paused") else "no incremental snapshot runs"),
        "signal": deaf,
        "resnapshot": deaf if running else _uncalled(run),
        "replay": "",
    }
    if not found.quarantine:
        told["replay"] = "its quarantine is empty"
    elif running:
        told["replay"] = "stop the pipeline first: records are delivered while nothing else is"
    else:
        told["replay"] = _uncalled(run)
    return told


def _deaf(running: bool, run: Mapping[str, Any]) -> str:
    """Why it takes no signals."""
    if not running:
        return "it does not run"
    if run.get("runner") != "direct":
        return f"the runner {run.get('runner')} takes no signals from here"
    return "" if run.get("signals") else "signal.enabled.channels of its source does not name in-process"


def _uncalled(run: Mapping[str, Any]) -> str:
    """Why a command cannot be called for it."""
    if not run.get("file"):
        return "its last run did not say which file describes it"
    if not run.get("as_written"):
        return "its last run had options on the command line: call the command with them yourself"
    return "" if Path(str(run["file"])).exists() else f"{run['file']} is not there"


def act(member: Member, action: str, asked: Mapping[str, Any]) -> str:
    """Does it; gives what to tell who asked.

    Raises:
        ConfigError: it cannot be done, or what was asked makes no sense.
        StateError: it failed.
    """
    if action not in ACTIONS:
        raise ConfigError(f"no action is called '{action}': there are {', '.join(ACTIONS)}", number="CDC2606")
    if why := refusals(member)[action]:
        raise ConfigError(f"{ACTIONS[action].lower()}: {why}", number="CDC2606")
    assert member.status is not None and member.status.run is not None
    if action in _SIGNALS:
        return _signal(member, _SIGNALS[action], {"type": "incremental"})
    if action == "signal":
        return _signal(member, _text(asked, "type"), _data(asked))
    if action == "resnapshot":
        tables = _tables(asked)
        if member.status.state == "running":
            return _signal(member, EXECUTE_SNAPSHOT, {"type": "incremental", "data-collections": tables})
        return _command(member.status.run, "resnapshot", *(word for name in tables for word in ("--table", name)))
    return _command(member.status.run, "replay", *_numbers(asked))


def _signal(member: Member, kind: str, data: Mapping[str, Any]) -> str:
    assert member.status is not None and member.status.run is not None
    known = member.status.run.get("signals") or []
    if kind not in known:
        raise ConfigError(f"type: no signal is called '{kind}' (there are: {', '.join(known)})", number="CDC2606")
    made = Signal(str(uuid.uuid4()), kind, data)
    try:
        leave(member.folder, made)
    except OSError as error:
        raise StateError(f"{member.folder}: the signal cannot be left there: {error}") from error
    return f"signal {kind} is left as {made.id}; the pipeline takes it within seconds"


def _command(run: Mapping[str, Any], command: str, *options: str) -> str:
    """Calls `cdc`; gives what it said."""
    file = Path(str(run["file"]))
    words = [sys.executable, "-m", "cdckit", command, str(file), *options]
    try:
        done = subprocess.run(  # noqa: S603 - this program, by words
            words,
            cwd=file.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise StateError(f"cdc {command}: took longer than an hour and was ended; call it yourself") from error
    said = (done.stdout + done.stderr).strip()[-_LONGEST:]
    if done.returncode:
        raise StateError(f"cdc {command} ended with {done.returncode}: {said}")
    return said or f"cdc {command} is done"


def _text(asked: Mapping[str, Any], member: str) -> str:
    given = asked.get(member)
    if not isinstance(given, str) or not given:
        raise ConfigError(f"{member}: should be a text", number="CDC2606")
    return given


def _data(asked: Mapping[str, Any]) -> dict[str, Any]:
    given = asked.get("data") or {}
    try:
        data = json.loads(given) if isinstance(given, str) else given
    except ValueError as error:
        raise ConfigError(f"data: no JSON ({error})", number="CDC2606") from error
    if not isinstance(data, dict):
        raise ConfigError("data: should be a JSON object", number="CDC2606")
    return data


def _tables(asked: Mapping[str, Any]) -> list[str]:
    given = asked.get("tables")
    named = [name for name in given if isinstance(name, str) and name] if isinstance(given, list) else []
    if not 0 < len(named) <= _MOST_TABLES or len(named) != len(given or ()):
        raise ConfigError(f"tables: should be a list of 1 to {_MOST_TABLES} names of tables", number="CDC2606")
    if wrong := next((name for name in named if name.startswith("-")), None):
        raise ConfigError(f"tables: '{wrong}' is no name of a table", number="CDC2606")
    return named


def _numbers(asked: Mapping[str, Any]) -> list[str]:
    """The options for the records that are named; none: all."""
    given = asked.get("numbers") or []
    if not isinstance(given, list) or not all(isinstance(each, int) and each > 0 for each in given):
        raise ConfigError("numbers: should be a list of records' numbers", number="CDC2606")
    return [word for number in given for word in ("--id", str(number))]
