"""A name node and a data node of HDFS in this process, on loopback alone, as a program.

Arguments: the port, the folder, the class path, options of Java, `--`, and Hadoop's options as `NAME=VALUE`.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import jpype

_PACKAGE = "org.apache.hadoop.hdfs"


def main(port: int, folder: Path, classes: str, java: list[str], options: list[str]) -> None:
    """Serves until it is killed; a folder that has files of before keeps them."""
    jpype.startJVM(*java, "-Xrs", classpath=classes.split(":"))
    settings = jpype.JClass(f"{_PACKAGE}.HdfsConfiguration")()
    for name, _, value in (option.partition("=") for option in options):
        settings.set(name, value)
    settings.set("hdfs.minidfs.basedir", str(folder / "nodes"))
    settings.set("dfs.permissions.enabled", "false")
    wanted = jpype.JClass(f"{_PACKAGE}.MiniDFSCluster$Builder")(settings).nameNodePort(port).numDataNodes(1)
    nodes = wanted.format(not (folder / "nodes").exists()).build()
    nodes.waitActive()
    (folder / "ready").touch()
    threading.Event().wait()


if __name__ == "__main__":
    given = sys.argv[4:]
    split = given.index("--")
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], given[:split], given[split + 1 :])
