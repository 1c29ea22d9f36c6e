"""A broker that wants passwords and certificates and knows who may do what."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AclBinding, AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from testkit.servers.kafka import KafkaBroker
from testkit.servers.ports import free_port

PASSWORD = "correct horse"
_HOST = "127.0.0.1"
_USERS = ("writer", "guest")


@dataclass(frozen=True)
class SecuredBroker:
    """A running broker: everyone may do everything at `open`; at `sasl` and `tls` users log in and rules hold.

    Attributes:
        broker: itself.
        sasl: address that wants a user's name and password.
        tls: address that wants TLS.
        authority: file of the certificate that signed the broker's.
    """

    broker: KafkaBroker
    sasl: str
    tls: str
    authority: Path

    def allow(self, user: str, name: str, *operations: str, kind: str = "topic") -> None:
        """Lets a user do something with a topic or a group."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        who = f"User:{user}"
        rules = [AclBinding(kind, name, "literal", who, "*", operation, "allow") for operation in operations]
        for done in admin.create_acls(rules).values():
            done.result()


@contextmanager
def secured_broker(folder: Path) -> Iterator[SecuredBroker]:
    """Starts one; its certificates lie in `folder`."""
    sasl, tls, controller = free_port(), free_port(), free_port()
    authority, identity = _certificates(folder)
    broker = KafkaBroker()
    client_listeners = f"PLAINTEXT://{_HOST}:{broker.port},SASL://{_HOST}:{sasl},TLS://{_HOST}:{tls}"
    users = " ".join(f'user_{name}="{PASSWORD}"' for name in _USERS)
    broker.start(
        listeners=f"{client_listeners},CONTROLLER://{_HOST}:{controller}",
        advertised_listeners=client_listeners,
        controller_quorum_voters=f"1@{_HOST}:{controller}",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL",
        sasl_enabled_mechanisms="PLAIN",
        listener_name_sasl_plain_sasl_jaas_config=(
            f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
        ),
        listener_name_tls_ssl_keystore_type="PEM",
        listener_name_tls_ssl_keystore_location=str(identity),
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        super_users="User:ANONYMOUS",
    )
    with broker:
        yield SecuredBroker(broker, f"{_HOST}:{sasl}", f"{_HOST}:{tls}", authority)


def _certificates(folder: Path) -> tuple[Path, Path]:
    """Makes an authority's certificate, and a key and certificate for the broker that it signed."""
    folder.mkdir(parents=True, exist_ok=True)
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    authority = _certificate(issuer, authority_key, issuer, authority_key).sign(authority_key, hashes.SHA256())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")])
    certificate = _certificate(subject, key, issuer, authority_key).sign(authority_key, hashes.SHA256())
    authority_file, identity = folder / "authority.pem", folder / "broker.pem"
    authority_file.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    identity.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return authority_file, identity


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=key is issuer_key, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(_HOST))]), critical=False)
    )
