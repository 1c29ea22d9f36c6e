"""Starts the warm process of this test process, and writes the script that stands for Python."""

from __future__ import annotations

import shutil
import socket
import sys
from functools import cache
from pathlib import Path

from testkit.servers.process import spawn
from testkit.servers.workspace import new_folder
from testkit.warm_python.caller import REFUSED

_SCRIPT = """\
#!{bash}
if {{ exec 9<>/dev/tcp/127.0.0.1/{port}; }} 2>/dev/null; then
    (echo $$ >&9)  # a shell of its own: in this one, standard output would be that connection for a moment
    read -r -u 9 answer || kill -KILL $$
    [ "$answer" = {refused} ] || exit "$answer"
    exec 9>&-
fi
exec {python} "$@"
"""
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "_RJEM_MALLOC_CONF": "background_thread:false",
}
"""What numpy, Arrow and delta-rs start otherwise when they are imported: a fork has no threads but one, and what others
have locked stays so."""


@cache
def warm_python() -> Path:
    """A program that does what this Python does, and is forked where it is called as Spark does: `-m MODULE …`.

    The process that it is forked from is started by the first call, and ends with this one. Where that one has gone, or
    could not do as the caller wants (another copy of a module, say), the program is Python itself.
    """
    folder = new_folder("warm-python")
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        variables = {"PYTHONPATH": "", "PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "YES", **ONE_THREAD}
        command = [sys.executable, "-P", "-m", "testkit.warm_python", str(listener.fileno())]
        spawn(command, folder / "log", env=variables, kept=(listener.fileno(),))
        port = listener.getsockname()[1]
    script = folder / "python"
    script.write_text(_SCRIPT.format(bash=shutil.which("bash"), port=port, refused=REFUSED, python=sys.executable))
    script.chmod(0o755)
    return script
