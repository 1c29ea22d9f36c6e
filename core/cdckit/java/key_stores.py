"""Java's key stores: which kind one is, and as the PEM files that Python's TLS reads.

PKCS #12 is converted, JKS refused with the command that converts it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdckit.errors import ConfigError

_PEM = b"-----BEGIN "
_JAVA = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""What files of Java's own key stores, JKS and JCEKS, begin with (`sun.security.provider.JavaKeyStore`)."""
_PKCS12 = b"\x30"
"""What a sequence in DER begins with, and so a PKCS #12 file (RFC 7292)."""
_HEAD = 1 << 16


def store_type(path: str) -> str | None:
    """`PEM`, `JKS` or `PKCS12`, by what the file holds, as Java tells them apart; None where that cannot be told."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None
    if _PEM in head:
        return "PEM"
    if head.startswith(_JAVA):
        return "JKS"
    return "PKCS12" if head.startswith(_PKCS12) else None


@contextmanager
def pem_file(option: str, path: str, password: str | None) -> Iterator[str]:
    """A PEM file with what a store holds: key and certificates; the file itself where it is PEM.

    A converted one is readable by its owner alone and is deleted at the end of the context.

    Args:
        option: the option that names the store, for messages; `OPTION.password` holds the password.
        path: the store.
        password: what it is locked with.

    Raises:
        ConfigError: it cannot be read; the message says what to do.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{option}: {path} cannot be read: {error.strerror or error}", number="CDC2601") from error
    if _PEM in data:
        yield path
        return
    pem = _converted(option, path, data, password)
    descriptor, name = tempfile.mkstemp(prefix="cdckit-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
        yield name
    finally:
        Path(name).unlink()


def _converted(option: str, path: str, data: bytes, password: str | None) -> bytes:
    if data.startswith(_JAVA):
        raise ConfigError(
            f"{option}: {path} is a key store in Java's own format (JKS): convert it with `keytool -importkeystore "
            f"-srckeystore {path} -destkeystore {path}.p12 -deststoretype PKCS12` and name {path}.p12",
            number="CDC2601",
        )
    try:
        return _from_pkcs12(data, password)
    except ValueError as error:
        raise ConfigError(
            f"{option}: {path} is neither PEM nor a key store (PKCS12) that {option}.password opens ({error}); try "
            f"`openssl pkcs12 -in {path} -out {path}.pem -nodes` and name {path}.pem",
            number="CDC2601",
        ) from error


def _from_pkcs12(data: bytes, password: str | None) -> bytes:
    """Key, its certificate and the others, in PEM; the key is locked with the store's password."""
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - only such a store needs it
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )

    secret = password.encode() if password else None
    store = pkcs12.load_pkcs12(data, secret)
    lock = BestAvailableEncryption(secret) if secret else NoEncryption()
    key = [store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)] if store.key else []
    certificates = [*([store.cert] if store.cert else []), *store.additional_certs]
    return b"".join([*key, *(held.certificate.public_bytes(Encoding.PEM) for held in certificates)])
