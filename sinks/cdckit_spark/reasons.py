"""What Spark says is wrong, in few words."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException


def reason(error: PySparkException | Py4JJavaError) -> str:
    """The first line that Spark or the file system says."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return str(text).strip().partition("\n")[0]
