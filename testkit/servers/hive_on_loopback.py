"""Hive's metastore on loopback alone, as a program: its own `main` listens on all addresses, whatever it is told.

Arguments: the port, the class path, and options of Java.
"""

from __future__ import annotations

import sys

import jpype

_PACKAGE = "org.apache.hadoop.hive.metastore"
_THRIFT = "org.apache.thrift"


def main(port: int, classes: str, options: list[str]) -> None:
    """Serves until it is killed, as `HiveMetaStore.startMetaStore` does without SASL."""
    jpype.startJVM(*options, "-Xrs", classpath=classes.split(":"))
    configuration = jpype.JClass(f"{_PACKAGE}.conf.MetastoreConf").newMetastoreConf()
    handler = _called("newRetryingHMSHandler", "metastore", configuration, False)
    address = jpype.JClass("java.net.InetSocketAddress")("127.0.0.1", port)
    sockets = jpype.JClass(f"{_THRIFT}.transport.TServerSocket")(address)
    server = jpype.JClass(f"{_THRIFT}.server.TThreadPoolServer")
    wanted = jpype.JClass(f"{_THRIFT}.server.TThreadPoolServer$Args")(sockets)
    server(wanted.processor(jpype.JClass(f"{_PACKAGE}.TSetIpAddressProcessor")(handler))).serve()


def _called(name: str, *arguments: object) -> object:
    """What a method of the metastore's, of whose kind there is one with so many arguments, returns."""
    methods = jpype.JClass("java.lang.Class").forName(f"{_PACKAGE}.HiveMetaStore").getDeclaredMethods()
    [method] = [one for one in methods if one.getName() == name and _fits(one, arguments)]
    method.setAccessible(True)
    return method.invoke(None, [*arguments])


def _fits(method: object, arguments: tuple[object, ...]) -> bool:
    kinds = method.getParameterTypes()  # type: ignore[attr-defined]
    return len(kinds) == len(arguments) and kinds[0].getName() == "java.lang.String"


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
