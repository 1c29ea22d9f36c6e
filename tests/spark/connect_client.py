"""Programs of a client of Spark Connect, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from testkit.servers.spark_connect import connect_packages


def run(program: str, folder: Path) -> dict[str, Any]:
    """What a client's program leaves in `told`."""
    path = folder / "client.py"
    path.write_text(f"import json\n\ntold = {{}}\n{program}\nprint(json.dumps(told, default=str))\n")
    variables = {**os.environ, "PYTHONPATH": str(connect_packages())}
    ended = subprocess.run([sys.executable, path], env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found
