"""User names may show; passwords never do: not in the log of any level, in errors, in what is kept or delivered."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from dns.resolver import Resolver

from cdckit.errors import CdcError, RetriableSourceError, SourceError
from mongodb.capture import Capture
from mongodb.secured import SecuredNode
from testkit.running import PASSWORD, Pipeline, to_file
from testkit.servers.ports import free_port

OTHER = "Wk7-nor-shown-93"
"""One more: where a connection string is torn apart, each part is a secret."""
ODD = f"{PASSWORD}@/:%?#"
"""A password that holds what connection strings are made of."""


@pytest.fixture(scope="module")
def reader(secured: SecuredNode) -> Iterator[str]:
    """A user with an odd password, who may read `d.a`."""
    with secured.client(username="root", password="secret") as client:
        role = {"role": "collection", "db": "admin"}
        client.admin.command("createUser", "reader", pwd=ODD, roles=[role])
        yield "reader"
        client.admin.command("dropUser", "reader")


def _key_store(folder: Path, name: str, *arguments: str | Path) -> str:
    """A key store that the password opens; gives its path."""
    path = folder / name
    subprocess.run(
        ["openssl", "pkcs12", "-export", "-passout", f"pass:{PASSWORD}", *arguments, "-out", path], check=True
    )
    return str(path)


def _pipeline(node: SecuredNode, folder: Path, user: str, password: str) -> Pipeline:
    """With the password in the connection string, key stores with passwords, and the driver's debug log."""
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": f"mongodb://{user}:{quote(password, safe='')}@{node.address}/?replicaSet=rs0",
        "mongodb.ssl.enabled": True,
        "mongodb.ssl.truststore": _key_store(folder, "trusted.p12", "-nokeys", "-in", node.authority),
        "mongodb.ssl.truststore.password": PASSWORD,
        "mongodb.ssl.keystore": _key_store(folder, "own.p12", "-in", node.certificate),
        "mongodb.ssl.keystore.password": PASSWORD,
        "mongodb.server.selection.timeout.ms": 3000,
        "capture.scope": "collection",
        "capture.target": "d.a",
    }
    return to_file(folder, source)


def test_a_run_shows_no_password(secured: SecuredNode, reader: str, tmp_path: Path) -> None:
    pipeline = _pipeline(secured, tmp_path, reader, ODD)
    ended = pipeline.run("--once", "--log-level", "debug")
    assert ended.code == 0, ended.stderr
    assert "Command succeeded" in ended.stderr, "the driver's log is there, too"
    assert pipeline.events()


@pytest.mark.parametrize("way", ["string", "option"])
def test_a_refused_login_shows_no_password(secured: SecuredNode, reader: str, tmp_path: Path, way: str) -> None:
    pipeline = _pipeline(secured, tmp_path, reader, f"{PASSWORD}-wrong")
    if way == "option":
        uri = f"mongodb://{secured.address}/?replicaSet=rs0"
        own = {"mongodb.user": reader, "mongodb.password": f"{PASSWORD}-wrong", "mongodb.connection.string": uri}
        pipeline = Pipeline(tmp_path, {**pipeline.source, **own}, pipeline.sink, pipeline.others)
    ended = pipeline.run("--once", "--log-level", "debug")
    assert ended.code == 3
    assert "Authentication failed" in ended.errors
    assert "trying again" not in ended.stderr


def test_a_key_store_that_the_password_does_not_open(secured: SecuredNode, reader: str, tmp_path: Path) -> None:
    pipeline = _pipeline(secured, tmp_path, reader, ODD)
    wrong = {"mongodb.ssl.keystore.password": f"{PASSWORD}-wrong"}
    ended = Pipeline(tmp_path, {**pipeline.source, **wrong}, pipeline.sink, pipeline.others).run("--once")
    assert ended.code == 2
    assert "that mongodb.ssl.keystore.password opens" in ended.errors


TORN = [
    "mongodb://u:{0}/{1}@127.0.0.1:{2}/",
    "mongodb://u:{0}@{1}@127.0.0.1:{2}/",
    "mongodb://u:{0}:{1}@127.0.0.1:{2}/",
    "mongodb://u:27017/{0}@127.0.0.1:{2}/{1}",
    "mongodb://u:{0}?{1}@127.0.0.1:{2}/",
    "mongodb://u:27017?{0}={1}@127.0.0.1:{2}/",
    "mongodb://u:{0}%zz@127.0.0.1:{2}/{1}@",
    "mongodb://u:{0}@127.0.0.1:{1}/",
    "mongodb://u:{0}@127.0.0.1:{2}:{1}/",
    "mongodb://u:{0}@[::1/",
    "mongodb:/u:{0}@127.0.0.1:{2}/",
    "u:{0}@127.0.0.1:{2}",
    "mongodb+srv://u:{0}@127.0.0.1/",
    "mongodb://:{0}@127.0.0.1:{2}/",
    "mongodb://u:{0}@/",
    "mongodb:///u:{0}@127.0.0.1",
    "mongodb://u:{0}@127.0.0.1:{2}/?authMechanism={1}",
    "mongodb://u:{0}@127.0.0.1:{2}/?proxyPassword={1}",
    "mongodb://u:{0}@127.0.0.1:{2}/?tls=true&tlsCertificateKeyFile=/no.pem&tlsCertificateKeyFilePassword={1}",
    "mongodb://u:{0}@127.0.0.1:{2}/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:{1}",
]


@pytest.mark.parametrize("torn", TORN)
def test_connection_strings_that_are_torn(torn: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is wrong with one, and whatever the driver says about it."""
    uri = torn.format(PASSWORD, OTHER, free_port())
    caplog.set_level(logging.DEBUG)
    told = []
    with pytest.raises(CdcError) as found:
        capture = Capture(uri, mongodb_server_selection_timeout_ms=300)
        told.append(repr(capture.config()))
        capture.once()
    told += [str(found.value), repr(found.value), *(record.getMessage() for record in caplog.records)]
    cause = found.value.__cause__ or found.value.__context__
    while cause is not None:
        told += [str(cause), repr(cause)]
        cause = cause.__cause__ or cause.__context__
    assert [text for text in told if PASSWORD in text or OTHER in text] == []


@pytest.mark.parametrize("sign", ["/", "?"])
def test_a_password_that_is_not_encoded_is_told_how_to_be(sign: str) -> None:
    with pytest.raises(CdcError, match=r"in user and password /, \? and @ are written as %2F, %3F and %40"):
        Capture(f"mongodb://u:12{sign}{PASSWORD}@127.0.0.1/").config()


def test_options_that_the_driver_passes_over_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SourceError):
        Capture(f"mongodb://127.0.0.1:{free_port()}/?nonsense=1", mongodb_server_selection_timeout_ms=300).once()
    assert "mongodb.connection.string: Unknown option: nonsense" in caplog.text


def test_name_servers_that_do_not_answer_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], free_port()
    monkeypatch.setattr("dns.resolver.default_resolver", resolver)
    with pytest.raises(RetriableSourceError, match=r"set\.example\.org: its servers' names cannot be asked for"):
        Capture("mongodb+srv://u:p@set.example.org/", mongodb_connect_timeout_ms=300).once()
