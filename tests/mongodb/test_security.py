"""TLS with an own authority and client certificates, passwords, and users with just the rights that are documented."""

from __future__ import annotations

import datetime
import ipaddress
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from cdckit.errors import SourceError
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, shown
from servers.mongodb import MongoNode

Document = dict[str, Any]


class SecuredNode(MongoNode):
    """A member that wants TLS and a login."""

    def __init__(self, folder: Path) -> None:
        super().__init__("rs0")
        self.authority, self.certificate, self.identity = _certificates(folder)
        self.key = folder / "key"
        self.key.write_text("c2VjcmV0" * 8)
        self.key.chmod(0o600)

    def client(self, **options: Any) -> MongoClient[Document]:
        return MongoClient(
            self.host,
            self.port,
            directConnection=True,
            tls=True,
            tlsCAFile=str(self.authority),
            tlsCertificateKeyFile=str(self.certificate),
            serverSelectionTimeoutMS=5000,
            **options,
        )

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.admin.command("ping")["ok"])
        except PyMongoError:
            return False


LOGIN = "CN=capture,OU=readers"
"""The user of the client's certificate, as `$external` knows it (RFC 2253)."""


def _certificates(folder: Path) -> tuple[Path, Path, Path]:
    """An authority, a server's certificate with its key, and a client's."""
    now = datetime.datetime.now(datetime.UTC)

    def certificate(name: str, key: rsa.RSAPrivateKey, issuer: str, signer: rsa.RSAPrivateKey) -> bytes:
        subject, issued_by = (x509.Name.from_rfc4514_string(one) for one in (name, issuer))
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = x509.CertificateBuilder(issued_by, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(name == issuer, None), critical=True)
        signed = builder.add_extension(address, critical=False).sign(signer, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM)

    own = rsa.generate_private_key(65537, 2048)
    authority, pairs = folder / "ca.pem", (folder / "server.pem", folder / "client.pem")
    authority.write_bytes(certificate("CN=authority", own, "CN=authority", own))
    for pair, name in zip(pairs, ("CN=server", LOGIN), strict=True):
        key = rsa.generate_private_key(65537, 2048)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        pair.write_bytes(certificate(name, key, "CN=authority", own) + private)
    return authority, *pairs


RIGHTS: dict[str, list[Document]] = {
    "deployment": [
        {"resource": {"db": "", "collection": ""}, "actions": ["find", "changeStream", "listCollections"]},
    ],
    "database": [{"resource": {"db": "d", "collection": ""}, "actions": ["find", "changeStream", "listCollections"]}],
    "collection": [{"resource": {"db": "d", "collection": "a"}, "actions": ["find", "changeStream"]}],
}
TARGETS = {"deployment": "", "database": "d", "collection": "d.a"}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    """A set of one member with users `deployment`, `database` and `collection`, all with the password `secret`."""
    node = SecuredNode(tmp_path_factory.mktemp("secured"))
    options = {
        "tlsMode": "requireTLS",
        "tlsCertificateKeyFile": str(node.certificate),
        "tlsCAFile": str(node.authority),
        "keyFile": str(node.key),
    }
    node.start(**options)
    try:
        with node.client() as client:
            member = {"_id": 0, "host": node.address}
            client.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
            while not client.admin.command("hello")["isWritablePrimary"]:
                pass
            client.admin.command("createUser", "root", pwd="secret", roles=["root"])
        with node.client(username="root", password="secret") as client:
            client.d.a.insert_one({"_id": 1})
            client.d.b.insert_one({"_id": 2})
            for name, rights in RIGHTS.items():
                client.admin.command("createRole", name, privileges=rights, roles=[])
                client.admin.command("createUser", name, pwd="secret", roles=[name])
            client.staff.command("createUser", "clerk", pwd="secret", roles=[{"role": "collection", "db": "admin"}])
            client["$external"].command("createUser", LOGIN, roles=[{"role": "collection", "db": "admin"}])
        yield node
    finally:
        node.close()


def _capture(node: SecuredNode, user: str, scope: str, password: str = "secret", **options: Any) -> Capture:
    return Capture(
        f"mongodb://{node.address}/?replicaSet=rs0",
        mongodb_user=user,
        mongodb_password=password,
        mongodb_ssl_enabled=True,
        mongodb_ssl_truststore=str(node.authority),
        mongodb_ssl_keystore=str(node.certificate),
        capture_scope=scope,
        capture_target=TARGETS[scope],
        mongodb_server_selection_timeout_ms=3000,
        **options,
    )


@pytest.mark.parametrize("scope", RIGHTS)
def test_the_documented_rights_are_enough(secured: SecuredNode, scope: str) -> None:
    capture = _capture(secured, scope, scope, database_include_list="d")
    first = {"1"} if scope == "collection" else {"1", "2"}
    assert {shown(record)[1] for record in capture.once()} >= first
    with secured.client(username="root", password="secret") as client:
        client.d.a.update_one({"_id": 9}, {"$set": {"scope": scope}}, upsert=True)
    assert [shown(record)[2] for record in capture.once()] == [{"_id": 9, "scope": scope}]
    found = {finding.name: finding for finding in MongoDbSource.check(capture.config())}
    assert found["change stream"].status == "ok"
    assert found["oplog window"].status == "warn"


