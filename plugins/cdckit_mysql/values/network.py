"""MariaDB's UUID, INET4 and INET6 as text."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from uuid import UUID


def uuid_text(data: bytes) -> str:
    """A UUID as it stands in a row image; trailing zero bytes may be missing."""
    return str(UUID(bytes=data.ljust(16, b"\0")))


def ip4_text(data: bytes) -> str:
    """An INET4; trailing zero bytes may be missing."""
    return str(IPv4Address(data.ljust(4, b"\0")))


def ip6_text(data: bytes) -> str:
    """An INET6, IPv4 addresses inside it in dots; trailing zero bytes may be missing."""
    address = IPv6Address(data.ljust(16, b"\0"))
    mapped = address.ipv4_mapped
    return str(address) if mapped is None else f"::ffff:{mapped}"
