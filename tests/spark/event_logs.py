"""What Spark notes of its work in event logs: by them tests see which tasks there were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def noted_in(folder: Path) -> dict[str, str]:
    """The settings under which a session notes its work in a folder, which is made."""
    folder.mkdir()
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }


def noted(folder: Path, event: str) -> list[dict[str, Any]]:
    """What has been noted so far of a kind of events, session by session."""
    logs = sorted(folder.iterdir(), key=lambda log: log.stat().st_ctime)
    lines = (line for log in logs for line in log.read_text(encoding="utf-8").splitlines() if line.endswith("}"))
    return [found for line in lines if (found := json.loads(line))["Event"] == f"SparkListener{event}"]
