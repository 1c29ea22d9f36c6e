"""The release of Hadoop that PySpark brings, which whatever is added to it has to fit."""

from __future__ import annotations

from pathlib import Path

import pyspark

_CLIENT = "hadoop-client-api-"


def hadoop_release() -> str:
    """Such as 3.5.0."""
    [client] = (Path(pyspark.__file__).parent / "jars").glob(f"{_CLIENT}*.jar")
    return client.stem.removeprefix(_CLIENT)
