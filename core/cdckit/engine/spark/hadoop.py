"""Folders of any file system that Spark can reach: of this machine, of HDFS, of object stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _with_os_errors(
    method: Callable[Concatenate[HadoopFolder, _P], _T],
) -> Callable[Concatenate[HadoopFolder, _P], _T]:
    """The file system's faults as `OSError`, with the address."""

    @wraps(method)
    def with_os_errors(self: HadoopFolder, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(self, *args, **kwargs)
        except Py4JJavaError as error:
            reason = str(error.java_exception.toString()).partition("\n")[0]
            missing = "FileNotFoundException" in reason
            raise (FileNotFoundError if missing else OSError)(f"{self}: {reason}") from error

    return with_os_errors


class HadoopFolder:
    """A folder or file by its URL; what it is asked is what `pathlib.Path` is asked elsewhere.

    Args:
        session: whose settings tell how the file system is reached.
        url: where it is.
    """

    def __init__(self, session: SparkSession, url: str) -> None:
        self._session = session
        self._url = url.rstrip("/")

    def __str__(self) -> str:
        return self._url

    def __truediv__(self, name: str) -> HadoopFolder:
        return HadoopFolder(self._session, f"{self._url}/{name}")

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self._url.rpartition("/")[2]

    @_with_os_errors
    def is_dir(self) -> bool:
        """Whether there is such a folder."""
        system, path = self._place()
        return bool(system.exists(path) and system.getFileStatus(path).isDirectory())

    def iterdir(self) -> Iterator[HadoopFolder]:
        """What is in it."""
        return iter([self / name for name in self._names()])

    @_with_os_errors
    def _names(self) -> list[str]:
        system, path = self._place()
        return [str(status.getPath().getName()) for status in system.listStatus(path)]

    @_with_os_errors
    def read_bytes(self) -> bytes:
        """What stands in the file."""
        system, path = self._place()
        stream = system.open(path)
        try:
            content: bytes = self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)
            return bytes(content)
        finally:
            stream.close()

    def read_text(self) -> str:
        """The same as text."""
        return self.read_bytes().decode()

    @_with_os_errors
    def write_bytes(self, content: bytes) -> None:
        """Makes a new file, of which nobody sees a part."""
        system, path = self._place()
        unfinished = self._jvm.org.apache.hadoop.fs.Path(path.getParent(), f".{self.name}.new")
        stream = system.create(unfinished, True)
        try:
            stream.write(content)
        finally:
            stream.close()
        if not system.rename(unfinished, path):
            raise OSError(f"{self}: the file cannot be given its name")

    @_with_os_errors
    def remove(self) -> None:
        """Takes the file, or the folder with all that is in it, away."""
        system, path = self._place()
        system.delete(path, True)

    def _place(self) -> tuple[JavaObject, JavaObject]:
        path = self._jvm.org.apache.hadoop.fs.Path(self._url)
        return path.getFileSystem(self._session._jsc.hadoopConfiguration()), path

    @property
    def _jvm(self) -> Any:
        return self._session._jvm