@pytest.mark.parametrize("user", ["database", "root"])
def test_a_backlog_is_whole_to_who_may_not_read_the_oplog(secured: SecuredNode, user: str) -> None:
    capture = _capture(secured, user, "database", snapshot_mode="no_data")
    capture.once()
    with secured.client(username="root", password="secret") as client:
        client.d.b.insert_many([{"backlog": user}, {"backlog": user}])
    with capture.source() as source:
        assert capture.offset is not None
        end = source.latest_offset(capture.offset)
        assert (source.cut(capture.offset, end, 1) == end) == (user == "database")


def test_a_user_of_another_database(secured: SecuredNode) -> None:
    with pytest.raises(SourceError, match=r"Authentication failed.*check .*mongodb\.authsource"):
        _capture(secured, "clerk", "collection").once()
    assert _capture(secured, "clerk", "collection", mongodb_authsource="staff").once()


def test_a_certificate_of_another_host(secured: SecuredNode) -> None:
    """It names the address, the connection string the name."""
    capture = _capture(secured, "collection", "collection")
    capture.options["mongodb.connection.string"] = f"mongodb://localhost:{secured.port}/?directConnection=true"
    with pytest.raises(SourceError, match="Hostname mismatch"):
        capture.once()
    capture.options["mongodb.ssl.invalid.hostname.allowed"] = True
    assert capture.once()


def test_key_stores_of_java_are_read(secured: SecuredNode, tmp_path: Path) -> None:
    trusted, identity = tmp_path / "trusted.p12", tmp_path / "identity.p12"
    pack = ["openssl", "pkcs12", "-export", "-passout", "pass:hush"]
    subprocess.run([*pack, "-nokeys", "-in", secured.authority, "-out", trusted], check=True)
    subprocess.run([*pack, "-in", secured.certificate, "-out", identity], check=True)
    capture = _capture(secured, "collection", "collection", database_include_list="d")
    capture.options |= {
        "mongodb.ssl.truststore": str(trusted),
        "mongodb.ssl.truststore.password": "hush",
        "mongodb.ssl.keystore": str(identity),
        "mongodb.ssl.keystore.password": "hush",
    }
    assert capture.once()


def _by_certificate(node: SecuredNode, keystore: Path) -> Capture:
    return Capture(
        f"mongodb://{node.address}/?replicaSet=rs0&authMechanism=MONGODB-X509",
        mongodb_ssl_enabled=True,
        mongodb_ssl_truststore=str(node.authority),
        mongodb_ssl_keystore=str(keystore),
        capture_scope="collection",
        capture_target="d.a",
        mongodb_server_selection_timeout_ms=3000,
    )


def test_a_certificate_logs_in(secured: SecuredNode) -> None:
    capture = _by_certificate(secured, secured.identity)
    assert {shown(record)[1] for record in capture.once()} >= {"1"}
    with secured.client(username="root", password="secret") as client:
        client.d.a.update_one({"_id": 9}, {"$set": {"scope": "certificate"}}, upsert=True)
    assert [shown(record)[2] for record in capture.once()] == [{"_id": 9, "scope": "certificate"}]


def test_a_certificate_that_is_no_user_is_told(secured: SecuredNode) -> None:
    with pytest.raises(SourceError, match=r"Could not find user .CN=server..*; create it, for X\.509 in \$external"):
        _by_certificate(secured, secured.certificate).once()


def test_less_is_told(secured: SecuredNode) -> None:
    capture = _capture(secured, "collection", "database")
    with pytest.raises(SourceError, match=r"not authorized.*grant the user what capture\.scope=database needs"):
        capture.once()
    found = {finding.name: finding for finding in MongoDbSource.check(capture.config())}
    assert found["change stream"].status == "fail"
    assert found["change stream"].remedy == "grant find, changeStream, listCollections on {db: 'd', collection: ''}"


def test_a_wrong_password_is_told_and_kept_secret(secured: SecuredNode) -> None:
    with pytest.raises(SourceError, match=r"Authentication failed.*check mongodb\.user, mongodb\.password") as found:
        _capture(secured, "database", "database", password="hunter2").once()
    assert "hunter2" not in str(found.value)
    assert "hunter2" not in repr(_capture(secured, "database", "database", password="hunter2").config())


def test_a_server_of_another_authority_is_refused(secured: SecuredNode, tmp_path: Path) -> None:
    capture = _capture(secured, "database", "database")
    capture.options["mongodb.ssl.truststore"] = str(_certificates(tmp_path)[0])
    with pytest.raises(SourceError, match="certificate verify failed"):
        capture.once()
