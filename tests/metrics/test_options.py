"""What `metrics.address` and `custom.metric.tags` take, and what they refuse."""

from __future__ import annotations

import re

import pytest

from cdckit.connector.options.metric_tags import parse_tags
from cdckit.engine.metrics.address import parse_address


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("127.0.0.1:9400", "127.0.0.1", 9400, "127.0.0.1:9400"),
        ("localhost:0", "localhost", 0, "localhost:0"),
        ("[::1]:9400", "::1", 9400, "[::1]:9400"),
        (":9400", "0.0.0.0", 9400, "0.0.0.0:9400"),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int, shown: str) -> None:
    address = parse_address(text)
    assert (address.host, address.port, str(address)) == (host, port, shown)


@pytest.mark.parametrize("text", ["9400", "127.0.0.1", "::1:9400", "host:65536", "host:port", "a b:1", ""])
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"should be HOST:PORT"):
        parse_address(text)


def test_tags_are_labels() -> None:
    assert parse_tags("region=eu, team = orders ,url=a=b") == {"region": "eu", "team": "orders", "url": "a=b"}
    assert parse_tags("") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("region", "'region' is none"),
        ("region=", "'region=' is none"),
        ("1st=a", "'1st' cannot be a label"),
        ("__x=a", "'__x' cannot be a label"),
        ("a-b=c", "'a-b' cannot be a label"),
        ("server=x", "have a label 'server' already"),
        ("a=1,a=2", "'a' is given twice"),
    ],
)
def test_what_cannot_be_a_label_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_tags(text)
