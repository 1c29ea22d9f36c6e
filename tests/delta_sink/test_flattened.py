"""Rows that `ExtractNewRecordState` has flattened, in tables."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import replace

import pytest

from delta_sink.shop import Shop
from testkit.running import Ended, Pipeline

CHAIN = {"transforms": [{"type": "ExtractNewRecordState"}]}


def flattened(shop: Shop) -> Pipeline:
    return replace(shop.pipeline(), others={"name": shop.name, **CHAIN})


def follow(pipeline: Pipeline, ended: Ended) -> None:
    """Calls the first command that an error names, as it is printed."""
    assert ended.code == 4
    found = re.search(r"`cdc ([^`]+)`", ended.errors)
    assert found, ended.errors
    words = [str(pipeline.written()) if word == "FILE" else word for word in shlex.split(found[1])]
    subprocess.run([sys.executable, "-m", "cdckit", *words], check=True, capture_output=True)


@pytest.mark.parametrize("mode", ["mirror", "history"])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_deletes_as_the_transform_leaves_them_by_default_remove_rows(shop: Shop, mode: str, format: str) -> None:
    """They are nulls that have the schema of a row."""
    shop = replace(shop, mode=mode, format=format)
    shop.run("CREATE TABLE orders (id INT PRIMARY KEY, v INT); INSERT INTO orders VALUES (1, 1), (2, 2), (3, 3)")
    assert flattened(shop).run("--once").code == 0
    shop.run("DELETE FROM orders WHERE id = 1; UPDATE orders SET id = 4 WHERE id = 2; UPDATE orders SET v = 5")
    ended = flattened(shop).run("--once")
    assert ended.code == 0, ended.errors
    shop.assert_equal(["orders"])


@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_a_change_that_is_not_followed_is_resolved_by_the_command_that_is_printed(shop: Shop, mode: str) -> None:
    """The rows do not say whose they are, and the command names the source's table."""
    shop = replace(shop, mode=mode)
    shop.run("CREATE TABLE orders (id INT PRIMARY KEY, v INT); INSERT INTO orders VALUES (1, 1), (2, 2)")
    pipeline = flattened(shop)
    assert pipeline.run("--once").code == 0
    shop.run("ALTER TABLE orders MODIFY v VARCHAR(10); UPDATE orders SET v = 'x' WHERE id = 1")
    follow(pipeline, pipeline.run("--once"))
    assert pipeline.run("--once").code == 0
    shop.assert_equal(["orders"])
    shop.run("DELETE FROM orders WHERE id = 2; TRUNCATE orders; INSERT INTO orders VALUES (3, 'y')")
    assert pipeline.run("--once").code == 0
    shop.assert_equal(["orders"])
