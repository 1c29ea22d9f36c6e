"""Java's ways to say who one is and whom one trusts, in librdkafka's words.

JAAS entries are described in Kafka's manual, section "JAAS configuration for Kafka clients"; key and trust stores in
"Producer Configs" (`ssl.keystore.type`, `ssl.truststore.type`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Self

from cdckit.java.key_stores import store_type

JAAS = "sasl.jaas.config"
STORES = (
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)

_ENTRY = re.compile(r"\s*(?P<module>[\w.$]+)\s+\w+(?P<options>.*)", re.DOTALL)
_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")
_ESCAPED = re.compile(r"\\(.)")

_MODULES: Mapping[str, Mapping[str, str]] = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "Krb5LoginModule": {
        "principal": "sasl.kerberos.principal",
        "keyTab": "sasl.kerberos.keytab",
        "serviceName": "sasl.kerberos.service.name",
    },
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
}
_PKCS12_ENDINGS = (".p12", ".pfx", ".pkcs12")


@dataclass(frozen=True, slots=True)
class Named:
    """How a client's options are called.

    Attributes:
        properties: what begins the names of those that are translated: `producer`.
        instead: what begins the names of those that say the same in librdkafka's words: `kafka`.
    """

    properties: str
    instead: str


def jaas_settings(entry: str | None, named: Named) -> tuple[dict[str, str], dict[str, str]]:
    """The settings that a JAAS entry (`sasl.jaas.config`) stands for, and why others cannot be had."""
    found = _ENTRY.match(entry) if entry else None
    module = found["module"].rpartition(".")[2] if found else ""
    if found and module in _MODULES:
        names = _MODULES[module]
        return {names[name]: value for name, value in _options(found["options"]) if name in names}, {}
    if entry is None:
        return {}, {}
    what = f"the login module {module} exists in Java alone" if module else "it is no JAAS entry"
    return {}, {
        "sasl.mechanisms": f"{named.properties}.{JAAS}: {what}; say with {named.instead}.sasl.mechanisms and the other "
        f"{named.instead}.sasl.* options how to log in"
    }


def _options(text: str) -> Iterator[tuple[str, str]]:
    for name, double, single, bare in _OPTION.findall(text):
        yield name, _ESCAPED.sub(r"\1", double or single) or bare


@dataclass(frozen=True, slots=True)
class Stores:
    """Key store and trust store of a Java client.

    Attributes:
        settings: what librdkafka reads instead.
        refused: settings that would have to be made out of a store which only Java reads, and what to do.
    """

    settings: Mapping[str, str]
    refused: Mapping[str, str]

    @classmethod
    def read(cls, options: Mapping[str, str], named: Named) -> Self:
        """What `ssl.keystore.*` and `ssl.truststore.*` mean."""
        settings: dict[str, str] = {}
        refused: dict[str, str] = {}
        if place := options.get("ssl.truststore.location"):
            if _type(options, "truststore", place) == "PEM":
                settings["ssl.ca.location"] = place
            else:
                refused["ssl.ca.location"] = (
                    f"{named.properties}.ssl.truststore.location: {place} is a Java trust store; export its "
                    f"certificates as PEM and name that file in {named.instead}.ssl.ca.location"
                )
        if place := options.get("ssl.keystore.location"):
            made, reason = _key_store(place, _type(options, "keystore", place), options, named)
            settings |= made
            refused |= reason
        return cls(settings, refused)


def _key_store(
    place: str, kind: str, options: Mapping[str, str], named: Named
) -> tuple[dict[str, str], dict[str, str]]:
    if kind == "PEM":
        return {"ssl.certificate.location": place, "ssl.key.location": place}, {}
    if kind == "PKCS12":
        return {
            "ssl.keystore.location": place,
            "ssl.keystore.password": options.get("ssl.keystore.password", ""),
        }, {}
    return {}, {
        "ssl.keystore.location": f"{named.properties}.ssl.keystore.location: {place} is a Java key store; convert it "
        f"to PKCS12 (keytool -importkeystore -deststoretype pkcs12) and name that file in "
        f"{named.instead}.ssl.keystore.location"
    }


def _type(options: Mapping[str, str], store: str, place: str) -> str:
    """What a store is: by what the file holds, as Java takes it, else as it is said or called."""
    guessed = "PKCS12" if PurePath(place).suffix.lower() in _PKCS12_ENDINGS else "JKS"
    return store_type(place) or options.get(f"ssl.{store}.type", guessed).upper()
