"""Members of sets that want a login, and one that wants TLS as well, with certificates of an own authority."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from testkit.servers.mongodb import MongoNode

Document = dict[str, Any]


class GuardedNode(MongoNode):
    """A member that wants a login."""

    def __init__(self, folder: Path) -> None:
        super().__init__("rs0")
        self.key = folder / "key"
        self.key.write_text("c2VjcmV0" * 8)
        self.key.chmod(0o600)

    def initiate(self) -> None:
        """Makes a set of it alone, with the user `root`, who may do everything."""
        with self.client() as client:
            member = {"_id": 0, "host": self.address}
            client.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
            while not client.admin.command("hello")["isWritablePrimary"]:
                pass
            client.admin.command("createUser", "root", pwd="secret", roles=["root"])

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.admin.command("ping")["ok"])
        except PyMongoError:
            return False


class SecuredNode(GuardedNode):
    """A member that wants TLS and a login."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.authority, self.certificate, self.identity = certificates(folder)

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


LOGIN = "CN=capture,OU=readers"
"""The user of the client's certificate, as `$external` knows it (RFC 2253)."""


def certificates(folder: Path) -> tuple[Path, Path, Path]:
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


@contextmanager
def secured_set(folder: Path) -> Iterator[SecuredNode]:
    """A set of one member with users `deployment`, `database` and `collection`, all with the password `secret`."""
    node = SecuredNode(folder)
    options = {
        "tlsMode": "requireTLS",
        "tlsCertificateKeyFile": str(node.certificate),
        "tlsCAFile": str(node.authority),
        "keyFile": str(node.key),
    }
    node.start(**options)
    try:
        node.initiate()
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
